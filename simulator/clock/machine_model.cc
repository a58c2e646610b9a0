#include "simulator/clock/machine_model.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "embedded_machines.h"
#include "simulator/clock/nvlink_rings.h"

namespace lockstep::clock {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = kKiB * kKiB;
constexpr std::size_t kGiB = kKiB * kMiB;

// A file may say "gpu": "t4" for what stands in gpu-t4.json.
const Json* embedded(const std::string& name) {
  static const std::map<std::string, Json> files = [] {
    std::map<std::string, Json> read;
    for (const auto& [file, text] : kEmbeddedMachines) read[std::string(file)] = Json::parse(text);
    return read;
  }();
  const auto found = files.find(name);
  return found == files.end() ? nullptr : &found->second;
}

// Reads figures by their path and says which is missing.
class Reader {
 public:
  explicit Reader(const Json& root) : root_(root) {}

  double number(const std::string& path) const {
    const auto value = optional(path);
    if (!value) throw std::runtime_error("\"" + path + "\" is missing");
    return *value;
  }
  double positive(const std::string& path) const {
    const double value = number(path);
    if (value == 0) throw std::runtime_error("\"" + path + "\" is 0");
    return value;
  }
  double number(const std::string& path, double otherwise) const { return optional(path).value_or(otherwise); }
  int whole(const std::string& path, int most = 1'000'000) const {
    const double value = number(path);
    if (value > most || value != std::floor(value))
      throw std::runtime_error("\"" + path + "\" is not a whole number up to " + std::to_string(most));
    return static_cast<int>(value);
  }
  bool has(const std::string& path) const { return at(path) != nullptr; }
  std::string text(const std::string& path, const std::string& otherwise) const {
    const Json* found = at(path);
    return found != nullptr && found->is_string() ? found->get<std::string>() : otherwise;
  }

 private:
  const Json* at(const std::string& path) const {
    const Json* here = &root_;
    std::istringstream words(path);
    for (std::string word; std::getline(words, word, '.');) {
      if (!here->is_object() || !here->contains(word)) return nullptr;
      here = &here->at(word);
    }
    return here;
  }
  // A figure is a number, or an object with its source.
  std::optional<double> optional(const std::string& path) const {
    const Json* found = at(path);
    if (found != nullptr && found->is_object() && found->contains("value")) found = &found->at("value");
    if (found == nullptr) return std::nullopt;
    if (!found->is_number()) throw std::runtime_error("\"" + path + "\" is not a number");
    const auto value = found->get<double>();
    if (value < 0) throw std::runtime_error("\"" + path + "\" is negative");
    return value;
  }
  const Json& root_;
};

Link read_link(const Reader& file, const std::string& path) {
  Link link;
  link.alpha_us = file.number(path + ".alpha_us");
  link.gb_s = file.positive(path + ".gb_s");
  link.shares_host_link = file.number(path + ".shares_host_link", 0) != 0;
  for (std::size_t p = 0; p < kProtocolNames.size(); ++p) {
    link.nccl_alpha_us[p] = file.number(path + ".nccl_alpha_us." + kProtocolNames[p], link.alpha_us);
  }
  link.nccl_ramp_us = file.number(path + ".nccl_ramp_us", 0);
  return link;
}

WarpFigures read_warps(const Reader& file) {
  WarpFigures warps;
  warps.blocks = file.whole("gpu.warps.blocks");
  warps.registers = file.whole("gpu.warps.registers");
  warps.shared_reserved = static_cast<std::size_t>(file.number("gpu.warps.shared_reserved_kib")) * kKiB;
  for (std::size_t i = 0; i < kIssueNames.size(); ++i) {
    warps.lanes[i] = file.positive(std::string("gpu.warps.lanes.") + kIssueNames[i]);
    warps.latency[i] = file.positive(std::string("gpu.warps.latency_cycles.") + kIssueNames[i]);
  }
  warps.l1_latency = file.positive("gpu.warps.latency_cycles.l1");
  warps.l2_latency = file.positive("gpu.warps.latency_cycles.l2");
  warps.shared_latency = file.positive("gpu.warps.latency_cycles.shared");
  warps.l1_bytes = file.positive("gpu.warps.l1_bytes_a_cycle");
  warps.l2_gb_s = file.positive("gpu.warps.l2_gb_s");
  warps.bytes_in_flight = file.positive("gpu.warps.bytes_in_flight");
  return warps;
}

// "nvlinks" of "links.peer": how many lead from each GPU to each other one.
std::vector<int> read_rings(const Json& json, int gpus) {
  const auto size = static_cast<std::size_t>(gpus);
  const auto refuse = [&] {
    throw std::runtime_error("\"links.peer.nvlinks\" is not a symmetric table of " + std::to_string(gpus) + " x " + std::to_string(gpus) +
                             " numbers of links");
  };
  const Json& value = json.is_object() && json.contains("value") ? json["value"] : json;
  if (!value.is_array() || value.size() != size || size > 8) refuse();
  LinkCounts links;
  for (const Json& row : value) {
    if (!row.is_array() || row.size() != size) refuse();
    auto& counts = links.emplace_back();
    for (const Json& count : row) {
      if (!count.is_number_unsigned() || count.get<unsigned>() > 64) refuse();
      counts.push_back(count.get<int>());
    }
  }
  for (std::size_t a = 0; a < size; ++a) {
    for (std::size_t b = 0; b < size; ++b) {
      if (links[a][b] != links[b][a] || (a == b && links[a][b] != 0)) refuse();
    }
  }
  std::vector<int> rings;
  for (int ranks = 0; ranks <= gpus; ++ranks) rings.push_back(nvlink_rings(links, ranks));
  return rings;
}

// "like" names a known file, of which this one says what differs.
Json complete(Json json) {
  if (json.contains("like") && json["like"].is_string()) {
    const std::string like = json["like"];
    const Json* found = embedded(like);
    if (found == nullptr) throw std::runtime_error("there is no machine \"" + like + "\" that it could be like");
    Json all = complete(*found);
    json.erase("like");
    all.merge_patch(json);
    json = std::move(all);
  }
  if (json.contains("gpu") && json["gpu"].is_string()) {
    const std::string gpu = json["gpu"];
    const Json* found = embedded("gpu-" + gpu);
    if (found == nullptr) throw std::runtime_error("there is no GPU \"" + gpu + "\"");
    json["gpu"] = complete(*found);
  }
  if (json.contains("nccl") && json["nccl"].is_string()) {
    const std::string nccl = json["nccl"];
    const Json* found = embedded("nccl-" + nccl);
    if (found == nullptr) throw std::runtime_error("there is no \"nccl-" + nccl + "\"");
    json["nccl"] = *found;
  }
  if (json.contains("bus") && json.contains("nccl")) json["nccl"]["bus"] = json["bus"];
  return json;
}

// "slow": {"gpu": 2, "kernels": 2.5, "link": 4}
void read_slow(const Reader& file, Machine& machine) {
  if (!file.has("slow")) return;
  machine.slow_gpu = file.whole("slow.gpu");
  if (machine.slow_gpu >= machine.gpus) throw std::runtime_error("\"slow.gpu\" is not one of " + std::to_string(machine.gpus) + " GPUs");
  machine.slow_kernels = file.number("slow.kernels", 1);
  machine.slow_link = file.number("slow.link", 1);
  if (machine.slow_kernels < 1 || machine.slow_link < 1) throw std::runtime_error("\"slow\" says how many times as long: at least 1");
}

Machine parse(const Json& file, const std::string& name) {
  const Json json = complete(file);
  const Reader read(json);
  Machine machine;
  machine.name = name;
  machine.describe = read.text("describe", "");
  machine.gpu_name = read.text("gpu.name", "Virtual GPU");
  machine.gpus_per_node = read.whole("gpus");
  if (machine.gpus_per_node < 1 || machine.gpus_per_node > 64) throw std::runtime_error("\"gpus\" is from 1 to 64");
  const double nodes = read.number("nodes", 1);
  if (nodes < 1 || nodes > 65536) throw std::runtime_error("\"nodes\" is from 1 to 65536");
  machine.gpus = machine.gpus_per_node * static_cast<int>(nodes);
  machine.memory_bytes = static_cast<std::size_t>(read.number("gpu.memory_gib") * static_cast<double>(kGiB));
  const double capability = read.number("gpu.compute_capability");
  machine.major = static_cast<int>(capability);
  machine.minor = static_cast<int>(10 * (capability - machine.major) + 0.5);
  machine.multiprocessors = read.whole("gpu.multiprocessors");
  machine.threads_per_multiprocessor = read.whole("gpu.threads_per_multiprocessor");
  machine.shared_per_multiprocessor = static_cast<std::size_t>(read.number("gpu.shared_kib")) * kKiB;
  machine.shared_optin = static_cast<std::size_t>(read.number("gpu.shared_optin_kib")) * kKiB;
  machine.l2_bytes = read.whole("gpu.l2_mib", 1024) * static_cast<int>(kMiB);
  machine.memory_bus_bits = read.whole("gpu.memory_bus_bits");
  if (read.has("gpu.warps")) machine.warps = read_warps(read);

  const double fp32 = read.positive("gpu.peak_tflops.fp32");
  machine.peak_tflops = {fp32, read.number("gpu.peak_tflops.tf32", fp32), read.number("gpu.peak_tflops.fp16", fp32)};
  machine.memory_gb_s = read.positive("gpu.memory_gb_s");
  machine.kernel_us = read.number("gpu.kernel_us");
  machine.copy_engines = read.whole("gpu.copy_engines");
  machine.sharing_loss = read.number("gpu.sharing_loss", 0);
  for (std::size_t k = 0; k < kKindNames.size(); ++k) {
    const std::string path = std::string("gpu.efficiency.") + kKindNames[k];
    const double plain = read.positive(path + ".compute");
    machine.efficiency[k] = {{plain, read.number(path + ".tf32", plain), read.number(path + ".fp16", plain)},
                             read.positive(path + ".memory")};
  }
  machine.block_outputs = read.number("gpu.efficiency.convolution.block_outputs", 0);
  machine.launch_us = read.number("host.launch_us");
  machine.call_us = read.number("host.call_us");
  machine.host_speed = read.number("host.speed", 0);
  machine.host_copy_gb_s = read.positive("host.copy_gb_s");
  machine.host_copies_gb_s = read.number("host.all_copies_gb_s", 0);
  machine.host_link = read_link(read, "links.host");
  machine.peer_link = machine.gpus_per_node > 1 ? read_link(read, "links.peer") : machine.host_link;
  machine.network = json["links"].contains("network") ? read_link(read, "links.network") : machine.host_link;
  for (std::size_t p = 0; p < kProtocolNames.size(); ++p) {
    machine.nccl_base_us[p] = read.number(std::string("nccl.base_us.") + kProtocolNames[p]);
    machine.nccl_bandwidth[p] = read.number(std::string("nccl.bandwidth.") + kProtocolNames[p]);
  }
  const auto ll128 = static_cast<std::size_t>(Protocol::ll128);
  machine.nccl_bandwidth[ll128] = read.number("nccl.bus.ll128_part", machine.nccl_bandwidth[ll128]);
  machine.nccl_ramp_bytes = read.number("nccl.ramp_kib", 32) * static_cast<double>(kKiB);
  machine.nccl_compute_share = read.number("nccl.compute_share");
  machine.ring_gb_s = read.number("nccl.bus.ring_gb_s", machine.peer_link.gb_s);
  machine.tree_gb_s = read.number("nccl.bus.tree_gb_s", machine.ring_gb_s);
  machine.switch_gb_s = read.number("nccl.bus.switch_gb_s", 0);
  machine.switch_base_us = read.number("nccl.bus.switch_base_us", 0);
  machine.nccl_network_gb_s = read.number("nccl.bus.network_gb_s", 0);
  machine.nccl_pass_gb_s = read.number("nccl.bus.pass_gb_s", 0);
  if (machine.gpus_per_node > 1 && json["links"]["peer"].contains("nvlinks"))
    machine.nvlink_rings = read_rings(json["links"]["peer"]["nvlinks"], machine.gpus_per_node);
  read_slow(read, machine);
  return machine;
}

bool is_part(const std::string& name) { return name.rfind("gpu-", 0) == 0 || name.rfind("nccl-", 0) == 0; }

void collect(const Json& json, const std::string& path, std::map<std::string, Figure>& figures) {
  if (json.is_number()) figures[path] = {json.get<double>(), ""};
  if (!json.is_object()) return;
  if (json.contains("value")) {
    figures[path] = {json["value"].is_number() ? json["value"].get<double>() : 0, json.value("source", "")};
    return;
  }
  for (const auto& [key, value] : json.items()) collect(value, path.empty() ? key : path + "." + key, figures);
}

}  // namespace

Kind kind_of_kernel(const std::string& name) {
  const auto begins = [&](const char* word) { return name.rfind(word, 0) == 0; };
  if (begins("depthwise")) return Kind::depthwise;
  if (begins("convolution") || begins("conv")) return Kind::convolution;
  if (begins("embedding") || begins("gather") || begins("scatter") || begins("sparse")) return Kind::gather;
  return Kind::streaming;
}

std::optional<Machine> find_machine(const std::string& name, std::string* problem) {
  const auto refuse = [&](const std::string& why) {
    if (problem != nullptr) *problem = why;
    return std::nullopt;
  };
  try {
    if (const Json* known = embedded(name); known != nullptr && !is_part(name)) return parse(*known, name);
    if (name.find('/') == std::string::npos && name.find(".json") == std::string::npos)
      return refuse("known machines are " + machine_names() + "; a file is given by its name, as my.json");
    std::ifstream file(name);
    if (!file) return refuse("the file can't be read");
    return parse(Json::parse(file), name);
  } catch (const std::exception& error) {
    return refuse(std::string("not a machine: ") + error.what());
  }
}

std::string machine_names() {
  std::string names;
  for (const auto& [name, text] : kEmbeddedMachines) {
    if (!is_part(std::string(name))) names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

Machine with_nodes(Machine machine, int nodes) {
  machine.gpus = machine.gpus_per_node * nodes;
  return machine;
}

std::map<std::string, Figure> figures_of(const std::string& machine) {
  std::map<std::string, Figure> figures;
  if (const Json* known = embedded(machine)) collect(complete(*known), "", figures);
  return figures;
}

}  // namespace lockstep::clock
