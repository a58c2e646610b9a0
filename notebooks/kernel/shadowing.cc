#include "notebooks/kernel/shadowing.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclContextInternals.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Sema/Sema.h"

namespace lockstep::kernel {
namespace {

void hide(clang::DeclContext& parent, clang::NamedDecl& declaration) {
  clang::StoredDeclsMap* names = parent.getPrimaryContext()->getLookupPtr();
  if (names == nullptr) return;
  const auto found = names->find(declaration.getDeclName());
  if (found == names->end()) return;
  found->second.remove(&declaration);
  if (found->second.isNull()) names->erase(found);
}

void bring_back(clang::DeclContext& parent, clang::NamedDecl& declaration) {
  if (clang::StoredDeclsMap* names = parent.getPrimaryContext()->getLookupPtr()) {
    (*names)[declaration.getDeclName()].addOrReplaceDecl(&declaration);
  }
}

clang::FunctionDecl* function_of(clang::NamedDecl& declaration) {
  if (auto* function = llvm::dyn_cast<clang::FunctionDecl>(&declaration)) return function;
  if (auto* generic = llvm::dyn_cast<clang::FunctionTemplateDecl>(&declaration)) return generic->getTemplatedDecl();
  return nullptr;
}

}  // namespace

void Shadowing::begin_cell(const std::string& space) {
  space_ = space;
  hidden_.clear();
  declared_.clear();
  seen_.clear();
}

void Shadowing::declared(clang::Sema& sema) { visit(sema, *sema.getASTContext().getTranslationUnitDecl()); }

void Shadowing::visit(clang::Sema& sema, clang::DeclContext& context) {
  for (clang::Decl* declaration : context.decls()) {
    auto* space = llvm::dyn_cast<clang::NamespaceDecl>(declaration);
    if (space == nullptr) continue;
    if (space->isInline() && space->getName() == space_) {
      take_in(sema, *space);
    } else if (!sema.getSourceManager().isInSystemHeader(space->getLocation())) {
      visit(sema, *space);
    }
  }
}

void Shadowing::take_in(clang::Sema& sema, clang::NamespaceDecl& space) {
  clang::DeclContext* parent = space.getParent();
  for (clang::Decl* declaration : space.decls()) {
    auto* named = llvm::dyn_cast<clang::NamedDecl>(declaration);
    if (named == nullptr || !named->getDeclName() || !seen_.insert(named).second) continue;
    shadow(sema, *parent, *named);
    if (auto* enumeration = llvm::dyn_cast<clang::EnumDecl>(named); enumeration != nullptr && !enumeration->isScoped()) {
      for (clang::EnumConstantDecl* constant : enumeration->enumerators()) shadow(sema, *parent, *constant);
    }
  }
}

bool Shadowing::is_cells(const clang::NamedDecl& declaration, std::string& space) const {
  const auto* context = llvm::dyn_cast<clang::NamespaceDecl>(declaration.getDeclContext()->getRedeclContext());
  if (context == nullptr || !context->isInline() || !context->getName().starts_with(prefix_)) return false;
  space = context->getName().str();
  return true;
}

void Shadowing::shadow(clang::Sema& sema, clang::DeclContext& parent, clang::NamedDecl& newer) {
  declared_.emplace_back(&parent, &newer);
  std::vector<clang::NamedDecl*> olds;
  for (clang::NamedDecl* old : parent.getPrimaryContext()->lookup(newer.getDeclName())) olds.push_back(old);
  for (clang::NamedDecl* old : olds) {
    std::string space;
    // A variable also hides a function of the C library with a common name (read, index, y0, ...).
    const bool of_the_library =
        llvm::isa<clang::FunctionDecl>(old) && function_of(newer) == nullptr && old->getDeclContext()->isTranslationUnit();
    if (!of_the_library && (!is_cells(*old, space) || space == space_)) continue;
    clang::FunctionDecl* new_function = function_of(newer);
    clang::FunctionDecl* old_function = function_of(*old);
    // Functions of other parameters are overloads; everything else of that name is replaced.
    if (new_function != nullptr && old_function != nullptr && sema.IsOverload(new_function, old_function, false)) continue;
    hide(parent, *old);
    hidden_.emplace_back(&parent, old);
  }
}

void Shadowing::undo() {
  for (const auto& [parent, declaration] : declared_) hide(*parent, *declaration);
  for (const auto& [parent, declaration] : hidden_) bring_back(*parent, *declaration);
  begin_cell({});
}

void Shadowing::forget_variables(clang::Sema& sema, int from_line) {
  std::set<clang::DeclarationName> forgotten;
  for (const auto& [parent, declaration] : declared_) {
    if (!llvm::isa<clang::VarDecl>(declaration) && !llvm::isa<clang::BindingDecl>(declaration)) continue;
    const clang::PresumedLoc place = sema.getSourceManager().getPresumedLoc(declaration->getLocation());
    if (place.isInvalid() || static_cast<int>(place.getLine()) < from_line) continue;
    hide(*parent, *declaration);
    forgotten.insert(declaration->getDeclName());
  }
  for (const auto& [parent, declaration] : hidden_) {
    if (forgotten.count(declaration->getDeclName()) != 0) bring_back(*parent, *declaration);
  }
}

}  // namespace lockstep::kernel
