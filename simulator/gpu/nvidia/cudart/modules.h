// What a program made by nvcc registers when it starts: fat binaries, and for each the kernels and variables that its host code names.
//
// PTX is read when a device first needs it. Each device has a module of its own, and with it variables of its own. A managed variable is
// the host's too and would have to be one for all devices: a fat binary that has one can be used on one device only.
#pragma once

#include <cuda_runtime.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "simulator/gpu/modules/ptx_kernel.h"
#include "simulator/gpu/nvidia/image/fat_binary.h"

namespace lockstep::nvidia {

class Image;

// A kernel as the host knows it; cudaKernel_t and cudaFunction_t point to one.
struct Kernel {
  Image* image = nullptr;
  std::string name;
  int dynamic_shared_limit = -1;  // from cudaFuncSetAttribute; below 0: what is left of 48 KiB
};

struct Variable {
  Image* image = nullptr;
  std::string name;
  std::size_t bytes = 0;
  void** managed = nullptr;  // the host's pointer to a managed variable
};

// A kernel ready to launch, and what the host may ask of it.
struct Loaded {
  std::shared_ptr<const sim::PtxKernel> kernel;
  const ptx::Code* code = nullptr;
};

class Image {
 public:
  // `fat_binary` may be cut off or damaged: then everything asked of the image fails with `status`.
  explicit Image(const void* fat_binary);

  cudaError_t load(const std::string& kernel, int device, Loaded* out);
  cudaError_t find(const Variable& variable, int device, std::byte** address);
  void keep_to_one_device() { one_device_ = true; }
  void report_counts() const;  // when the program ends: no kernel runs any more

 private:
  struct OnDevice {
    std::shared_ptr<const ptx::Module> module;  // null: it could not be loaded
    std::map<std::string, std::shared_ptr<const sim::PtxKernel>> kernels;
    std::unique_ptr<ptx::Counts> counts;  // null: not wanted
    cudaError_t status = cudaSuccess;
  };
  OnDevice& on(int device);
  OnDevice read(int device) const;

  std::vector<FatEntry> entries_;
  cudaError_t status_ = cudaSuccess;
  bool one_device_ = false;
  std::mutex mutex_;
  std::map<int, OnDevice> devices_;
};

// All that is registered. Entries stay until the process ends: kernels that still run may use them.
class Registry {
 public:
  Image* add(const void* fat_binary);
  void add_kernel(Image* image, const void* host, const char* name);
  void add_variable(Image* image, const void* host, const char* name, std::size_t bytes, void** managed);
  void remove(const Image* image);
  void place_managed(const Image* image);  // sets the host's pointers of its managed variables

  Kernel* kernel(const void* host);  // also for a Kernel itself; null: unknown
  const Variable* variable(const void* host);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Image>> images_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::unordered_map<const void*, Kernel*> kernel_of_;
  std::unordered_map<const void*, Variable> variables_;
};
Registry& registry();

// One line on stderr: what is wrong with the program or with a call, as a sentence.
void say(const std::string& sentence);

}  // namespace lockstep::nvidia
