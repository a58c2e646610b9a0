// PTX: read, decoded and, where that works, run for a while on no memory at all.
#include "simulator/gpu/ptx/error.h"
#include "simulator/gpu/ptx/machine.h"
#include "tests/fuzz/harness.h"

namespace {

// The machine does not depend on the engine, so its Error is another type.
template <typename Function>
int run_or_refuse(Function function) {
  return lockstep::fuzz::read_or_refuse([&] {
    try {
      function();
    } catch (const lockstep::ptx::Error& error) {
      throw lockstep::Error(error.what());
    }
  });
}

struct NoMemory : lockstep::ptx::GlobalMemory {
  std::optional<lockstep::ptx::Region> region(std::uint64_t /*address*/, std::string& why) const override {
    why = "which is in no allocation";
    return std::nullopt;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace lockstep;
  return run_or_refuse([&] {
    const ptx::Module module(std::string_view(reinterpret_cast<const char*>(bytes), count));
    const NoMemory nothing;
    for (const std::string& name : module.kernels()) {
      run_or_refuse([&] {
        const ptx::Code& kernel = *module.kernel(name);
        const std::vector<std::byte> parameters(kernel.parameter_bytes);
        std::string printed;
        ptx::Launch launch;
        launch.block = {33, 1, 1};
        launch.parameters = parameters;
        launch.memory = &nothing;
        launch.budget = 2000;
        launch.printed = &printed;
        ptx::launch(module, kernel, launch);
      });
    }
  });
}
