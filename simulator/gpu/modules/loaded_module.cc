// What liblockstep_ptx_modules.so shows: a module of PTX that a program loads while it runs (runtime/device_kernel.h).
#include "simulator/gpu/modules/ptx_kernel.h"
#include "simulator/gpu/ptx/counts.h"
#include "simulator/gpu/ptx/error.h"

namespace lockstep::sim {

namespace {

// The counts come before the kernel that writes them.
struct OwnCounts {
  std::unique_ptr<ptx::Counts> own;
};

class CountedKernel : OwnCounts, public PtxKernel {
 public:
  CountedKernel(const std::shared_ptr<const ptx::Module>& module, const ptx::Code& code, std::unique_ptr<ptx::Counts> counts)
      : OwnCounts{std::move(counts)}, PtxKernel(module, code, own.get()) {}

  std::vector<CountedLine> counted() const override {
    if (own == nullptr) return {};
    std::vector<CountedLine> lines{line_of("", 0, own->of(code()))};
    for (const ptx::Counts::SourceLine& line : own->by_line(module(), code())) lines.push_back(line_of(line.file, line.line, line.count));
    return lines;
  }

 private:
  static CountedLine line_of(const std::string& file, int line, const ptx::Count& count) {
    return {file,          line,         count.instructions, count.lanes,         count.branches, count.divergent,
            count.sectors, count.fewest, count.passes,       count.fewest_passes, count.atomics,  count.turns};
  }
};

class LoadedModule : public DeviceModule {
 public:
  explicit LoadedModule(std::string_view text) : module_(std::make_shared<const ptx::Module>(text)) {}

  std::vector<Bytes> memory() const override {
    std::vector<Bytes> all;
    for (const ptx::Module::Memory& memory : module_->memory()) all.push_back({memory.data, memory.bytes});
    return all;
  }
  bool has(const std::string& kernel) const override { return module_->kernel(kernel) != nullptr; }
  std::vector<Parameter> parameters(const std::string& kernel) const override {
    std::vector<Parameter> all;
    for (const ptx::Placed& placed : module_->kernel(kernel)->parameters) all.push_back({placed.offset, placed.bytes});
    return all;
  }
  std::size_t static_shared_bytes(const std::string& kernel) const override { return module_->kernel(kernel)->static_shared_bytes; }
  std::shared_ptr<const DeviceKernel> kernel(const std::string& name, bool counted) const override {
    return std::make_shared<const CountedKernel>(module_, *module_->kernel(name), counted ? std::make_unique<ptx::Counts>() : nullptr);
  }

 private:
  std::shared_ptr<const ptx::Module> module_;
};

}  // namespace

}  // namespace lockstep::sim

extern "C" void lockstep_load_device_module(std::string_view text, std::shared_ptr<const lockstep::sim::DeviceModule>* module,
                                            std::string* problem) {
  try {
    *module = std::make_shared<const lockstep::sim::LoadedModule>(text);
  } catch (const lockstep::ptx::Error& error) {
    *problem = error.what();
  }
}
