// Counting, one warp instruction at a time.
#include "simulator/gpu/ptx/counts.h"

#include <algorithm>
#include <bit>

#include "simulator/gpu/ptx/memory.h"

namespace lockstep::ptx {

namespace {

constexpr std::uint64_t kSector = 32, kBank = 4, kBanks = 32;

// The lanes' addresses, ascending.
struct Sorted {
  std::uint64_t addresses[kLanes];
  int count = 0;
  Sorted(const std::uint64_t (&all)[kLanes], Mask mask) {
    for (Mask left = mask; left != 0; left &= left - 1) addresses[count++] = all[std::countr_zero(left)];
    if (!std::is_sorted(addresses, addresses + count)) std::sort(addresses, addresses + count);
  }
};

// How many units of `size` bytes the lanes touch together, with `bytes` each.
std::uint64_t touched(const Sorted& sorted, unsigned bytes, std::uint64_t size) {
  std::uint64_t units = 0, next = 0;  // the first unit that is not counted yet
  for (int i = 0; i < sorted.count; ++i) {
    const std::uint64_t first = std::max(next, sorted.addresses[i] / size), end = (sorted.addresses[i] + bytes - 1) / size + 1;
    if (end > first) units += end - first;
    next = std::max(next, end);
  }
  return units;
}

// Lanes that a pass of shared memory serves together: 32 of up to 4 bytes, 16 of 8, 8 of 16.
int lanes_together(unsigned bytes) { return bytes <= kBank ? kLanes : kLanes * static_cast<int>(kBank) / static_cast<int>(bytes); }
Mask group(int first, int lanes) { return lanes == kLanes ? kAllLanes : ((Mask{1} << lanes) - 1) << first; }

}  // namespace

std::uint64_t sectors_touched(const std::uint64_t (&addresses)[kLanes], unsigned bytes, Mask mask) {
  return touched(Sorted(addresses, mask), bytes, kSector);
}

std::uint64_t fewest_sectors(const std::uint64_t (&addresses)[kLanes], unsigned bytes, Mask mask) {
  return (touched(Sorted(addresses, mask), bytes, 1) + kSector - 1) / kSector;
}

std::uint64_t bank_passes(const std::uint64_t (&addresses)[kLanes], unsigned bytes, Mask mask) {
  const int together = lanes_together(bytes);
  std::uint64_t passes = 0;
  for (int first = 0; first < kLanes; first += together) {
    const Sorted sorted(addresses, mask & group(first, together));
    std::uint64_t in_bank[kBanks] = {}, next = 0;
    for (int i = 0; i < sorted.count; ++i) {
      const std::uint64_t end = (sorted.addresses[i] + bytes - 1) / kBank + 1;
      for (std::uint64_t word = std::max(next, sorted.addresses[i] / kBank); word < end; ++word) ++in_bank[word % kBanks];
      next = std::max(next, end);
    }
    passes += *std::max_element(in_bank, in_bank + kBanks);
  }
  return passes;
}

std::uint64_t fewest_bank_passes(unsigned bytes, Mask mask) {
  const int together = lanes_together(bytes);
  std::uint64_t passes = 0;
  for (int first = 0; first < kLanes; first += together) passes += (mask & group(first, together)) != 0 ? 1 : 0;
  return passes;
}

std::uint64_t longest_queue(const std::uint64_t (&addresses)[kLanes], Mask mask) {
  const Sorted sorted(addresses, mask);
  std::uint64_t longest = 0, now = 0;
  for (int i = 0; i < sorted.count; ++i) {
    now = i > 0 && sorted.addresses[i] == sorted.addresses[i - 1] ? now + 1 : 1;
    longest = std::max(longest, now);
  }
  return longest;
}

Count& Count::operator+=(const Count& other) {
  instructions += other.instructions;
  lanes += other.lanes;
  for (std::size_t i = 0; i < by_kind.size(); ++i) by_kind[i] += other.by_kind[i];
  branches += other.branches;
  divergent += other.divergent;
  requests += other.requests;
  sectors += other.sectors;
  fewest += other.fewest;
  shared_requests += other.shared_requests;
  passes += other.passes;
  fewest_passes += other.fewest_passes;
  atomics += other.atomics;
  turns += other.turns;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] += other.bytes[i];
  return *this;
}

Count& Counts::at(const Code& code, const Instruction& instruction) {
  if (last_ != &code) {
    last_counts_ = &counts_[&code];
    last_counts_->resize(code.places.size());
    last_ = &code;
  }
  return (*last_counts_)[instruction.place];
}

void Counts::note(const Code& code, const Instruction& instruction, Warp& warp, Mask active) {
  Count& count = at(code, instruction);
  ++count.instructions;
  count.lanes += static_cast<std::uint64_t>(std::popcount(active));
  const Kind kind = instruction.operation->kind;
  ++count.by_kind[static_cast<std::size_t>(kind)];
  if (kind == Kind::load || kind == Kind::store || kind == Kind::atomic) note_access(count, instruction, warp, active);
}

void Counts::note_control(const Code& code, const Instruction& instruction, Warp& /*warp*/, Mask active, Mask path) {
  Count& count = at(code, instruction);
  ++count.instructions;
  count.lanes += static_cast<std::uint64_t>(std::popcount(path));
  ++count.by_kind[static_cast<std::size_t>(instruction.operation->kind)];
  if (instruction.control != Control::branch || instruction.guarded == Instruction::Guard::none) return;
  ++count.branches;
  count.divergent += active != 0 && active != path ? 1 : 0;
}

void Counts::note_access(Count& count, const Instruction& instruction, Warp& warp, Mask active) {
  const Operation& operation = *instruction.operation;
  const unsigned bytes = static_cast<unsigned>(operation.bytes) * operation.vector;
  if (bytes == 0) return;
  // The base stands behind what is loaded, in front of what is stored.
  std::size_t slot = 0;
  for (const Parameter& parameter : operation.parameters) {
    if (parameter.role == Parameter::Role::address) break;
    slot += static_cast<std::size_t>(parameter.count);
  }
  std::uint64_t addresses[kLanes];
  addresses_of(warp, instruction, instruction.slots[slot], addresses);
  Mask global = 0, shared = 0;
  for (Mask left = active; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    const Space space = instruction.space == Space::generic ? space_of(addresses[i]) : instruction.space;
    count.bytes[static_cast<std::size_t>(space)] += bytes;
    if (space == Space::global) global |= Mask{1} << i;
    if (space == Space::shared) shared |= Mask{1} << i;
  }
  if (global != 0) {
    ++count.requests;
    count.sectors += sectors_touched(addresses, bytes, global);
    count.fewest += fewest_sectors(addresses, bytes, global);
  }
  if (shared != 0) {
    ++count.shared_requests;
    count.passes += bank_passes(addresses, bytes, shared);
    count.fewest_passes += fewest_bank_passes(bytes, shared);
  }
  if (operation.kind == Kind::atomic) {
    ++count.atomics;
    count.turns += longest_queue(addresses, active);
  }
}

void Counts::add(const Counts& other) {
  const std::lock_guard lock(mutex_);
  for (const auto& [code, list] : other.counts_) {
    std::vector<Count>& mine = counts_[code];
    mine.resize(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) mine[i] += list[i];
  }
}

Count Counts::total() const {
  Count sum;
  for (const auto& [code, list] : counts_) sum += of(*code);
  return sum;
}

Count Counts::of(const Code& code) const {
  Count sum;
  const auto found = counts_.find(&code);
  if (found == counts_.end()) return sum;
  for (const Count& count : found->second) sum += count;
  return sum;
}

Count Counts::at_line(const Code& code, int ptx_line) const {
  Count sum;
  const auto found = counts_.find(&code);
  if (found == counts_.end()) return sum;
  for (std::size_t i = 0; i < found->second.size(); ++i) {
    if (code.places[i].line == ptx_line) sum += found->second[i];
  }
  return sum;
}

std::vector<Counts::SourceLine> Counts::by_line(const Module& module, const Code& code) const {
  std::map<std::pair<std::string, int>, Count> lines;
  const auto found = counts_.find(&code);
  const auto located = std::find_if(code.places.begin(), code.places.end(), [](const Place& place) { return place.location.line > 0; });
  for (std::size_t i = 0; found != counts_.end() && i < found->second.size(); ++i) {
    const Place& place = code.places[i];
    // What stands in front of the first location gets the parameters, for what follows.
    const syntax::Location& location = place.location.line > 0 || located == code.places.end() ? place.location : located->location;
    const bool known = location.line > 0;
    lines[{known ? module.file(location.file) : std::string(), known ? location.line : place.line}] += found->second[i];
  }
  std::vector<SourceLine> result;
  for (const auto& [key, count] : lines) {
    if (count.instructions > 0) result.push_back({key.first, key.second, count});
  }
  return result;
}

}  // namespace lockstep::ptx
