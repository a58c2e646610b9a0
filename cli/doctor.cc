// `lockstep doctor`: looks for everything Lockstep can use on this machine, and says how to install what is missing.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "cli/command.h"
#include "lockstep/lockstep.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;

enum class State { good, optional, bad };  // optional: Lockstep works without it

struct Finding {
  State state;
  std::string what;
  std::string fix;  // empty when good
};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The first line a command prints; empty when it is not there.
std::string first_line(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((command + " 2>/dev/null").c_str(), "r"), pclose);
  std::array<char, 256> line{};
  if (!pipe || std::fgets(line.data(), line.size(), pipe.get()) == nullptr) return "";
  std::string text = line.data();
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

Finding tool(const std::string& command, const std::string& package, State otherwise) {
  const std::string version = first_line(command);
  if (!version.empty()) return {State::good, version, ""};
  return {otherwise, "not found", "apt-get install " + package};
}

Finding toolkit() {
  for (const std::string& nvcc : {std::string("nvcc"), environment("CUDA_HOME") + "/bin/nvcc", std::string("/usr/local/cuda/bin/nvcc")}) {
    const std::string version = first_line(nvcc + " --version | grep release");
    if (!version.empty()) return {State::good, version, ""};
  }
  return {State::optional, "no nvcc: only the virtual GPU can be built",
          "install the CUDA Toolkit 12.4 or newer (developer.nvidia.com/cuda-downloads)"};
}

Finding driver() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  if (std::getline(file, line)) return {State::good, line, ""};
  return {State::optional, "no NVIDIA driver: virtual GPUs are used", "on a machine with an NVIDIA GPU: apt-get install nvidia-driver"};
}

// The version that a library reports. `name` is the loader's name for it.
Finding library(const std::string& name, const char* symbol, bool by_pointer, const std::string& fix) {
  const std::unique_ptr<void, int (*)(void*)> handle(dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL),
                                                     [](void* h) { return h != nullptr ? dlclose(h) : 0; });
  if (!handle) return {State::optional, name + " not found", fix};
  void* found = dlsym(handle.get(), symbol);
  if (found == nullptr) return {State::bad, name + " has no " + symbol, fix};
  std::size_t version = 0;
  if (by_pointer) {
    int value = 0;
    reinterpret_cast<int (*)(int*)>(found)(&value);
    version = static_cast<std::size_t>(value);
  } else {
    version = reinterpret_cast<std::size_t (*)()>(found)();
  }
  return {State::good, fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100), ""};
}

Finding kernelspec() {
  std::vector<fs::path> places = {environment("HOME") + "/.local/share/jupyter", "/usr/local/share/jupyter", "/usr/share/jupyter"};
  if (const std::string prefix = environment("VIRTUAL_ENV"); !prefix.empty()) places.insert(places.begin(), prefix + "/share/jupyter");
  if (const std::string prefix = environment("CONDA_PREFIX"); !prefix.empty()) places.insert(places.begin(), prefix + "/share/jupyter");
  for (const fs::path& place : places) {
    std::error_code ignored;
    if (const fs::path spec = place / "kernels" / "xcpp17" / "kernel.json"; fs::exists(spec, ignored))
      return {State::good, spec.string(), ""};
  }
  return {State::optional, "no C++ kernel for Jupyter", "./lockstep notebook installs it"};
}

Finding gpus() {
  try {
    std::string names;
    for (const GpuId& id : list_gpus()) names += (names.empty() ? "" : ", ") + id.name() + " " + describe_gpu(id.physical).model;
    return {State::good, names, ""};
  } catch (const Error& error) {
    return {State::bad, error.what(), "LOCKSTEP_PRESET=sim ./lockstep run mnist uses a virtual GPU instead"};
  }
}

Finding mnist() {
  DataOptions options;
  options.allow_download = false;
  options.drawn_train = options.drawn_test = 1;
  const Mnist data = load_mnist(options);
  if (!data.drawn) return {State::good, data.source, ""};
  return {State::optional, "not found: digits are drawn instead", "lockstep data --fetch mnist, or LOCKSTEP_DATA=FOLDER"};
}

template <class Load>
Finding data_set(Load load, const std::string& fix) {
  try {
    return {State::good, load().source, ""};
  } catch (const Error&) {
    return {State::optional, "not found", fix};
  }
}

Finding room_on_disk() {
  struct statvfs disk {};
  if (statvfs(".", &disk) != 0) return {State::optional, "unknown", "df -h ."};
  const double gib = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize) / (1 << 30);
  const std::string what = fmt::format("{:.1f} GiB free here", gib);
  return gib >= 2 ? Finding{State::good, what, ""} : Finding{State::bad, what, "free some space: a build takes about 1 GiB"};
}

Finding memory() {
  const double gib = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE)) / (1 << 30);
  const std::string what = fmt::format("{} cores, {:.1f} GiB of memory", std::thread::hardware_concurrency(), gib);
  return gib >= 3 ? Finding{State::good, what, ""}
                  : Finding{State::bad, what, "build with ninja -j1: compiling takes about 1.5 GiB for each core"};
}

struct Check {
  const char* name;
  std::function<Finding()> find;
};

std::vector<Check> checks() {
  const std::string wheels = " (pip install nvidia-cudnn-cu12 nvidia-nccl-cu12 brings both; see docs/gpu.md)";
  return {
      {"computer", memory},
      {"disk", room_on_disk},
      {"compiler", [] { return tool("c++ --version", "g++", State::bad); }},
      {"cmake", [] { return tool("cmake --version", "cmake", State::bad); }},
      {"ninja", [] { return tool("ninja --version", "ninja-build", State::bad); }},
      {"GPUs", gpus},
      {"driver", driver},
      {"CUDA Toolkit", toolkit},
      {"cuDNN", [=] { return library("libcudnn.so.9", "cudnnGetVersion", false, "install cuDNN 9" + wheels); }},
      {"NCCL", [=] { return library("libnccl.so.2", "ncclGetVersion", true, "install NCCL 2.20 or newer" + wheels); }},
      {"MPI", [] { return tool("mpirun --version", "openmpi-bin", State::optional); }},
      {"mnist", mnist},
      {"reuters",
       [] { return data_set([] { return load_reuters(ReutersOptions().allow_download(false)); }, "lockstep data --fetch reuters"); }},
      {"cats-vs-dogs", [] { return data_set([] { return load_cats_vs_dogs(); }, "lockstep data says where to get the photos"); }},
      {"Jupyter", kernelspec},
  };
}

int examine() {
  int bad = 0, optional = 0;
  for (const Check& check : checks()) {
    const Finding finding = check.find();
    bad += finding.state == State::bad ? 1 : 0;
    optional += finding.state == State::optional ? 1 : 0;
    const char* mark = finding.state == State::good ? "ok" : finding.state == State::optional ? "--" : "!!";
    fmt::print("{} {:<13} {}\n", mark, check.name, finding.what);
    if (!finding.fix.empty()) fmt::print("{:17}Fix: {}\n", "", finding.fix);
  }
  fmt::print("\n{}\n", bad > 0 ? fmt::format("{} problem{} to fix before Lockstep works well here (marked !!).", bad, bad == 1 ? "" : "s")
                       : optional > 0 ? "Everything required is here; what is marked -- is optional."
                                      : "Everything is here.");
  return bad > 0 ? 1 : 0;
}

}  // namespace

Command add_doctor(CLI::App& app) {
  CLI::App* command = app.add_subcommand("doctor", "Check this machine: what is installed, what is missing, how to install it");
  return {command, [] { return examine(); }};
}

}  // namespace lockstep::cli
