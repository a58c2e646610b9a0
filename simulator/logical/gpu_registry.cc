// Naming, listing, splitting and claiming GPUs.
#include "simulator/logical/gpu_registry.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <mutex>
#include <utility>

#include "engine/device/check.h"
#include "engine/device/stream.h"
#include "lockstep/error.h"

namespace lockstep {

namespace {

constexpr std::size_t kMib = std::size_t{1024} * 1024;

struct Registry {
  std::mutex mutex;
  std::map<int, std::vector<GpuId>> splits;                     // by physical GPU
  std::map<std::string, std::weak_ptr<const GpuClaim>> claims;  // by name
};

Registry& registry() {
  static Registry instance;
  return instance;
}

std::string plural(std::size_t n, const std::string& noun) { return std::to_string(n) + " " + noun + (n == 1 ? "" : "s"); }

int count_gpus() {
  int count = 0;
  LOCKSTEP_CHECK(cudaGetDeviceCount(&count));
  return count;
}

void check_exists(int physical) {
  const int count = count_gpus();
  if (physical < 0 || physical >= count) {
    throw Error("There is no GPU " + std::to_string(physical) + ": this machine has " + plural(static_cast<std::size_t>(count), "GPU") +
                (count > 0 ? ", numbered from 0." : "."));
  }
}

struct Memory {
  std::size_t free = 0;
  std::size_t total = 0;
};

Memory memory_of(int physical) {
  const DeviceGuard guard(physical);
  Memory memory;
  LOCKSTEP_CHECK(cudaMemGetInfo(&memory.free, &memory.total));
  return memory;
}

// With the registry's mutex held.
bool in_use(const Registry& state, int physical) {
  return std::any_of(state.claims.begin(), state.claims.end(), [=](const auto& entry) {
    const auto claim = entry.second.lock();
    return claim && claim->id.physical == physical;
  });
}

bool same(const std::vector<GpuId>& a, const std::vector<GpuId>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const GpuId& x, const GpuId& y) { return x.memory_limit_mib == y.memory_limit_mib; });
}

bool parse_number(const std::string& text, int& number) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && result.ec == std::errc{} && result.ptr == text.data() + text.size() && number >= 0;
}

}  // namespace

std::string GpuId::name() const {
  const std::string whole = "/gpu:" + std::to_string(physical);
  return logical < 0 ? whole : whole + "/logical:" + std::to_string(logical);
}

std::vector<GpuId> list_gpus() {
  std::vector<GpuId> gpus(static_cast<std::size_t>(count_gpus()));
  for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i].physical = static_cast<int>(i);
  return gpus;
}

GpuDescription describe_gpu(int physical) {
  check_exists(physical);
  cudaDeviceProp properties{};
  LOCKSTEP_CHECK(cudaGetDeviceProperties(&properties, physical));
  const Memory memory = memory_of(physical);
  GpuDescription gpu;
  gpu.id.physical = physical;
  gpu.model = static_cast<const char*>(properties.name);
  gpu.memory_mib = static_cast<std::int64_t>(memory.total / kMib);
  gpu.free_mib = static_cast<std::int64_t>(memory.free / kMib);
  gpu.multiprocessors = properties.multiProcessorCount;
  Registry& state = registry();
  const std::lock_guard lock(state.mutex);
  if (const auto split = state.splits.find(physical); split != state.splits.end()) gpu.logical = split->second;
  return gpu;
}

std::vector<GpuId> split_gpu(int physical, const std::vector<std::int64_t>& limits_mib) {
  check_exists(physical);
  const std::string gpu = "GPU " + std::to_string(physical);
  if (limits_mib.empty()) throw Error("split_gpu needs a memory limit in MiB for each logical GPU, but the list is empty.");
  std::size_t sum = 0;
  const std::size_t total = memory_of(physical).total / kMib;
  std::vector<GpuId> gpus;
  for (const std::int64_t limit : limits_mib) {
    if (limit <= 0)
      throw Error("split_gpu: a memory limit of " + std::to_string(limit) + " MiB leaves no memory; limits are positive numbers of MiB.");
    sum = static_cast<std::size_t>(limit) > total ? total + 1 : sum + static_cast<std::size_t>(limit);
    if (sum > total) {
      throw Error("The memory limits add up to more than " + gpu + " has (" + std::to_string(total) +
                  " MiB): use smaller limits or fewer logical GPUs.");
    }
    gpus.push_back({physical, static_cast<int>(gpus.size()), limit});
  }
  Registry& state = registry();
  const std::lock_guard lock(state.mutex);
  const auto split = state.splits.find(physical);
  if (split != state.splits.end() && same(split->second, gpus)) return gpus;  // asked for again, as when a notebook's cell runs twice
  if (in_use(state, physical)) throw Error(gpu + " is already in use: split it before the first model or strategy is made on it.");
  if (split != state.splits.end()) {
    throw Error(gpu + " was already split into " + plural(split->second.size(), "logical GPU") + "; a GPU is split once.");
  }
  state.splits[physical] = gpus;
  return gpus;
}

GpuId parse_gpu(const std::string& name) {
  std::string text = name;
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  GpuId id;
  bool good = true;
  if (const auto at = text.find("/logical:"); at != std::string::npos) {
    good = parse_number(text.substr(at + 9), id.logical);
    text.erase(at);
  }
  if (text.rfind("/gpu:", 0) == 0) {
    text.erase(0, 5);
  } else if (text.rfind("gpu:", 0) == 0) {
    text.erase(0, 4);
  }
  if (!good || !parse_number(text, id.physical)) {
    throw Error("\"" + name +
                "\" does not name a GPU: write \"/gpu:0\", \"gpu:0\" or \"0\", and \"/gpu:0/logical:1\" for a part of a split one.");
  }
  check_exists(id.physical);
  if (id.logical >= 0) {
    Registry& state = registry();
    const std::lock_guard lock(state.mutex);
    const auto split = state.splits.find(id.physical);
    if (split == state.splits.end() || static_cast<std::size_t>(id.logical) >= split->second.size()) {
      throw Error(
          "There is no " + id.name() + ": GPU " + std::to_string(id.physical) +
          (split == state.splits.end() ? " is not split." : " was split into " + plural(split->second.size(), "logical GPU") + "."));
    }
    return split->second[static_cast<std::size_t>(id.logical)];
  }
  return id;
}

std::shared_ptr<const GpuClaim> claim_gpu(const GpuId& id) {
  GpuId full = id;
  if (id.logical >= 0) {
    full = parse_gpu(id.name());
  } else {
    check_exists(id.physical);
  }
  const std::size_t limit =
      full.memory_limit_mib > 0 ? static_cast<std::size_t>(full.memory_limit_mib) * kMib : memory_of(full.physical).total;
  Registry& state = registry();
  const std::lock_guard lock(state.mutex);
  if (const auto split = state.splits.find(full.physical); full.logical < 0 && split != state.splits.end()) {
    throw Error("GPU " + std::to_string(full.physical) + " was split into " + plural(split->second.size(), "logical GPU") + ": use " +
                split->second.front().name() + (split->second.size() > 1 ? " to " + split->second.back().name() : "") +
                ", not the whole of it.");
  }
  std::weak_ptr<const GpuClaim>& known = state.claims[full.name()];
  if (auto claim = known.lock()) return claim;
  auto claim = std::make_shared<const GpuClaim>(GpuClaim{full, Arena(full.physical, limit, full.name())});
  known = claim;
  return claim;
}

void forget_splits() {
  Registry& state = registry();
  const std::lock_guard lock(state.mutex);
  for (const auto& [physical, split] : state.splits) {
    if (in_use(state, physical))
      throw Error("GPU " + std::to_string(physical) + " is in use: its split is forgotten only after its models and strategies are gone.");
  }
  state.splits.clear();
  state.claims.clear();
}

}  // namespace lockstep
