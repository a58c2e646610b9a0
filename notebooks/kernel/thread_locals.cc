#include "notebooks/kernel/thread_locals.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#if LLVM_VERSION_MAJOR >= 21
#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#endif

#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>

// The compiler's runtime, for variables of cells.
extern "C" void* __emutls_get_address(void* record);

namespace lockstep::kernel {
namespace {

constexpr const char* kPrefix = "__emutls_v.";
const char kOfLibrary = 0;

// Begins as the compiler's record does: size, alignment, place, first value. No variable of a cell has this address as its place.
struct LibraryRecord {
  std::size_t size = 0, alignment = 0;
  const void* place = &kOfLibrary;
  const void* value = nullptr;
  std::string name;
};

void* address_of(void* record) {
  const auto* library = static_cast<const LibraryRecord*>(record);
  // dlsym gives the variable of the thread that asks.
  return library->place == &kOfLibrary ? dlsym(RTLD_DEFAULT, library->name.c_str()) : __emutls_get_address(record);
}

class LibraryVariables : public llvm::orc::DefinitionGenerator {
 public:
  llvm::Error tryToGenerate(llvm::orc::LookupState&, llvm::orc::LookupKind, llvm::orc::JITDylib& library, llvm::orc::JITDylibLookupFlags,
                            const llvm::orc::SymbolLookupSet& wanted) override {
    llvm::orc::SymbolMap found;
    for (const auto& [symbol, flags] : wanted) {
      const std::string name = (*symbol).str();
      if (name.rfind(kPrefix, 0) != 0) continue;
      const std::string variable = name.substr(std::string(kPrefix).size());
      if (dlsym(RTLD_DEFAULT, variable.c_str()) == nullptr) continue;
      std::unique_ptr<LibraryRecord>& record = records_[variable];
      if (record == nullptr) record = std::make_unique<LibraryRecord>();
      record->name = variable;
      found[symbol] = {llvm::orc::ExecutorAddr::fromPtr(record.get()), llvm::JITSymbolFlags::Exported};
    }
    return found.empty() ? llvm::Error::success() : library.define(llvm::orc::absoluteSymbols(std::move(found)));
  }

 private:
  std::map<std::string, std::unique_ptr<LibraryRecord>> records_;
};

}  // namespace

void add_thread_locals(llvm::orc::LLJIT& machine) {
  llvm::orc::SymbolMap symbols;
  symbols[machine.mangleAndIntern("__emutls_get_address")] = {llvm::orc::ExecutorAddr::fromPtr(&address_of),
                                                              llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  llvm::orc::JITDylib& library = machine.getMainJITDylib();
  if (llvm::Error error = library.define(llvm::orc::absoluteSymbols(std::move(symbols)))) {
    throw std::runtime_error("thread-local variables could not be set up: " + llvm::toString(std::move(error)));
  }
  library.addGenerator(std::make_unique<LibraryVariables>());
}

std::string source_name(const std::string& symbol) {
  const std::string name = symbol.rfind(kPrefix, 0) == 0 ? symbol.substr(std::string(kPrefix).size()) : symbol;
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : name;
}

}  // namespace lockstep::kernel
