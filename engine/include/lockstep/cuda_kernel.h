// Kernels of one's own, written in CUDA C++ and compiled while the program runs: by NVRTC, NVIDIA's run-time compiler, which needs no GPU.
//
//   const CudaKernel add(R"(
//     __global__ void add(const float* x, const float* y, float* sum, int n) {
//       const int i = blockIdx.x * blockDim.x + threadIdx.x;
//       if (i < n) sum[i] = x[i] + y[i];
//     }
//   )", "add");
//   add.launch({(n + 255) / 256, 256}, x, y, sum, n);  // x, y, sum: Arrays of n floats
//
// The same program runs on real GPUs (the kernel goes through NVIDIA's driver) and on the virtual one, warp by warp, where every access is
// checked and warps are counted. NVRTC is found where LOCKSTEP_NVRTC says (the library or its folder), where the loader looks, in a CUDA
// toolkit (CUDA_HOME, CUDA_PATH, /usr/local/cuda) and in Python's wheel nvidia-cuda-nvrtc; `./lockstep nvrtc` installs the wheel.
// Not part of lockstep.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "lockstep/array.h"

namespace lockstep {

// How many blocks, or threads of a block. Of any integers, in braces too: {blocks, 256}.
struct CudaDim {
  std::int64_t x = 1, y = 1, z = 1;
  template <typename X, typename Y = int, typename Z = int,
            typename = std::enable_if_t<std::is_integral<X>::value && std::is_integral<Y>::value && std::is_integral<Z>::value>>
  CudaDim(X along_x, Y along_y = 1, Z along_z = 1)  // NOLINT(google-explicit-constructor): a number is a dimension
      : x(static_cast<std::int64_t>(along_x)), y(static_cast<std::int64_t>(along_y)), z(static_cast<std::int64_t>(along_z)) {}
};

struct LaunchShape {
  CudaDim grid, block;
  std::size_t shared_bytes = 0;  // of dynamic shared memory
};

// What warps did. A warp is 32 threads that execute together; an instruction of a warp counts once, however many of them take part.
struct WarpCounts {
  std::uint64_t instructions = 0;                 // of warps
  std::uint64_t lanes = 0;                        // threads that took part in them: at most 32 each
  std::uint64_t branches = 0, divergent = 0;      // branches, and those at which threads of a warp part
  std::uint64_t sectors = 0, fewest_sectors = 0;  // of 32 bytes of global memory, and how many would do
  std::uint64_t passes = 0, fewest_passes = 0;    // through shared memory; bank conflicts make more than the fewest
  std::uint64_t atomics = 0, turns = 0;           // atomics, and the turns that threads at one address take
};

// What a launch did. On a real GPU nothing is counted; a profiler counts there.
struct LaunchReport {
  struct Line {
    int line = 0;  // of the source
    WarpCounts counts;
  };
  std::string kernel;
  bool counted = false;
  WarpCounts total;
  std::vector<Line> lines;  // those with instructions, ascending

  std::string text() const;  // a table
  std::string html() const;  // the same for a notebook, where a launch as a cell's last line shows it
};

struct CudaOptions {
  std::string file = "kernel.cu";     // what messages call the source
  std::vector<std::string> compiler;  // further options of NVRTC, such as "--use_fast_math" or "-DTILE=16"
};

// An argument of a launch. Made from what `launch` is given:
//   Array        a pointer to its elements. They are copied to the GPU, and back after the launch where the kernel may write them.
//   const Array  the same, and never copied back.
//   a number     converted as in a call of a C++ function; refused where the parameter is an integer that can't hold its value.
class CudaArgument {
 public:
  CudaArgument(Array& array) : CudaArgument(array, true) {}         // NOLINT(google-explicit-constructor)
  CudaArgument(const Array& array) : CudaArgument(array, false) {}  // NOLINT(google-explicit-constructor)
  template <typename Number, typename = std::enable_if_t<std::is_arithmetic<Number>::value>>
  CudaArgument(Number number)  // NOLINT(google-explicit-constructor)
      : kind_(std::is_floating_point<Number>::value ? Kind::real
              : std::is_signed<Number>::value       ? Kind::integer
                                                    : Kind::natural),
        integer_(std::is_floating_point<Number>::value ? 0 : static_cast<std::int64_t>(number)),
        real_(static_cast<double>(number)) {}

  enum class Kind { array, integer, natural, real };  // natural: an unsigned integer
  Kind kind() const { return kind_; }
  const Array& array() const& { return array_; }
  Array array() && { return std::move(array_); }
  bool may_be_written() const { return written_; }
  std::int64_t integer() const { return integer_; }  // of a natural one: its bits
  double real() const { return real_; }

 private:
  CudaArgument(const Array& array, bool written) : kind_(Kind::array), array_(array), written_(written) {}

  Kind kind_;
  Array array_;  // shares its elements
  bool written_ = false;
  std::int64_t integer_ = 0;
  double real_ = 0;
};

// Handles; copies are the same kernel. Kernels may be launched from several threads.
class CudaKernel {
 public:
  // `name` is what a launch in C++ would write: "add", "image::blur" or "scale<float>". Throws an Error: with the compiler's messages and
  // lines, with the kernels that there are where none has that name, or with what to install where there is no NVRTC.
  CudaKernel(const std::string& source, const std::string& name, const CudaOptions& options = {});

  // Launches and waits. The GPU is the thread's: inside Strategy::run that of the replica, else the first. Arguments are checked against
  // the kernel's parameters before anything runs. After an illegal access the GPU refuses all further work of this process, as CUDA does.
  template <typename... Arguments>
  LaunchReport launch(const LaunchShape& shape, Arguments&&... arguments) const {
    return launch_with(shape, std::vector<CudaArgument>{CudaArgument(arguments)...});
  }
  LaunchReport launch_with(const LaunchShape& shape, const std::vector<CudaArgument>& arguments) const;

  const std::string& declaration() const&;  // "add(float const*, float const*, float*, int)"
  std::string declaration() && { return static_cast<const CudaKernel&>(*this).declaration(); }
  const std::string& name() const&;
  std::string name() && { return static_cast<const CudaKernel&>(*this).name(); }
  const std::string& ptx() const&;  // what NVRTC made of the source
  std::string ptx() && { return static_cast<const CudaKernel&>(*this).ptx(); }

 private:
  friend class CudaProgram;
  struct Impl;
  explicit CudaKernel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// Several kernels of one source, compiled together.
class CudaProgram {
 public:
  CudaProgram(const std::string& source, const std::vector<std::string>& names, const CudaOptions& options = {});
  CudaKernel kernel(const std::string& name) const;  // one of the names

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

#if defined(LOCKSTEP_NOTEBOOK_KERNEL)
inline xcpp::mime_bundle mime_bundle_repr(const LaunchReport& report) {
  return xcpp::mime_bundle().add("text/html", report.html()).add("text/plain", report.text());
}
#endif

}  // namespace lockstep
