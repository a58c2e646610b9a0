#include "simulator/gpu/ptx/checks.h"

#include <algorithm>
#include <cstring>

namespace lockstep::ptx {

namespace {
bool names(const std::string& opcode, std::initializer_list<const char*> modifiers) {
  return std::any_of(modifiers.begin(), modifiers.end(), [&](const char* modifier) { return opcode.find(modifier) != std::string::npos; });
}
}  // namespace

void Checks::begin_block(const Block& block) {
  grid_ = block.grid;
  threads_ = block.threads;
  block_ = static_cast<std::uint32_t>((std::uint64_t{block.index.z} * grid_.y + block.index.y) * grid_.x + block.index.x) + 1;
  order_.begin_block(threads_.volume());
  shared_.resize((block.shared_bytes + Segment<SharedCell>::kBytes - 1) / Segment<SharedCell>::kBytes);
}

Checks::Site& Checks::site_of(const Warp& warp, const Instruction& instruction, std::uint32_t& number) {
  if (&instruction != last_instruction_) {
    const auto [found, is_new] = site_numbers_.try_emplace(&instruction, static_cast<std::uint32_t>(sites_.size()));
    if (is_new) {
      const std::string& opcode = warp.code->places[instruction.place].opcode;
      Site site{warp.code, &instruction, names(opcode, {".volatile", ".relaxed", ".acquire", ".release", ".acq_rel", ".mmio"}),
                names(opcode, {".release", ".acq_rel"})};
      sites_.push_back(site);
    }
    last_instruction_ = &instruction;
    last_site_ = found->second;
  }
  number = last_site_;
  return sites_[last_site_];
}

void Checks::use(const Warp& warp, const Instruction& instruction, const Use& use) {
  const Block& block = *warp.block;
  const auto within = [&](const std::byte* begin, std::uint64_t bytes) { return use.place >= begin && use.place < begin + bytes; };
  const bool shared = within(block.shared, block.shared_bytes);
  if (!shared && (within(warp.local, warp.local_bytes * kLanes) || within(block.parameters, block.parameter_bytes))) return;
  std::uint32_t number = 0;
  const Site& site = site_of(warp, instruction, number);
  Party party;
  party.thread = static_cast<std::uint32_t>(warp.index * kLanes + use.lane) & 1023U;
  party.strong = site.strong || use.kind == Use::Kind::atomic ? 1 : 0;
  party.site = number & ((1U << 21) - 1);
  if (shared) {
    use_shared(warp, use, party);
  } else {
    use_global(warp, use, party);
  }
  if (party.strong == 0) return;
  if (site.releases) order_.fence(warp.index);
  order_.synchronise(warp.index, use.place);
  if (!shared) synchronise(use, site);
}

void Checks::fence(const Warp& warp, const Instruction& instruction) {
  order_.fence(warp.index);
  if (!names(warp.code->places[instruction.place].opcode, {".cta"})) ordered_[block_].fenced = fences_++;
}

void Checks::synchronise(const Use& use, const Site& site) {
  Ordered& here = ordered_[block_];
  here.synchronised = true;
  if (site.releases) here.fenced = fences_++;
  std::uint32_t& released = released_[use.place];
  here.released = here.fenced;
  released = std::max(released, here.fenced);
  here.acquired = std::max(here.acquired, released);
}

// A thread's read replaces one that it comes after, so that two places stand for all that matter in nearly every program.
void Checks::use_shared(const Warp& warp, const Use& use, Party party) {
  const auto thread = static_cast<int>(party.thread);
  const auto offset = static_cast<std::size_t>(use.place - warp.block->shared);
  const SharedAccess access{order_.now(thread), party};
  const bool reads = use.kind == Use::Kind::read || use.kind == Use::Kind::atomic, writes = use.kind != Use::Kind::read;
  const auto ordered = [&](const SharedAccess& other) {
    return order_.before(other.moment, static_cast<int>(other.party.thread), thread) || (other.party.strong != 0 && party.strong != 0);
  };
  std::size_t begin = offset;
  while (begin < offset + use.bytes) {
    constexpr std::size_t kSize = Segment<SharedCell>::kBytes;
    const std::size_t start = begin / kSize * kSize, end = std::min(offset + use.bytes, start + kSize);
    shared_[begin / kSize].each(begin - start, end - start, [&](SharedCell& cell, std::size_t byte, std::size_t size) {
      const std::byte* const value = use.value != nullptr ? use.value + (start + byte - offset) : nullptr;
      const bool written = order_.in_this_block(cell.writer.moment);
      if (reads && !written && wanted_.unwritten) {
        throw Fault{use.lane,
                    "uninitialised read: it reads " + bytes_text(use.bytes) + " at " + std::to_string(offset) +
                        " of shared memory, which no thread of the block has written yet. Fix: write them first, and put __syncthreads() "
                        "between where another thread writes them",
                    Failure::check};
      }
      const bool ends_copy =
          use.kind == Use::Kind::write && cell.writer.party.thread == party.thread && cell.writer.party.site == party.site;
      if (wanted_.races) {
        if (written && cell.copying && !ends_copy) unfinished_copy(warp, use, cell.writer.party);
        const bool same =
            use.kind == Use::Kind::write && value != nullptr && cell.writer.party.strong == 0 && std::memcmp(cell.value, value, size) == 0;
        if (written && !ordered(cell.writer) && !same) shared_race(warp, use, party, cell.writer, true);
        for (const SharedAccess& reader : cell.readers) {
          if (writes && order_.in_this_block(reader.moment) && !ordered(reader)) shared_race(warp, use, party, reader, false);
        }
      }
      if (writes) {
        cell.writer = access;
        cell.copying = use.kind == Use::Kind::begin_copy;
        if (value != nullptr) std::memcpy(cell.value, value, size);
        return;
      }
      for (SharedAccess& reader : cell.readers) {
        if (!order_.before(reader.moment, static_cast<int>(reader.party.thread), thread)) continue;
        reader = access;
        break;
      }
    });
    begin = end;
  }
}

bool Checks::before(const GlobalAccess& access) const {
  if (access.block == 0 || access.block == block_) return true;
  const auto its = ordered_.find(access.block), mine = ordered_.find(block_);
  return its != ordered_.end() && mine != ordered_.end() && its->second.released >= access.fence && mine->second.acquired >= access.fence;
}

void Checks::use_global(const Warp& warp, const Use& use, Party party) {
  if (memory_ != nullptr) check_written(warp, use);
  const GlobalAccess access{block_, fences_, party};
  const bool writes = use.kind != Use::Kind::read;
  const auto ordered = [&](const GlobalAccess& other) { return before(other) || (other.party.strong != 0 && party.strong != 0); };
  global_.each(reinterpret_cast<std::uint64_t>(use.place), use.bytes, [&](GlobalCell& cell, std::uint64_t address, std::size_t size) {
    if (wanted_.races) {
      if (!ordered(cell.writer)) {
        const auto* const now = reinterpret_cast<const std::byte*>(address);
        const bool same = use.kind == Use::Kind::write && use.value != nullptr && cell.writer.party.strong == 0 &&
                          std::memcmp(now, use.value + (now - use.place), size) == 0;
        if (!same) global_race(warp, use, party, cell.writer, true);
      }
      for (const GlobalAccess& reader : cell.readers) {
        if (writes && !ordered(reader)) global_race(warp, use, party, reader, false);
      }
    }
    if (writes) {
      cell.writer = access;
      return;
    }
    for (GlobalAccess& reader : cell.readers) {
      if (reader.block != 0 && reader.block != block_) continue;
      reader = access;
      break;
    }
  });
}

Checks::Allocation& Checks::allocation_of(const Block& block, const std::byte* place) {
  const auto holds = [&](const Allocation& one) { return place >= one.begin && static_cast<std::uint64_t>(place - one.begin) < one.bytes; };
  if (last_allocation_ < allocations_.size() && holds(allocations_[last_allocation_])) return allocations_[last_allocation_];
  for (last_allocation_ = 0; last_allocation_ < allocations_.size(); ++last_allocation_) {
    if (holds(allocations_[last_allocation_])) return allocations_[last_allocation_];
  }
  Allocation found{place, 1, reinterpret_cast<std::uint64_t>(place), true, {}};
  for (const Region& region : block.regions) {
    if (place < region.data || static_cast<std::uint64_t>(place - region.data) >= region.bytes) continue;
    found = {region.data, region.bytes, region.address, memory_ == nullptr, {}};
  }
  for (const Module::Memory& own : module_.memory()) found.own = found.own || found.begin == own.data;
  if (!found.own && wanted_.unwritten) {
    for (const Bytes& hole : memory_->unwritten({found.address, found.bytes})) {
      found.unwritten.resize(found.bytes);
      const auto first = found.unwritten.begin() + static_cast<std::ptrdiff_t>(hole.address - found.address);
      std::fill(first, first + static_cast<std::ptrdiff_t>(hole.count), true);
    }
  }
  allocations_.push_back(std::move(found));
  return allocations_[last_allocation_];
}

void Checks::check_written(const Warp& warp, const Use& use) {
  Allocation& allocation = allocation_of(*warp.block, use.place);
  if (allocation.unwritten.empty()) return;
  const auto first = allocation.unwritten.begin() + (use.place - allocation.begin), last = first + use.bytes;
  if (use.kind == Use::Kind::write) {
    std::fill(first, last, false);
  } else if (std::find(first, last, true) != last) {
    throw Fault{use.lane,
                "uninitialised read: it reads " + bytes_text(use.bytes) + ", " + std::to_string(use.place - allocation.begin) +
                    " bytes into an allocation of " + std::to_string(allocation.bytes) +
                    ", and nothing has written all of them. Fix: write them first, with cudaMemset, cudaMemcpy or a kernel",
                Failure::check};
  }
}

std::vector<Checks::Touched> Checks::touched() {
  std::vector<Touched> result;
  for (const bool written : {false, true}) {
    const Allocation* in = nullptr;
    global_.all([&](const GlobalCell& cell, std::uint64_t address, std::size_t size) {
      if (!(written ? cell.writer.block != 0 : cell.readers[0].block != 0)) return;
      const auto* const place = reinterpret_cast<const std::byte*>(address);
      const auto holds = [&](const Allocation& one) {
        return place >= one.begin && static_cast<std::uint64_t>(place - one.begin) < one.bytes;
      };
      if (in == nullptr || !holds(*in)) {
        const auto found = std::find_if(allocations_.begin(), allocations_.end(), holds);
        in = found == allocations_.end() ? nullptr : &*found;
      }
      if (in == nullptr || in->own) return;
      const std::uint64_t at = in->address + static_cast<std::uint64_t>(place - in->begin);
      const bool goes_on = !result.empty() && result.back().written == written &&
                           result.back().bytes.address + result.back().bytes.count == at && at != in->address;
      if (goes_on) {
        result.back().bytes.count += size;
      } else {
        result.push_back({{at, size}, written});
      }
    });
  }
  return result;
}

}  // namespace lockstep::ptx
