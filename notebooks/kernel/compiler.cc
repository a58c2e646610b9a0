#include "compiler.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <llvm/ExecutionEngine/JITLink/EHFrameSupport.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/MapperJITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/MemoryMapper.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/TargetSelect.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "cell.h"
#include "clang/AST/ASTContext.h"
#include "clang/Basic/Diagnostic.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/TextDiagnosticPrinter.h"
#include "clang/Interpreter/Interpreter.h"
#include "clang/Lex/HeaderSearch.h"
#include "clang/Lex/Pragma.h"
#include "clang/Lex/Preprocessor.h"
#include "clang/Sema/Sema.h"

// Read by liblockstep, which looks it up by this name (engine/train/interrupt.cc).
extern "C" {
__attribute__((visibility("default"))) volatile std::sig_atomic_t lockstep_interrupt_flag = 0;
}

namespace lockstep::kernel {
namespace {

constexpr const char* kPrefix = "cell_of_notebook_";
int line_reached = 0;

struct Interrupted {};

std::string message_of(llvm::Error error) { return llvm::toString(std::move(error)); }

// `#pragma xcpp_shadow` stands behind every piece that declares.
class ShadowPragma : public clang::PragmaHandler {
 public:
  ShadowPragma(Shadowing& shadowing, clang::CompilerInstance& instance)
      : PragmaHandler("xcpp_shadow"), shadowing_(shadowing), instance_(instance) {}
  void HandlePragma(clang::Preprocessor&, clang::PragmaIntroducer, clang::Token&) override { shadowing_.declared(instance_.getSema()); }

 private:
  Shadowing& shadowing_;
  clang::CompilerInstance& instance_;
};

std::string demangled(const char* name) {
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  std::string type = status == 0 ? text.get() : name;
  for (std::size_t at = type.find(kPrefix); at != std::string::npos; at = type.find(kPrefix)) {
    const std::size_t end = type.find("::", at);
    type.erase(at, end == std::string::npos ? end : end + 2 - at);
  }
  return type;
}

// clang's interpreter with a linker of our own: machine code of all cells lies in one stretch of addresses. Elsewhere cells could end up
// more than 2 GiB apart, for the virtual GPU takes much memory, and code that is so far away can't be reached.
class NotebookInterpreter : public clang::Interpreter {
 public:
  NotebookInterpreter(std::unique_ptr<clang::CompilerInstance> instance, llvm::Error& error)
      : Interpreter(std::move(instance), error, make_builder()) {}

 private:
  static constexpr std::size_t kStretch = std::size_t{1} << 30;

  static std::unique_ptr<llvm::orc::LLJITBuilder> make_builder() {
    auto machine = llvm::orc::JITTargetMachineBuilder::detectHost();
    if (!machine) throw std::runtime_error("this machine's processor is not known to LLVM: " + message_of(machine.takeError()));
    machine->setRelocationModel(llvm::Reloc::PIC_);
    machine->setCodeModel(llvm::CodeModel::Small);
    machine->setCodeGenOptLevel(llvm::CodeGenOptLevel::Less);
    auto builder = std::make_unique<llvm::orc::LLJITBuilder>();
    builder->setJITTargetMachineBuilder(std::move(*machine));
    builder->setObjectLinkingLayerCreator(
        [](llvm::orc::ExecutionSession& session, const llvm::Triple&) -> llvm::Expected<std::unique_ptr<llvm::orc::ObjectLayer>> {
          auto memory = llvm::orc::MapperJITLinkMemoryManager::CreateWithMapper<llvm::orc::InProcessMemoryMapper>(kStretch);
          if (!memory) return memory.takeError();
          auto layer = std::make_unique<llvm::orc::ObjectLinkingLayer>(session, std::move(*memory));
          layer->addPlugin(std::make_unique<llvm::orc::EHFrameRegistrationPlugin>(
              session, std::make_unique<llvm::jitlink::InProcessEHFrameRegistrar>()));
          return layer;
        });
    return builder;
  }
};

// Without the colours.
std::string plain(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i < text.size() && text[i] != 'm') ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string first_error(const std::string& text) {
  std::istringstream lines(plain(text));
  std::string line, first;
  while (std::getline(lines, line)) {
    if (line.find("error: ") != std::string::npos) return line;
    if (first.empty()) first = line;
  }
  return first;
}

}  // namespace

void clear_interrupt() { lockstep_interrupt_flag = 0; }
bool interrupted() { return lockstep_interrupt_flag != 0; }
void set_interrupt() { lockstep_interrupt_flag = 1; }
int current_line() { return line_reached; }

struct Compiler::Diagnostics {
  std::string text;
  llvm::raw_string_ostream stream{text};
  // Without clang's lines about how it came to be in the cell.
  std::string take() {
    stream.flush();
    std::istringstream lines(std::exchange(text, {}));
    std::string line, out;
    while (std::getline(lines, line)) {
      if (line.find("In file included from <<< inputs >>>") == std::string::npos) out += line + "\n";
    }
    return out;
  }
};

Compiler::Compiler(Settings settings) : settings_(std::move(settings)), diagnostics_(std::make_unique<Diagnostics>()), shadowing_(kPrefix) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  arguments_ = {"-std=c++17", "-O1", "-fparse-all-comments", "-ferror-limit=5", "-Wno-unused-value"};
  if (!settings_.resource_folder.empty()) arguments_.insert(arguments_.end(), {"-resource-dir", settings_.resource_folder});
  for (const std::string& path : settings_.include_paths) arguments_.insert(arguments_.end(), {"-I", path});
  std::vector<const char*> words;
  for (const std::string& argument : arguments_) words.push_back(argument.c_str());
  clang::IncrementalCompilerBuilder builder;
  builder.SetCompilerArgs(words);
  auto instance = builder.CreateCpp();
  if (!instance) throw std::runtime_error("clang's interpreter could not be made: " + message_of(instance.takeError()));
  diagnostics_->stream.enable_colors(true);
  auto* options = &(*instance)->getDiagnosticOpts();
  options->ShowColors = true;
  (*instance)->getDiagnostics().setClient(new clang::TextDiagnosticPrinter(diagnostics_->stream, options), true);
  llvm::Error error = llvm::Error::success();
  interpreter_ = std::make_unique<NotebookInterpreter>(std::move(*instance), error);
  if (error) throw std::runtime_error("clang's interpreter could not be made: " + message_of(std::move(error)));
  clang::CompilerInstance& made = *interpreter_->getCompilerInstance();
  made.getPreprocessor().AddPragmaHandler(new ShadowPragma(shadowing_, made));  // the preprocessor owns it
  const Outcome outcome = compile_and_run("#include <xcpp/kernel.hpp>\n");
  if (outcome.status != Outcome::Status::ok) throw std::runtime_error("the kernel's own header does not compile: " + plain(outcome.text));
}

Compiler::~Compiler() {
  // Destructors of a notebook's variables would run in any order, on GPUs that are gone: the process ends without them.
  static_cast<void>(interpreter_.release());
}

void Compiler::apply_settings(std::string& code) {
  for (const Setting& setting : take_settings(code)) {
    if (setting.word == "load") {
      load(setting.argument, setting.line);
    } else if (setting.word == "add_library_path") {
      settings_.library_paths.insert(settings_.library_paths.begin(), setting.argument);
    } else if (setting.word == "add_include_path") {
      clang::CompilerInstance& instance = *interpreter_->getCompilerInstance();
      if (auto folder = instance.getFileManager().getOptionalDirectoryRef(setting.argument)) {
        instance.getPreprocessor().getHeaderSearchInfo().AddSearchPath(
            clang::DirectoryLookup(*folder, clang::SrcMgr::C_User, /*isFramework=*/false), /*isAngled=*/true);
      } else {
        throw std::runtime_error("line " + std::to_string(setting.line) + ": there is no folder " + setting.argument);
      }
    } else {
      throw std::runtime_error("line " + std::to_string(setting.line) + ": #pragma cling " + setting.word +
                               " is not known here; load, add_include_path and add_library_path are");
    }
  }
}

void Compiler::load(const std::string& name, int line) {
  std::vector<std::string> tries;
  for (const std::string& file : {name, "lib" + name + ".so", name + ".so"}) {
    for (const std::string& folder : settings_.library_paths) {
      const std::filesystem::path path = std::filesystem::path(folder) / file;
      if (std::filesystem::is_regular_file(path)) tries.push_back(path.string());
    }
  }
  tries.push_back("lib" + name + ".so");
  tries.push_back(name);
  std::string reason;
  for (const std::string& path : tries) {
    if (dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) return;
    const char* error = dlerror();
    if (reason.empty() && error != nullptr) reason = error;
  }
  throw std::runtime_error("line " + std::to_string(line) + ": the library " + name + " can't be loaded: " + reason);
}

Outcome Compiler::run(const std::string& cell, int number) {
  std::string code = cell;
  line_reached = 0;
  Outcome outcome;
  try {
    apply_settings(code);
  } catch (const std::exception& error) {
    outcome.status = Outcome::Status::threw;
    outcome.name = "Error";
    outcome.value = error.what();
    return outcome;
  }
  const std::string space = kPrefix + std::to_string(++cells_);
  shadowing_.begin_cell(space);
  return compile_and_run(rewrite_cell(code, "cell " + std::to_string(number), space));
}

Outcome Compiler::compile_and_run(const std::string& text) {
  Outcome outcome;
  auto unit = interpreter_->Parse(text);
  outcome.text = diagnostics_->take();
  if (!unit) {
    const std::string reason = message_of(unit.takeError());
    shadowing_.undo();
    outcome.status = Outcome::Status::does_not_compile;
    outcome.name = "CompileError";
    outcome.value = outcome.text.empty() ? reason : first_error(outcome.text);
    return outcome;
  }
  const auto failed = [&](Outcome::Status status, std::string name, std::string value) {
    shadowing_.forget_variables(interpreter_->getCompilerInstance()->getSema(), line_reached);
    outcome.status = status;
    outcome.name = std::move(name);
    outcome.value = std::move(value);
  };
  try {
    if (llvm::Error error = interpreter_->Execute(*unit)) {
      const std::string reason = message_of(std::move(error));
      outcome.text += diagnostics_->take();
      failed(Outcome::Status::does_not_compile, "LinkError", reason);
      return outcome;
    }
  } catch (const Interrupted&) {
    failed(Outcome::Status::interrupted, "", "");
    return outcome;
  } catch (const std::exception& error) {
    failed(Outcome::Status::threw, demangled(typeid(error).name()), error.what());
    return outcome;
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    const std::string name = type != nullptr ? demangled(type->name()) : "unknown exception";
    failed(Outcome::Status::threw, name, "a " + name + " was thrown, which is not a std::exception");
    return outcome;
  }
  if (interrupted()) outcome.status = Outcome::Status::interrupted;
  return outcome;
}

}  // namespace lockstep::kernel

namespace xcpp_kernel {

void mark(int line) {
  lockstep::kernel::line_reached = line;
  if (lockstep::kernel::interrupted()) throw lockstep::kernel::Interrupted();
}

}  // namespace xcpp_kernel
