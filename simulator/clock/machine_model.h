// Machine models: how many GPUs there are, what each can do, how they are connected. All of it is data, in machines/*.json, where the
// source of each figure stands beside it; the files are part of the program. A file of the user's own is as good as a name.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::clock {

// What efficiencies are kept for. A kernel of our own is `streaming` unless its name says otherwise.
enum class Kind { matmul, convolution, depthwise, streaming, gather };
inline constexpr std::array<const char*, 5> kKindNames = {"matmul", "convolution", "depthwise", "streaming", "gather"};
Kind kind_of_kernel(const std::string& name);

enum class Arithmetic : int { fp32, tf32, fp16 };
inline constexpr std::array<const char*, 3> kArithmeticNames = {"fp32", "tf32", "fp16"};

struct Efficiency {
  std::array<double, 3> compute = {1, 1, 1};  // of the peak, by Arithmetic
  double memory = 1;
};

// What a warp's instructions are counted by: the units that run them. Other: branches, votes, barriers, moves.
enum class Issue { fp32, fp64, integer, special, memory, other };
inline constexpr std::array<const char*, 6> kIssueNames = {"fp32", "fp64", "integer", "special", "memory", "other"};

// Of a multiprocessor: what bounds a kernel's warps (kernel_launch.h).
struct WarpFigures {
  int blocks = 0, registers = 0;                     // at a time
  std::size_t shared_reserved = 0;                   // of each block, for the system
  std::array<double, kIssueNames.size()> lanes{};    // that units of a kind serve in a cycle, by Issue
  std::array<double, kIssueNames.size()> latency{};  // cycles until a result can be used, by Issue; memory: a load that misses both caches
  double l1_latency = 0, l2_latency = 0, shared_latency = 0;
  double l1_bytes = 0;         // in a cycle
  double l2_gb_s = 0;          // of the card
  double bytes_in_flight = 0;  // that a warp asks for before it waits, where its instructions are not known
};

// NCCL's ways to move bytes: with a flag in each word (low latency, little bandwidth), in each line, or by chunks.
enum class Protocol { ll, ll128, simple };
inline constexpr std::array<const char*, 3> kProtocolNames = {"LL", "LL128", "Simple"};

struct Link {
  double alpha_us = 0;                    // a copy's
  double gb_s = 0;                        // in each direction
  std::array<double, 3> nccl_alpha_us{};  // a hop's, by protocol
  double nccl_ramp_us = 0;                // what filling the pipelines of all channels costs a large message (collectives.h)
  bool shares_host_link = false;          // of a link between GPUs: over the lanes that lead to the host
};

struct Machine {
  std::string name;      // as LOCKSTEP_SIM_MACHINE names it
  std::string gpu_name;  // as cudaGetDeviceProperties names it
  std::string describe;
  int gpus = 1;  // of all nodes
  int gpus_per_node = 1;
  std::size_t memory_bytes = 0;  // of each GPU
  int major = 0, minor = 0;      // compute capability
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;
  std::size_t shared_per_multiprocessor = 0;
  std::size_t shared_optin = 0;
  int l2_bytes = 0;
  int memory_bus_bits = 0;
  std::optional<WarpFigures> warps;  // a machine without them has kernels' times from FLOPs and bytes alone
  bool peer_access = true;           // between any two GPUs

  // Time.
  std::array<double, 3> peak_tflops{};  // by Arithmetic
  double memory_gb_s = 0;
  double kernel_us = 0;  // of each kernel, on the GPU: until it is under way, and its tail
  int copy_engines = 1;  // for each direction
  double sharing_loss = 0;
  std::array<Efficiency, 5> efficiency{};  // by Kind
  double block_outputs =
      0;  // numbers that a block of a convolution's kernel computes: few blocks do not fill the last wave; 0: it is always full
  double launch_us = 0;                                  // of the host, for a kernel or a copy
  double call_us = 0;                                    // of the host, for what launches nothing: events
  double host_speed = 0;                                 // of the host in framework_host.h; 0: not known
  double host_copy_gb_s = 0;                             // of a host thread
  double host_copies_gb_s = 0;                           // of all of a node's together; 0: as many as there are
  Link host_link, peer_link, network;                    // network: of a node, all its adapters
  std::array<double, 3> nccl_base_us{};                  // by protocol
  std::array<double, 3> nccl_bandwidth{};                // by protocol: a part of the bus bandwidth; 0: not used there
  double ring_gb_s = 0, tree_gb_s = 0, switch_gb_s = 0;  // bus bandwidth within a node; 0: there is no such algorithm
  double switch_base_us = 0;
  std::vector<int>
      nvlink_rings;  // by ranks: ring_gb_s and tree_gb_s are of one ring, and there are so many; empty: a switch, one ring for any ranks
  double nccl_network_gb_s = 0;   // the most that NCCL's channels carry between nodes; 0: what the network does
  double nccl_pass_gb_s = 0;      // of a rank's pass over its own data, beside what it sends; 0: it costs nothing
  double nccl_ramp_bytes = 0;     // the part of a rank at which half of nccl_ramp_us is spent
  double nccl_compute_share = 0;  // of the multiprocessors, while a collective runs
  // One GPU that differs from the others, such as a hot one, or one whose slot has fewer lanes: its kernels, and copies to and from it,
  // take so many times as long. NCCL's collectives are modelled for equal links.
  int slow_gpu = -1;
  double slow_kernels = 1, slow_link = 1;

  int nodes() const { return gpus_per_node > 0 ? (gpus + gpus_per_node - 1) / gpus_per_node : 1; }
};

// By name or by the path of a JSON file. Otherwise `problem` says why not.
std::optional<Machine> find_machine(const std::string& name, std::string* problem = nullptr);
std::string machine_names();  // for an error message
Machine with_nodes(Machine machine, int nodes);

// Every figure of a known machine and where it comes from, as "gpu.memory_gb_s" -> {320, "..."}; for docs and tests.
struct Figure {
  double value = 0;
  std::string source;
};
std::map<std::string, Figure> figures_of(const std::string& machine);

}  // namespace lockstep::clock
