// What check mode says about a race inside of a kernel: both parties, and the fix.
#include <sstream>

#include "simulator/gpu/ptx/checks.h"

namespace lockstep::ptx {

namespace {
std::string does(bool writes) { return writes ? "writes" : "reads"; }
std::string does(Use::Kind kind) { return kind == Use::Kind::atomic ? "changes" : does(kind != Use::Kind::read); }
std::string triple(std::uint64_t number, const Dim& size) {
  return "(" + std::to_string(number % size.x) + ", " + std::to_string(number / size.x % size.y) + ", " +
         std::to_string(number / size.x / size.y) + ")";
}
}  // namespace

std::string bytes_text(std::uint64_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

std::string Checks::thread_name(std::uint32_t thread) const { return "thread " + triple(thread, threads_); }

std::string Checks::party_text(Party party, bool wrote) const {
  const Site& site = sites_[party.site];
  return does(wrote) + " in " + module_.describe(site.code->places[site.instruction->place]);
}

void Checks::shared_race(const Warp& warp, const Use& use, Party now, const SharedAccess& other, bool other_wrote) const {
  const bool same_warp = now.thread / kLanes == other.party.thread / kLanes, both_write = other_wrote && use.kind == Use::Kind::write;
  std::string fix;
  if (both_write && now.site == other.party.site) {
    fix = "let one thread write, or use an atomic";
  } else if (now.strong != other.party.strong) {
    fix = "use an atomic for both, or put __syncthreads() between the two";
  } else {
    fix = same_warp ? "put __syncthreads() between the two, or __syncwarp() where warps work alone" : "put __syncthreads() between the two";
  }
  throw Fault{use.lane,
              "race: it " + does(use.kind) + " " + bytes_text(use.bytes) + " at " + std::to_string(use.place - warp.block->shared) +
                  " of shared memory, which " + thread_name(other.party.thread) + " of the block " + party_text(other.party, other_wrote) +
                  ", and no barrier orders the two. Fix: " + fix,
              Failure::check};
}

void Checks::unfinished_copy(const Warp& warp, const Use& use, Party copies) const {
  const Site& site = sites_[copies.site];
  throw Fault{use.lane,
              "race: it " + does(use.kind) + " " + bytes_text(use.bytes) + " at " + std::to_string(use.place - warp.block->shared) +
                  " of shared memory, into which " + thread_name(copies.thread) + " of the block still copies in " +
                  module_.describe(site.code->places[site.instruction->place]) +
                  ". Fix: let that thread wait for its copies (cp.async.wait_group, __pipeline_wait_prior), and put __syncthreads() behind",
              Failure::check};
}

void Checks::global_race(const Warp& warp, const Use& use, Party now, const GlobalAccess& other, bool other_wrote) const {
  const auto its = ordered_.find(other.block), mine = ordered_.find(block_);
  const bool synchronised =
      its != ordered_.end() && mine != ordered_.end() && its->second.synchronised && mine->second.synchronised && now.strong == 0;
  const std::string fix =
      synchronised ? "put __threadfence() between the first access and the atomic that follows it, or use atomics for both"
      : now.strong != other.party.strong ? "use an atomic for both"
                                         : "use atomics, or do the second in a later launch, since the end of a kernel orders its blocks";
  std::ostringstream address;
  address << "0x" << std::hex << address_of(*warp.block, use.place);
  throw Fault{use.lane,
              "race: it " + does(use.kind) + " " + bytes_text(use.bytes) + " at " + address.str() + ", which " +
                  thread_name(other.party.thread) + " of block " + triple(other.block - 1, grid_) + " " +
                  party_text(other.party, other_wrote) + ", and blocks run in any order. Fix: " + fix,
              Failure::check};
}

std::uint64_t Checks::address_of(const Block& block, const std::byte* place) {
  for (const Region& region : block.regions) {
    if (place >= region.data && static_cast<std::uint64_t>(place - region.data) < region.bytes)
      return region.address + static_cast<std::uint64_t>(place - region.data);
  }
  return reinterpret_cast<std::uint64_t>(place);
}

}  // namespace lockstep::ptx
