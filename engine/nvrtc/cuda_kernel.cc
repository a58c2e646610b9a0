// CudaKernel and CudaProgram: a launch copies arrays to the GPU, runs the kernel, and copies back what it may have written.
#include "lockstep/cuda_kernel.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <backend/findings.h>
#include "engine/device/check.h"
#include "engine/device/stream.h"
#include "engine/nvrtc/compiled_source.h"
#include "engine/nvrtc/kernel_arguments.h"
#include "lockstep/error.h"

namespace lockstep {

struct CudaProgram::Impl {
  std::shared_ptr<const CompiledSource> source;
};

struct CudaKernel::Impl {
  std::shared_ptr<const CompiledSource> source;
  std::string name;
  KernelSignature signature;
};

namespace {

// Elements of an array on the GPU, for one launch.
class DeviceCopy {
 public:
  DeviceCopy(const Array& array, const Stream& stream) : array_(array) {
    if (array_.bytes() == 0) return;
    LOCKSTEP_CHECK(cudaMalloc(&data_, array_.bytes()));
    LOCKSTEP_CHECK(cudaMemcpyAsync(data_, std::as_const(array_).raw(), array_.bytes(), cudaMemcpyHostToDevice, stream.get()));
  }
  ~DeviceCopy() { static_cast<void>(cudaFree(data_)); }
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;

  bool is_of(const Array& array) const { return array.raw() != nullptr && array.raw() == array_.raw(); }
  void* const& data() const { return data_; }
  void will_be_written() { written_ = true; }
  void bring_back(const Stream& stream) {
    if (written_ && data_ != nullptr)
      LOCKSTEP_CHECK(cudaMemcpyAsync(array_.raw(), data_, array_.bytes(), cudaMemcpyDeviceToHost, stream.get()));
  }

 private:
  Array array_;
  void* data_ = nullptr;
  bool written_ = false;
};

// Two arguments that are the same array are the same memory on the GPU too.
DeviceCopy& copy_of(const Array& array, std::vector<std::unique_ptr<DeviceCopy>>& copies, const Stream& stream) {
  for (const auto& copy : copies) {
    if (copy->is_of(array)) return *copy;
  }
  return *copies.emplace_back(std::make_unique<DeviceCopy>(array, stream));
}

DriverLaunch launch_of(const LaunchShape& shape, const Stream& stream, int device, const std::string& kernel) {
  cudaDeviceProp properties;
  LOCKSTEP_CHECK(cudaGetDeviceProperties(&properties, device));
  const std::int64_t grid[] = {shape.grid.x, shape.grid.y, shape.grid.z}, block[] = {shape.block.x, shape.block.y, shape.block.z};
  DriverLaunch launch{};
  launch.stream = stream.get();
  launch.shared_bytes = static_cast<unsigned>(std::min<std::size_t>(shape.shared_bytes, ~0U));
  const auto outside = [&](const char* what, std::int64_t value, int most) {
    return Error("Kernel '" + kernel + "': " + what + " of " + std::to_string(value) + " was asked for; it must be 1 to " +
                 std::to_string(most) + ".");
  };
  for (int axis = 0; axis < 3; ++axis) {
    if (grid[axis] < 1 || grid[axis] > properties.maxGridSize[axis]) throw outside("a grid side", grid[axis], properties.maxGridSize[axis]);
    if (block[axis] < 1 || block[axis] > properties.maxThreadsDim[axis])
      throw outside("a block side", block[axis], properties.maxThreadsDim[axis]);
    launch.grid[axis] = static_cast<unsigned>(grid[axis]);
    launch.block[axis] = static_cast<unsigned>(block[axis]);
  }
  if (const std::int64_t threads = block[0] * block[1] * block[2]; threads > properties.maxThreadsPerBlock)
    throw outside("a block", threads, properties.maxThreadsPerBlock);
  return launch;
}

WarpCounts public_counts(const CountedLine& line) {
  return {line.instructions,   line.lanes,  line.branches,      line.divergent, line.sectors,
          line.fewest_sectors, line.passes, line.fewest_passes, line.atomics,   line.turns};
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

LaunchReport report_of(const CompiledSource& source, const KernelSignature& kernel, CUfunction function) {
  LaunchReport report;
  report.kernel = kernel.readable;
  for (const CountedLine& line : last_counts(function)) {
    report.counted = true;
    if (line.line == 0) {
      report.total = public_counts(line);
    } else if (last_part(line.file) == last_part(source.file())) {
      report.lines.push_back({line.line, public_counts(line)});
    }
  }
  return report;
}

// What went wrong on the device, in words where they are known.
[[noreturn]] void fail_launch(const KernelSignature& kernel, int device, const std::string& status) {
  static_cast<void>(cudaGetLastError());
  const std::string fault = fault_of_device(device);
  throw Error("Kernel '" + kernel.readable + "' failed with " + status + "." +
              (fault.empty() ? "" : " " + fault + " This GPU refuses all further work until the program is started again."));
}

}  // namespace

CudaProgram::CudaProgram(const std::string& source, const std::vector<std::string>& names, const CudaOptions& options)
    : impl_(std::make_shared<const Impl>(Impl{std::make_shared<const CompiledSource>(source, names, options)})) {}

CudaKernel CudaProgram::kernel(const std::string& name) const {
  return CudaKernel(std::make_shared<const CudaKernel::Impl>(CudaKernel::Impl{impl_->source, name, impl_->source->kernel(name)}));
}

CudaKernel::CudaKernel(const std::string& source, const std::string& name, const CudaOptions& options)
    : CudaKernel(CudaProgram(source, {name}, options).kernel(name)) {}

const std::string& CudaKernel::declaration() const& { return impl_->signature.readable; }
const std::string& CudaKernel::name() const& { return impl_->name; }
const std::string& CudaKernel::ptx() const& { return impl_->source->ptx(); }

LaunchReport CudaKernel::launch_with(const LaunchShape& shape, const std::vector<CudaArgument>& arguments) const {
  const KernelSignature& kernel = impl_->signature;
  std::vector<BoundArgument> bound = bind_arguments(kernel, arguments);
  int device = 0;
  LOCKSTEP_CHECK(cudaGetDevice(&device));
  const Stream stream(device);
  const DriverLaunch launch = launch_of(shape, stream, device, kernel.readable);
  CompiledSource::OnDevice& here = impl_->source->on(device);
  const std::lock_guard lock(here.launching);
  CUfunction function = here.module->function(kernel.symbol);
  count_launches(function);

  std::vector<std::unique_ptr<DeviceCopy>> copies;
  std::vector<void*> addresses;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind() == CudaArgument::Kind::array) {
      DeviceCopy& copy = copy_of(arguments[i].array(), copies, stream);
      if (arguments[i].may_be_written() && kernel.parameters[i].is_written()) copy.will_be_written();
      std::memcpy(bound[i].bytes, &copy.data(), sizeof(void*));
    }
    addresses.push_back(bound[i].bytes);
  }
  if (const CUresult status = driver_launch(function, launch, addresses.data())) fail_launch(kernel, device, driver_status_text(status));
  if (const cudaError_t status = cudaStreamSynchronize(stream.get())) fail_launch(kernel, device, cudaGetErrorName(status));
  for (const auto& copy : copies) copy->bring_back(stream);
  stream.synchronize();
  return report_of(*impl_->source, kernel, function);
}

}  // namespace lockstep
