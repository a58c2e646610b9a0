#include "simulator/gpu/nvidia/cudart/modules.h"

#include <link.h>

#include <cstdio>
#include <cstring>

#include "simulator/gpu/nvidia/cudart/count_report.h"
#include "simulator/gpu/ptx/error.h"
#include "simulator/gpu/runtime/runtime.h"

namespace lockstep::nvidia {

namespace {

// The loaded bytes from `address` on: a length that a damaged image claims must not lead out of its file. An address that no file has may
// be memory of the program, which is then trusted for as much as the image's header says.
std::span<const std::byte> bytes_from(const void* address) {
  struct Search {
    std::uintptr_t address;
    std::size_t bytes;
  } search{reinterpret_cast<std::uintptr_t>(address), 0};
  dl_iterate_phdr(
      [](dl_phdr_info* file, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        for (int i = 0; i < file->dlpi_phnum; ++i) {
          const auto& segment = file->dlpi_phdr[i];
          const std::uintptr_t begin = file->dlpi_addr + segment.p_vaddr;
          if (segment.p_type != PT_LOAD || wanted.address < begin || wanted.address - begin >= segment.p_memsz) continue;
          wanted.bytes = segment.p_memsz - (wanted.address - begin);
          return 1;
        }
        return 0;
      },
      &search);
  if (search.bytes == 0) {
    std::uint64_t content = 0;
    std::memcpy(&content, static_cast<const std::byte*>(address) + 8, sizeof(content));
    search.bytes = static_cast<std::size_t>(content) + 16;
  }
  return {static_cast<const std::byte*>(address), search.bytes};
}

int architecture_of_devices() {
  const clock::Machine& machine = sim::runtime().config.machine;
  return machine.major * 10 + machine.minor;
}

}  // namespace

void say(const std::string& sentence) { std::fprintf(stderr, "virtual GPU: %s\n", sentence.c_str()); }

Image::Image(const void* fat_binary) {
  try {
    entries_ = read_fat_binary(bytes_from(fat_binary));
  } catch (const ptx::Error& error) {
    say(error.what());
    status_ = cudaErrorInvalidKernelImage;
  }
}

Image::OnDevice Image::read(int device) const {
  OnDevice made;
  made.status = status_;
  if (status_ != cudaSuccess) return made;
  if (one_device_ && !devices_.empty()) {
    say("A program with __managed__ variables can use one device only so far. Fix: cudaMallocManaged, which all devices share.");
    made.status = cudaErrorNotSupported;
    return made;
  }
  const int architecture = architecture_of_devices();
  const FatEntry* const entry = best_ptx(entries_, architecture);
  if (entry == nullptr) {
    say("The program has " + describe(entries_) + ", and the device runs PTX up to compute_" + std::to_string(architecture) +
        ". Fix: nvcc -gencode arch=compute_75,code=compute_75.");
    made.status = cudaErrorNoKernelImageForDevice;
    return made;
  }
  try {
    made.module = std::make_shared<const ptx::Module>(ptx_text(*entry));
    for (const ptx::Module::Memory& memory : made.module->memory()) sim::runtime().memory.adopt(device, memory.data, memory.bytes);
    if (counts_wanted()) made.counts = std::make_unique<ptx::Counts>();
  } catch (const ptx::Error& error) {
    say(error.what());
    made.status = cudaErrorInvalidPtx;
  }
  return made;
}

Image::OnDevice& Image::on(int device) {
  const auto found = devices_.find(device);
  return found != devices_.end() ? found->second : devices_.emplace(device, read(device)).first->second;
}

cudaError_t Image::load(const std::string& name, int device, Loaded* out) {
  const std::lock_guard lock(mutex_);
  OnDevice& here = on(device);
  if (here.status != cudaSuccess) return here.status;
  auto& kernel = here.kernels[name];
  if (kernel == nullptr) kernel = sim::PtxKernel::make(here.module, name, here.counts.get());
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  *out = {kernel, here.module->kernel(name)};
  return cudaSuccess;
}

cudaError_t Image::find(const Variable& variable, int device, std::byte** address) {
  const std::lock_guard lock(mutex_);
  const OnDevice& here = on(device);
  if (here.status != cudaSuccess) return here.status;
  *address = here.module->variable(variable.name).data;
  return *address != nullptr ? cudaSuccess : cudaErrorInvalidSymbol;
}

void Image::report_counts() const {
  for (const auto& [device, here] : devices_) {
    if (here.counts == nullptr) continue;
    for (const auto& [name, kernel] : here.kernels) {
      if (kernel != nullptr) nvidia::report_counts(device, *here.module, *here.module->kernel(name), name, *here.counts);
    }
  }
}

Image* Registry::add(const void* fat_binary) {
  auto made = std::make_unique<Image>(fat_binary);
  const std::lock_guard lock(mutex_);
  return images_.emplace_back(std::move(made)).get();
}

void Registry::add_kernel(Image* image, const void* host, const char* name) {
  const std::lock_guard lock(mutex_);
  Kernel* const kernel = kernels_.emplace_back(std::make_unique<Kernel>(Kernel{image, name})).get();
  kernel_of_[host] = kernel;
  kernel_of_[kernel] = kernel;
}

void Registry::add_variable(Image* image, const void* host, const char* name, std::size_t bytes, void** managed) {
  const std::lock_guard lock(mutex_);
  variables_[host] = Variable{image, name, bytes, managed};
  if (managed != nullptr) image->keep_to_one_device();
}

void Registry::remove(const Image* image) {
  const std::lock_guard lock(mutex_);
  std::erase_if(kernel_of_, [&](const auto& entry) { return entry.second->image == image; });
  std::erase_if(variables_, [&](const auto& entry) { return entry.second.image == image; });
}

void Registry::place_managed(const Image* image) {
  std::vector<Variable> found;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [host, variable] : variables_) {
      if (variable.image == image && variable.managed != nullptr) found.push_back(variable);
    }
  }
  for (const Variable& variable : found) {
    std::byte* address = nullptr;
    if (variable.image->find(variable, sim::current_device(), &address) == cudaSuccess) *variable.managed = address;
  }
}

Kernel* Registry::kernel(const void* host) {
  const std::lock_guard lock(mutex_);
  const auto found = kernel_of_.find(host);
  return found != kernel_of_.end() ? found->second : nullptr;
}

const Variable* Registry::variable(const void* host) {
  const std::lock_guard lock(mutex_);
  const auto found = variables_.find(host);
  return found != variables_.end() ? &found->second : nullptr;
}

Registry& registry() {
  // Tables that all modules share are made here, before the devices' workers, so they outlive kernels that still run when the process ends.
  static const ptx::Module first(".version 6.4\n.target sm_75\n.address_size 64\n.visible .entry first() { ret; }\n");
  static Registry all;
  return all;
}

}  // namespace lockstep::nvidia
