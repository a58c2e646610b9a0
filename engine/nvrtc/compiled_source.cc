#include "engine/nvrtc/compiled_source.h"

#include <cuda_runtime.h>

#include <algorithm>

#include "engine/device/check.h"
#include "engine/nvrtc/nvrtc_library.h"
#include "lockstep/error.h"

namespace lockstep {

namespace {

// Of all GPUs, so that one compilation is enough.
int lowest_capability() {
  int count = 0, lowest = 0;
  LOCKSTEP_CHECK(cudaGetDeviceCount(&count));
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties;
    LOCKSTEP_CHECK(cudaGetDeviceProperties(&properties, device));
    const int capability = 10 * properties.major + properties.minor;
    if (lowest == 0 || capability < lowest) lowest = capability;
  }
  return lowest;
}

NvrtcInput input_for(const NvrtcLibrary& nvrtc, const std::string& source, const CudaOptions& options) {
  NvrtcInput input{source, options.file, {}, {}};
  input.options = {"--gpu-architecture=compute_" + std::to_string(nvrtc.best_architecture(lowest_capability())), "-lineinfo",
                   "--std=c++17"};
  for (const std::string& folder : nvrtc.include_folders()) input.options.push_back("--include-path=" + folder);
  input.options.insert(input.options.end(), options.compiler.begin(), options.compiler.end());
  return input;
}

std::string listed(const std::vector<KernelSignature>& kernels) {
  std::string names;
  for (const KernelSignature& kernel : kernels) names += (names.empty() ? "'" : ", '") + kernel.readable + "'";
  return names;
}

}  // namespace

CompiledSource::CompiledSource(const std::string& source, const std::vector<std::string>& names, const CudaOptions& options)
    : file_(options.file) {
  const NvrtcLibrary nvrtc(CUDART_VERSION);
  NvrtcInput input = input_for(nvrtc, source, options);
  input.names = names;
  const NvrtcOutput output = nvrtc.compile(input);
  if (!output.compiled) {
    // Names are part of what is compiled: without them it shows whether the source or a name is wrong.
    input.names.clear();
    const NvrtcOutput source_alone = nvrtc.compile(input);
    if (!source_alone.compiled) throw Error(file_ + " does not compile:\n" + source_alone.log);
    const std::vector<KernelSignature> kernels = kernel_signatures(source_alone.ptx);
    throw Error(file_ + " has no kernel " + (names.size() == 1 ? "'" + names.front() + "'" : "of one of the names asked for") +
                (kernels.empty() ? "; it has none that is __global__ and no template." : "; it has " + listed(kernels) + ".") + "\n" +
                output.log);
  }
  ptx_ = output.ptx;
  const std::vector<KernelSignature> kernels = kernel_signatures(ptx_);
  for (const std::string& name : names) {
    const auto found =
        std::find_if(kernels.begin(), kernels.end(), [&](const KernelSignature& one) { return one.symbol == output.symbols.at(name); });
    if (found == kernels.end())
      throw Error(file_ + ": '" + name + "' is not a kernel (__global__); the kernels are " + listed(kernels) + ".");
    kernels_[name] = *found;
  }
}

const KernelSignature& CompiledSource::kernel(const std::string& name) const {
  const auto found = kernels_.find(name);
  if (found == kernels_.end()) throw Error(file_ + " was not compiled for a kernel '" + name + "'.");
  return found->second;
}

CompiledSource::OnDevice& CompiledSource::on(int device) const {
  const std::lock_guard lock(mutex_);
  OnDevice& here = devices_[device];
  if (here.module == nullptr) here.module = std::make_unique<const DriverModule>(device, ptx_);
  return here;
}

}  // namespace lockstep
