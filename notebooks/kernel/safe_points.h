// Loops of cells can be stopped: each iteration begins with a call of xcpp_kernel::safe_point(), which throws once the cell is interrupted.
//
// The call is added to clang's tree of the cell, not to its text: errors keep their columns, destructors run, and any form of loop has it.
#pragma once

#include <set>

namespace clang {
class DeclContext;
class FunctionDecl;
class Sema;
class Stmt;
}  // namespace clang

namespace lockstep::kernel {

class SafePoints {
 public:
  // Every loop below the declarations of this namespace, before machine code is made of them.
  void add(clang::Sema& sema, clang::DeclContext& space);

 private:
  clang::FunctionDecl* find_function(clang::Sema& sema);

  clang::FunctionDecl* function_ = nullptr;
  std::set<const clang::Stmt*> done_;
};

}  // namespace lockstep::kernel
