// The newest definition of a name is the one that counts.
//
// Cells declare into inline namespaces of the same parent, so a name that two cells declare would be ambiguous. After each piece of a
// cell the names it declared are taken out of the parent's table of names for older cells: code compiled before keeps what it
// refers to, code compiled from now on finds the newest. (Cling's DefinitionShadower works the same way.)
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace clang {
class DeclContext;
class NamedDecl;
class NamespaceDecl;
class Sema;
}  // namespace clang

namespace lockstep::kernel {

class Shadowing {
 public:
  // Names in namespaces that are called `prefix` and a number are cells'.
  explicit Shadowing(std::string prefix) : prefix_(std::move(prefix)) {}

  void begin_cell(const std::string& space);
  void declared(clang::Sema& sema);  // some more of the cell has been parsed
  void undo();                       // the cell did not compile: older names are back
  // The cell threw: variables of its lines from here on were never made, so their names are hidden.
  void forget_variables(clang::Sema& sema, int from_line);

 private:
  void visit(clang::Sema& sema, clang::DeclContext& context);
  void take_in(clang::Sema& sema, clang::NamespaceDecl& space);
  void shadow(clang::Sema& sema, clang::DeclContext& parent, clang::NamedDecl& newer);
  bool is_cells(const clang::NamedDecl& declaration, std::string& space) const;

  std::string prefix_, space_;
  std::vector<std::pair<clang::DeclContext*, clang::NamedDecl*>> hidden_;    // by this cell
  std::vector<std::pair<clang::DeclContext*, clang::NamedDecl*>> declared_;  // in this cell
  std::set<const clang::NamedDecl*> seen_;
};

}  // namespace lockstep::kernel
