// Machine code of cells: takes clang's module of a cell, compiles and links it in this process, and finds the function that runs it.
//
// Linking and running are separate, so a trial can only link (trial.h), and an exception passes through no code of LLVM.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace lockstep::kernel {

class Jit {
 public:
  using Function = void (*)();

  Jit();
  ~Jit();

  // The functions that initialise the module's variables and run its statements, in order. Throws std::runtime_error with the symbols that
  // do not link.
  std::vector<Function> link(std::unique_ptr<llvm::Module> module);

  // The destructors of the variables that the last module made, newest first.
  void destroy_last();

 private:
  struct State;
  std::unique_ptr<State> state_;
  int modules_ = 0;
};

}  // namespace lockstep::kernel
