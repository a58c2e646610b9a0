#include "notebooks/kernel/compiler.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/Module.h>
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "clang/AST/ASTContext.h"
#include "clang/Basic/Diagnostic.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/TextDiagnosticPrinter.h"
#include "clang/Interpreter/Interpreter.h"
#include "clang/Lex/HeaderSearch.h"
#include "clang/Lex/Pragma.h"
#include "clang/Lex/Preprocessor.h"
#include "clang/Sema/Sema.h"
#include "notebooks/kernel/cell.h"
#include "notebooks/kernel/memory_bound.h"
#include "notebooks/kernel/trial.h"

// Read by liblockstep, which looks it up by this name (engine/train/interrupt.cc).
extern "C" {
__attribute__((visibility("default"))) volatile std::sig_atomic_t lockstep_interrupt_flag = 0;
}

namespace lockstep::kernel {
namespace {

constexpr const char* kPrefix = "cell_of_notebook_";
int line_reached = 0;

struct Interrupted {};

// Cells run in the main thread.
bool runs_cells() { return getpid() == gettid(); }

// Every 10 ms is enough; the system call costs as much as a thousand iterations.
void look_at_memory() {
  thread_local long last = 0;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const long tick = now.tv_sec * 100 + now.tv_nsec / 10'000'000;
  if (tick == last) return;
  last = tick;
  if (runs_cells()) check_memory(0);
}

std::string message_of(llvm::Error error) { return llvm::toString(std::move(error)); }

// `#pragma xcpp_piece` follows every piece, when clang has parsed it and not yet generated code.
class PiecePragma : public clang::PragmaHandler {
 public:
  PiecePragma(Shadowing& shadowing, SafePoints& safe_points, clang::CompilerInstance& instance)
      : PragmaHandler("xcpp_piece"), shadowing_(shadowing), safe_points_(safe_points), instance_(instance) {}
  void HandlePragma(clang::Preprocessor&, clang::PragmaIntroducer, clang::Token&) override {
    clang::Sema& sema = instance_.getSema();
    shadowing_.declared(sema);
    safe_points_.add(sema, *sema.CurContext);
  }

 private:
  Shadowing& shadowing_;
  SafePoints& safe_points_;
  clang::CompilerInstance& instance_;
};

std::string source_name_of_type(const char* name) {
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : name;
}

// Without the namespaces of cells, which the user did not write.
std::string without_spaces(const std::string& text) {
  static const std::regex form(std::string(kPrefix) + "[0-9]+::");
  return std::regex_replace(text, form, "");
}

// clang's interpreter as a parser only: machine code is Jit's.
class NotebookInterpreter : public clang::Interpreter {
 public:
  NotebookInterpreter(std::unique_ptr<clang::CompilerInstance> instance, llvm::Error& error) : Interpreter(std::move(instance), error) {}
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
  // Without clang's lines about the internal include.
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
  clang::DiagnosticOptions& options = (*instance)->getDiagnosticOpts();
  options.ShowColors = true;
#if LLVM_VERSION_MAJOR >= 21
  auto* const printer = new clang::TextDiagnosticPrinter(diagnostics_->stream, options);
#else
  auto* const printer = new clang::TextDiagnosticPrinter(diagnostics_->stream, &options);
#endif
  (*instance)->getDiagnostics().setClient(printer, true);  // owns it
  llvm::Error error = llvm::Error::success();
  interpreter_ = std::make_unique<NotebookInterpreter>(std::move(*instance), error);
  if (error) throw std::runtime_error("clang's interpreter could not be made: " + message_of(std::move(error)));
  clang::CompilerInstance& made = *interpreter_->getCompilerInstance();
  made.getPreprocessor().AddPragmaHandler(new PiecePragma(shadowing_, safe_points_, made));  // the preprocessor owns it
  // The handle stands for the program in the list of destructors. It lies near the cells' code, as compilers expect; and with it the linker
  // takes its memory here, not in the first copy.
  const Outcome outcome = execute(compile("#include <xcpp/kernel.hpp>\nextern \"C\" { void* __dso_handle = nullptr; }\n"));
  if (outcome.status != Outcome::Status::ok) throw std::runtime_error("the kernel's own header does not compile: " + plain(outcome.text));
}

Compiler::~Compiler() {
  // Destructors of a notebook's variables would run in any order, after the GPUs are destroyed: the process ends without them.
  static_cast<void>(interpreter_.release());
}

void Compiler::apply_settings(std::string& code) {
  for (const Setting& setting : take_settings(code)) {
    if (setting.name == "load") {
      load(setting.argument, setting.line);
    } else if (setting.name == "add_library_path") {
      settings_.library_paths.insert(settings_.library_paths.begin(), setting.argument);
    } else if (setting.name == "add_include_path") {
      clang::CompilerInstance& instance = *interpreter_->getCompilerInstance();
      if (auto folder = instance.getFileManager().getOptionalDirectoryRef(setting.argument)) {
        instance.getPreprocessor().getHeaderSearchInfo().AddSearchPath(
            clang::DirectoryLookup(*folder, clang::SrcMgr::C_User, /*isFramework=*/false), /*isAngled=*/true);
        headers_.add_folder(setting.argument);
      } else {
        throw std::runtime_error("line " + std::to_string(setting.line) + ": there is no folder " + setting.argument);
      }
    } else {
      throw std::runtime_error("line " + std::to_string(setting.line) + ": #pragma cling " + setting.name +
                               " is not supported; load, add_include_path and add_library_path are");
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
  line_reached = 0;
  if (const std::string fault = unclosed_bracket(cell); !fault.empty()) {
    const std::string where = "cell " + std::to_string(number) + ":" + fault;
    return {Outcome::Status::does_not_compile, "CompileError", where, ""};
  }
  if (settings_.trial) {
    Outcome tried = try_in_a_copy(cell, number);
    if (tried.status != Outcome::Status::ok) return tried;
  }
  Prepared prepared = prepare(cell, number);
  if (prepared.outcome.status != Outcome::Status::ok) shadowing_.undo();
  return execute(std::move(prepared));
}

Outcome Compiler::try_in_a_copy(const std::string& cell, int number) {
  const auto question = [&] {
    const Outcome outcome = prepare(cell, number).outcome;
    const nlohmann::json answer{static_cast<int>(outcome.status), outcome.name, outcome.value, outcome.text};
    return answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  const TrialResult trial = in_a_copy(question, {}, [] { return interrupted(); });
  Outcome outcome;
  if (interrupted()) {
    outcome.status = Outcome::Status::interrupted;
  } else if (!trial.answered) {
    outcome.status = Outcome::Status::does_not_compile;
    outcome.name = "CompileError";
    outcome.value = "The compiler could not finish this cell: " + trial.text + ". Nothing has changed; correct the cell and run it again.";
  } else {
    const nlohmann::json answer = nlohmann::json::parse(trial.text);
    outcome = {static_cast<Outcome::Status>(answer[0].get<int>()), answer[1], answer[2], answer[3]};
  }
  return outcome;
}

Compiler::Prepared Compiler::prepare(std::string code, int number) {
  try {
    apply_settings(code);
  } catch (const std::exception& error) {
    return {{Outcome::Status::threw, "Error", error.what(), ""}, {}};
  }
  const std::string space = kPrefix + std::to_string(++cells_);
  shadowing_.begin_cell(space);
  return compile(rewrite_cell(code, "cell " + std::to_string(number), space, headers_));
}

Compiler::Prepared Compiler::compile(const std::string& text) {
  Prepared prepared;
  Outcome& outcome = prepared.outcome;
  auto unit = interpreter_->Parse(text);
  outcome.text = diagnostics_->take();
  if (!unit) {
    const std::string reason = message_of(unit.takeError());
    outcome.status = Outcome::Status::does_not_compile;
    outcome.name = "CompileError";
    outcome.value = outcome.text.empty() ? reason : first_error(outcome.text);
    return prepared;
  }
  try {
    if (unit->TheModule != nullptr) prepared.functions = jit_.link(std::move(unit->TheModule));
  } catch (const std::exception& error) {
    outcome.status = Outcome::Status::does_not_compile;
    outcome.name = "LinkError";
    outcome.value = without_spaces(error.what());
  }
  return prepared;
}

Outcome Compiler::execute(Prepared prepared) {
  Outcome outcome = std::move(prepared.outcome);
  if (outcome.status != Outcome::Status::ok) return outcome;
  const auto failed = [&](Outcome::Status status, std::string name, std::string value) {
    shadowing_.forget_variables(interpreter_->getCompilerInstance()->getSema(), line_reached);
    outcome.status = status;
    outcome.name = std::move(name);
    outcome.value = std::move(value);
  };
  try {
    for (const Jit::Function function : prepared.functions) function();
  } catch (const Interrupted&) {
    failed(Outcome::Status::interrupted, "", "");
    return outcome;
  } catch (const TooMuchMemory& error) {
    jit_.destroy_last();
    shadowing_.undo();
    malloc_trim(0);
    failed(Outcome::Status::threw, "TooMuchMemory", error.what());
    return outcome;
  } catch (const std::exception& error) {
    failed(Outcome::Status::threw, without_spaces(source_name_of_type(typeid(error).name())), error.what());
    return outcome;
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    const std::string name = type != nullptr ? without_spaces(source_name_of_type(type->name())) : "unknown exception";
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

// Only the thread that runs the cell can be stopped this way: an exception that leaves another thread ends the process.
void safe_point() {
  thread_local unsigned rounds = 0;
  if (lockstep::kernel::interrupted() && lockstep::kernel::runs_cells()) throw lockstep::kernel::Interrupted();
  if (++rounds % 64 == 0) lockstep::kernel::look_at_memory();
}

}  // namespace xcpp_kernel
