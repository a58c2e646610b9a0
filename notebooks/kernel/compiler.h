// clang's interpreter, with additions for notebooks: definitions that can be replaced, errors as text with the cell's
// own lines, xeus-cling's pragmas, completion and inspection.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "notebooks/kernel/headers.h"
#include "notebooks/kernel/jit.h"
#include "notebooks/kernel/safe_points.h"
#include "notebooks/kernel/shadowing.h"

namespace clang {
class CXXRecordDecl;
class Interpreter;
class NamedDecl;
}  // namespace clang

namespace lockstep::kernel {

struct Settings {
  std::vector<std::string> include_paths, library_paths;
  std::string resource_folder;  // clang's own headers
  bool trial = true;            // false: cells are compiled in the process itself, to compare (tests/notebooks/mistakes_test.py)
};

struct Outcome {
  enum class Status { ok, does_not_compile, threw, interrupted };
  Status status = Status::ok;
  std::string name, value;  // of the error: "Error", "there is no GPU 7"
  std::string text;         // what the compiler wrote, colours included; warnings too
};

struct Completion {
  std::vector<std::string> matches;
  std::size_t begin = 0, end = 0;  // of what a match replaces, in bytes
};

class Compiler {
 public:
  explicit Compiler(Settings settings);
  ~Compiler();

  // Compiles and links the cell in a copy of the process first. A cell that fails there changes nothing here: it leaves no partial
  // declaration in clang and no symbol without a definition.
  Outcome run(const std::string& cell, int number);
  Completion complete(const std::string& code, std::size_t cursor);
  std::string inspect(const std::string& code, std::size_t cursor);  // the declaration and the comment above it; empty: not known

 private:
  struct Diagnostics;
  struct Prepared {
    Outcome outcome;
    std::vector<Jit::Function> functions;
  };
  Outcome try_in_a_copy(const std::string& cell, int number);
  Prepared prepare(std::string code, int number);  // everything but running it
  Prepared compile(const std::string& text);
  Outcome execute(Prepared prepared);
  void apply_settings(std::string& code);
  void load(const std::string& name, int line);
  const clang::CXXRecordDecl* class_of(const std::string& expression);
  std::vector<clang::NamedDecl*> find(const std::string& name);
  void declare_pieces_before(const std::string& code, std::size_t end);
  std::string describe(const clang::NamedDecl& declaration);

  Settings settings_;
  std::vector<std::string> arguments_;
  std::unique_ptr<Diagnostics> diagnostics_;
  std::unique_ptr<clang::Interpreter> interpreter_;
  Jit jit_;
  Shadowing shadowing_;
  SafePoints safe_points_;
  UserHeaders headers_;
  int cells_ = 0;
};

// Whether the cell that runs was interrupted; liblockstep looks at the flag between batches.
void clear_interrupt();
bool interrupted();
void set_interrupt();  // from a signal handler
int current_line();

}  // namespace lockstep::kernel
