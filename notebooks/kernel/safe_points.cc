#include "notebooks/kernel/safe_points.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Sema/Lookup.h"
#include "clang/Sema/Sema.h"

namespace lockstep::kernel {
namespace {

// Collects first and changes later: the tree is not changed while it is walked.
class Loops : public clang::RecursiveASTVisitor<Loops> {
 public:
  std::vector<clang::Stmt*> found;

  // Constants are computed by the compiler, where nothing can be called.
  bool TraverseFunctionDecl(clang::FunctionDecl* function) {
    return function->isConstexpr() || RecursiveASTVisitor::TraverseFunctionDecl(function);
  }
  bool TraverseCXXMethodDecl(clang::CXXMethodDecl* function) {
    return function->isConstexprSpecified() || function->isConsteval() || RecursiveASTVisitor::TraverseCXXMethodDecl(function);
  }

  bool VisitForStmt(clang::ForStmt* loop) { return add(loop); }
  bool VisitWhileStmt(clang::WhileStmt* loop) { return add(loop); }
  bool VisitDoStmt(clang::DoStmt* loop) { return add(loop); }
  bool VisitCXXForRangeStmt(clang::CXXForRangeStmt* loop) { return add(loop); }
  bool VisitLabelStmt(clang::LabelStmt* label) { return add(label); }  // for goto

 private:
  bool add(clang::Stmt* loop) {
    found.push_back(loop);
    return true;
  }
};

class Caller {
 public:
  Caller(clang::ASTContext& context, clang::FunctionDecl& function) : context_(context), function_(function) {}

  void add_to(clang::Stmt& loop) {
    if (auto* one = llvm::dyn_cast<clang::ForStmt>(&loop)) one->setBody(with_call(one->getBody()));
    if (auto* one = llvm::dyn_cast<clang::WhileStmt>(&loop)) one->setBody(with_call(one->getBody()));
    if (auto* one = llvm::dyn_cast<clang::DoStmt>(&loop)) one->setBody(with_call(one->getBody()));
    if (auto* one = llvm::dyn_cast<clang::CXXForRangeStmt>(&loop)) one->setBody(with_call(one->getBody()));
    if (auto* one = llvm::dyn_cast<clang::LabelStmt>(&loop)) one->setSubStmt(with_call(one->getSubStmt()));
  }

 private:
  clang::Stmt* with_call(clang::Stmt* body) {
    const clang::SourceLocation at = body->getBeginLoc();
    auto* name = clang::DeclRefExpr::Create(context_, clang::NestedNameSpecifierLoc(), clang::SourceLocation(), &function_, false, at,
                                            function_.getType(), clang::VK_LValue);
    auto* pointer = clang::ImplicitCastExpr::Create(context_, context_.getPointerType(function_.getType()),
                                                    clang::CK_FunctionToPointerDecay, name, nullptr, clang::VK_PRValue, {});
    auto* call = clang::CallExpr::Create(context_, pointer, {}, context_.VoidTy, clang::VK_PRValue, at, {});
    return clang::CompoundStmt::Create(context_, {call, body}, clang::FPOptionsOverride(), at, body->getEndLoc());
  }

  clang::ASTContext& context_;
  clang::FunctionDecl& function_;
};

}  // namespace

clang::FunctionDecl* SafePoints::find_function(clang::Sema& sema) {
  clang::ASTContext& context = sema.getASTContext();
  const auto look = [&](const char* name, clang::DeclContext* scope) -> clang::NamedDecl* {
    for (clang::NamedDecl* found : scope->lookup(clang::DeclarationName(&context.Idents.get(name)))) return found;
    return nullptr;
  };
  auto* space = llvm::dyn_cast_or_null<clang::NamespaceDecl>(look("xcpp_kernel", context.getTranslationUnitDecl()));
  return space == nullptr ? nullptr : llvm::dyn_cast_or_null<clang::FunctionDecl>(look("safe_point", space));
}

void SafePoints::add(clang::Sema& sema, clang::DeclContext& space) {
  if (function_ == nullptr) function_ = find_function(sema);
  if (function_ == nullptr) return;
  Loops loops;
  for (clang::Decl* declaration : space.decls()) loops.TraverseDecl(declaration);
  Caller caller(sema.getASTContext(), *function_);
  for (clang::Stmt* loop : loops.found) {
    if (done_.insert(loop).second) caller.add_to(*loop);
  }
}

}  // namespace lockstep::kernel
