// NVRTC, NVIDIA's run-time compiler: where it is, and what it makes of a source.
//
// It is loaded when a program first compiles a kernel; nothing else needs it. Several may be installed: the one whose major version is the
// CUDA runtime's comes first, since the driver may not know the PTX of a newer one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lockstep {

struct NvrtcInput {
  std::string source, file;        // `file`: what messages call it
  std::vector<std::string> names;  // of kernels, as C++ writes them
  std::vector<std::string> options;
};

struct NvrtcOutput {
  bool compiled = false;
  std::string log;  // errors and warnings, with lines
  std::string ptx;
  std::map<std::string, std::string> symbols;  // of the names
};

class NvrtcLibrary {
 public:
  explicit NvrtcLibrary(int runtime_version);  // as CUDART_VERSION has it. Throws an Error that says what to install
  ~NvrtcLibrary();
  NvrtcLibrary(const NvrtcLibrary&) = delete;
  NvrtcLibrary& operator=(const NvrtcLibrary&) = delete;

  NvrtcOutput compile(const NvrtcInput& input) const;
  int best_architecture(int device) const;           // 75 for compute capability 7.5: the highest it knows that the device runs
  std::vector<std::string> include_folders() const;  // of CUDA's headers beside it, if they are installed

 private:
  struct Functions;
  std::unique_ptr<const Functions> functions_;
};

}  // namespace lockstep
