#include "engine/nvrtc/nvrtc_library.h"

#include <dlfcn.h>
#include <nvrtc.h>

#include <filesystem>

#include "engine/nvrtc/nvrtc_places.h"
#include "lockstep/error.h"

namespace lockstep {

struct NvrtcLibrary::Functions {
  struct Close {
    void operator()(void* library) const { dlclose(library); }
  };
  std::unique_ptr<void, Close> library;
  decltype(&nvrtcGetErrorString) error_string = nullptr;
  decltype(&nvrtcGetNumSupportedArchs) architecture_count = nullptr;
  decltype(&nvrtcGetSupportedArchs) architectures = nullptr;
  decltype(&nvrtcCreateProgram) create = nullptr;
  decltype(&nvrtcDestroyProgram) destroy = nullptr;
  decltype(&nvrtcAddNameExpression) add_name = nullptr;
  decltype(&nvrtcCompileProgram) compile = nullptr;
  decltype(&nvrtcGetLoweredName) lowered_name = nullptr;
  decltype(&nvrtcGetPTXSize) ptx_size = nullptr;
  decltype(&nvrtcGetPTX) ptx = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) log = nullptr;

  template <typename Function>
  void load(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library.get(), name));
    if (function == nullptr) throw Error(std::string("NVRTC has no function ") + name + ": it is older than CUDA 12.");
  }

  void check(nvrtcResult result, const char* call) const {
    if (result != NVRTC_SUCCESS) throw Error(std::string("NVRTC refused ") + call + " with " + error_string(result) + ".");
  }
};

namespace {

// RAII around a program of NVRTC's.
class OwnedProgram {
 public:
  OwnedProgram(decltype(&nvrtcDestroyProgram) destroy, nvrtcProgram program) : destroy_(destroy), program_(program) {}
  ~OwnedProgram() { destroy_(&program_); }
  OwnedProgram(const OwnedProgram&) = delete;
  OwnedProgram& operator=(const OwnedProgram&) = delete;
  nvrtcProgram get() const { return program_; }

 private:
  decltype(&nvrtcDestroyProgram) destroy_;
  nvrtcProgram program_;
};

std::string how_to_get_nvrtc() {
  const std::string asked = nvrtc_asked_for();
  if (!asked.empty()) {
    return "NVRTC, the compiler of kernels at run time, is not where LOCKSTEP_NVRTC says: '" + asked +
           "' is neither libnvrtc.so nor a folder with it.";
  }
  return "Kernels can't be compiled at run time: NVRTC (libnvrtc.so) is not installed. Fix: ./lockstep nvrtc, pip install "
         "nvidia-cuda-nvrtc, or a CUDA toolkit; or set LOCKSTEP_NVRTC to the folder that has it.";
}

}  // namespace

NvrtcLibrary::NvrtcLibrary(int runtime_version) {
  auto made = std::make_unique<Functions>();
  for (const std::string& place : nvrtc_places(runtime_version / 1000)) {
    made->library.reset(dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE));
    if (made->library != nullptr) break;
  }
  if (made->library == nullptr) throw Error(how_to_get_nvrtc());
  made->load(made->error_string, "nvrtcGetErrorString");
  made->load(made->architecture_count, "nvrtcGetNumSupportedArchs");
  made->load(made->architectures, "nvrtcGetSupportedArchs");
  made->load(made->create, "nvrtcCreateProgram");
  made->load(made->destroy, "nvrtcDestroyProgram");
  made->load(made->add_name, "nvrtcAddNameExpression");
  made->load(made->compile, "nvrtcCompileProgram");
  made->load(made->lowered_name, "nvrtcGetLoweredName");
  made->load(made->ptx_size, "nvrtcGetPTXSize");
  made->load(made->ptx, "nvrtcGetPTX");
  made->load(made->log_size, "nvrtcGetProgramLogSize");
  made->load(made->log, "nvrtcGetProgramLog");
  functions_ = std::move(made);
}

NvrtcLibrary::~NvrtcLibrary() = default;

NvrtcOutput NvrtcLibrary::compile(const NvrtcInput& input) const {
  const Functions& call = *functions_;
  nvrtcProgram made = nullptr;
  call.check(call.create(&made, input.source.c_str(), input.file.c_str(), 0, nullptr, nullptr), "nvrtcCreateProgram");
  const OwnedProgram program(call.destroy, made);
  for (const std::string& name : input.names) call.check(call.add_name(made, name.c_str()), "nvrtcAddNameExpression");
  std::vector<const char*> options;
  for (const std::string& option : input.options) options.push_back(option.c_str());
  const nvrtcResult result = call.compile(made, static_cast<int>(options.size()), options.data());

  NvrtcOutput output;
  std::size_t bytes = 0;
  if (call.log_size(made, &bytes) == NVRTC_SUCCESS && bytes > 1) {
    output.log.resize(bytes);
    call.check(call.log(made, output.log.data()), "nvrtcGetProgramLog");
    output.log.resize(bytes - 1);  // without the zero at its end
  }
  if (result == NVRTC_ERROR_COMPILATION || result == NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID) return output;
  if (result != NVRTC_SUCCESS) throw Error(std::string("NVRTC: ") + call.error_string(result) + ". " + output.log);
  call.check(call.ptx_size(made, &bytes), "nvrtcGetPTXSize");
  output.ptx.resize(bytes);
  call.check(call.ptx(made, output.ptx.data()), "nvrtcGetPTX");
  output.ptx.resize(bytes - 1);
  for (const std::string& name : input.names) {
    const char* symbol = nullptr;
    if (call.lowered_name(made, name.c_str(), &symbol) != NVRTC_SUCCESS) return output;
    output.symbols[name] = symbol;
  }
  output.compiled = true;
  return output;
}

int NvrtcLibrary::best_architecture(int device) const {
  int count = 0, best = 0;
  functions_->check(functions_->architecture_count(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> all(static_cast<std::size_t>(count));
  functions_->check(functions_->architectures(all.data()), "nvrtcGetSupportedArchs");
  for (const int architecture : all) {
    if (architecture <= device && architecture > best) best = architecture;
  }
  if (best == 0) {
    throw Error("This NVRTC compiles for compute capability " + std::to_string(all.empty() ? 0 : all.front()) +
                " and newer, and the GPU has " + std::to_string(device) + ". Fix: an older NVRTC (LOCKSTEP_NVRTC).");
  }
  return best;
}

std::vector<std::string> NvrtcLibrary::include_folders() const {
  Dl_info info{};
  std::vector<std::string> folders;
  if (dladdr(reinterpret_cast<void*>(functions_->compile), &info) == 0 || info.dli_fname == nullptr) return folders;
  std::error_code none;
  const auto library = std::filesystem::canonical(info.dli_fname, none).parent_path();  // toolkit/targets/x86_64-linux/lib, or cu13/lib
  for (const char* relative : {"../include", "../../include", "../../cuda_runtime/include"}) {
    const auto folder = std::filesystem::weakly_canonical(library / relative, none);
    if (std::filesystem::exists(folder / "cuda_runtime.h", none)) folders.push_back(folder);
  }
  return folders;
}

}  // namespace lockstep
