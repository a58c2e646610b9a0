// Completion and inspection of names, with the compiler.
#include <cctype>
#include <set>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/RawCommentList.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Interpreter/Interpreter.h"
#include "clang/Sema/Lookup.h"
#include "clang/Sema/Sema.h"
#include "notebooks/kernel/cell.h"
#include "notebooks/kernel/compiler.h"

namespace lockstep::kernel {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Where the expression that ends at `end` begins: names, ::, ., -> and whole brackets.
std::size_t begin_of_expression(const std::string& code, std::size_t end) {
  std::size_t at = end;
  while (at > 0) {
    const char c = code[at - 1];
    if (c == ')' || c == ']') {
      int depth = 0;
      do {
        --at;
        if (code[at] == ')' || code[at] == ']') ++depth;
        if (code[at] == '(' || code[at] == '[') --depth;
      } while (at > 0 && depth > 0);
    } else if (is_word(c) || c == '.' || c == ':') {
      --at;
    } else if (c == '>' && at > 1 && code[at - 2] == '-') {
      at -= 2;
    } else {
      break;
    }
  }
  return at;
}

// The last letter of the function whose arguments `at` is among, or at the end of; none: the end of the code.
std::size_t function_before(const std::string& code, std::size_t at) {
  int depth = at < code.size() && code[at] == ')' ? -1 : 0;
  for (std::size_t i = at + 1; i-- > 0;) {
    if (i >= code.size()) continue;
    if (code[i] == ')') ++depth;
    if (code[i] == '(' && --depth < 0) {
      while (i > 0 && code[i - 1] == ' ') --i;
      return i == 0 ? code.size() : i - 1;
    }
  }
  return code.size();
}

void add_members(const clang::CXXRecordDecl& record, const std::string& typed, std::set<std::string>& names) {
  if (!record.hasDefinition()) return;
  for (const clang::Decl* member : record.getDefinition()->decls()) {
    const auto* named = llvm::dyn_cast<clang::NamedDecl>(member);
    if (named == nullptr || named->getAccess() != clang::AS_public || !named->getDeclName().isIdentifier() || named->getName().empty())
      continue;
    if (llvm::isa<clang::CXXRecordDecl>(named)) continue;
    if (named->getName().starts_with(typed)) names.insert(named->getNameAsString());
  }
  for (const clang::CXXBaseSpecifier& base : record.getDefinition()->bases()) {
    const clang::CXXRecordDecl* parent = base.getType()->getAsCXXRecordDecl();
    if (parent != nullptr && base.getAccessSpecifier() == clang::AS_public) add_members(*parent, typed, names);
  }
}

void add_names_in(clang::DeclContext& scope, const std::string& typed, std::set<std::string>& names) {
  const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(&scope);
  for (const clang::NamespaceDecl* part = space == nullptr ? nullptr : space->getMostRecentDecl(); part != nullptr;
       part = part->getPreviousDecl()) {
    for (const clang::Decl* declaration : part->decls()) {
      const auto* named = llvm::dyn_cast<clang::NamedDecl>(declaration);
      if (named == nullptr || !named->getDeclName().isIdentifier() || named->getName().empty()) continue;
      if (named->getName().starts_with(typed) && !named->getName().starts_with("_")) names.insert(named->getNameAsString());
      if (const auto* inner = llvm::dyn_cast<clang::NamespaceDecl>(named); inner != nullptr && inner->isInline())
        add_names_in(*const_cast<clang::NamespaceDecl*>(inner), typed, names);
    }
  }
}

}  // namespace

// Runs in a copy of the process: what is compiled here to find a type does not change the session.
Completion Compiler::complete(const std::string& code, std::size_t cursor) {
  Completion completion;
  completion.end = completion.begin = std::min(cursor, code.size());
  while (completion.begin > 0 && is_word(code[completion.begin - 1])) --completion.begin;
  const std::string typed = code.substr(completion.begin, completion.end - completion.begin);
  const std::string before = code.substr(0, completion.begin);
  clang::ASTContext& context = interpreter_->getASTContext();
  std::set<std::string> names;
  if (before.ends_with(".") || before.ends_with("->")) {
    const std::size_t end = before.size() - (before.ends_with(".") ? 1 : 2);
    const std::size_t begin = begin_of_expression(before, end);
    const std::string expression = before.substr(begin, end - begin);
    declare_pieces_before(code, begin);
    if (const auto* record = class_of((before.ends_with(".") ? "(" : "*(") + expression + ")")) add_members(*record, typed, names);
  } else if (before.ends_with("::")) {
    const std::size_t begin = begin_of_expression(before, before.size() - 2);
    const std::vector<clang::NamedDecl*> outer = find(before.substr(begin, before.size() - 2 - begin));
    if (!outer.empty()) {
      if (auto* space = llvm::dyn_cast<clang::NamespaceDecl>(outer.front())) add_names_in(*space, typed, names);
      if (auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(outer.front())) add_members(*record, typed, names);
    }
  } else if (!typed.empty()) {
    declare_pieces_before(code, completion.begin);
    std::vector<std::string> candidates;
    for (const auto& entry : context.Idents) {
      if (entry.getKey().starts_with(typed) && !entry.getKey().starts_with("_")) candidates.push_back(entry.getKey().str());
    }
    for (const std::string& name : candidates) {
      if (context.Idents.get(name).isCPlusPlusKeyword(context.getLangOpts()) || !find(name).empty()) names.insert(name);
    }
  }
  for (const std::string& name : names) {
    if (name.find("cell_of_notebook_") == std::string::npos && name != "lockstep_probe") completion.matches.push_back(name);
  }
  return completion;
}

void Compiler::declare_pieces_before(const std::string& code, std::size_t end) {
  std::string done;
  for (const Piece& piece : split_cell(code)) {
    if (piece.end < end && !piece.open) done = code.substr(0, piece.end);
  }
  if (done.empty()) return;
  const std::string space = "cell_of_notebook_" + std::to_string(++cells_);
  take_settings(done);
  shadowing_.begin_cell(space);
  if (auto unit = interpreter_->Parse(rewrite_cell(done, "cell", space, headers_)); !unit) {
    llvm::consumeError(unit.takeError());
    shadowing_.undo();
  }
}

std::string Compiler::describe(const clang::NamedDecl& declaration) {
  const clang::ASTContext& context = interpreter_->getASTContext();
  const clang::SourceManager& sources = context.getSourceManager();
  clang::PrintingPolicy policy = context.getPrintingPolicy();
  policy.TerseOutput = true;
  policy.PolishForDeclaration = true;
  policy.SuppressUnwrittenScope = true;
  std::string text;
  llvm::raw_string_ostream stream(text);
  declaration.print(stream, policy);
  stream.flush();
  if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(&declaration)) {
    text = variable->getType().getAsString(policy) + " " + variable->getNameAsString();
  }
  if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(&declaration); record != nullptr && record->hasDefinition()) {
    text += " {";
    std::set<std::string> members;
    for (const clang::Decl* member : record->getDefinition()->decls()) {
      const auto* named = llvm::dyn_cast<clang::NamedDecl>(member);
      if (named == nullptr || named->isImplicit() || named->getAccess() != clang::AS_public || !named->getDeclName()) continue;
      if (llvm::isa<clang::CXXDestructorDecl>(named)) continue;
      std::string line;
      llvm::raw_string_ostream out(line);
      named->print(out, policy);
      out.flush();
      if (line.find("= delete") == std::string::npos && members.insert(line).second) text += "\n  " + line + ";";
    }
    text += "\n}";
  }
  std::string comment;
  if (const clang::RawComment* raw = context.getRawCommentForDeclNoCache(&declaration)) {
    comment = raw->getRawText(sources).str() + "\n";
  }
  const clang::PresumedLoc place = sources.getPresumedLoc(declaration.getLocation());
  std::string where;
  if (place.isValid()) {
    std::string file = place.getFilename();
    const std::size_t folder = file.rfind("/include/");
    if (folder != std::string::npos) file = file.substr(folder + 9);
    where = "\n(" + file + ", line " + std::to_string(place.getLine()) + ")";
  }
  return comment + text + where;
}

std::vector<clang::NamedDecl*> Compiler::find(const std::string& name) {
  clang::CompilerInstance& instance = *interpreter_->getCompilerInstance();
  clang::Sema& sema = instance.getSema();
  clang::ASTContext& context = interpreter_->getASTContext();
  clang::DeclContext* scope = context.getTranslationUnitDecl();
  std::string rest = name.compare(0, 2, "::") == 0 ? name.substr(2) : name;
  std::vector<clang::NamedDecl*> found;
  for (bool first = true;; first = false) {
    const std::size_t colons = rest.find("::");
    clang::LookupResult result(sema, clang::DeclarationName(&context.Idents.get(rest.substr(0, colons))), clang::SourceLocation(),
                               clang::Sema::LookupOrdinaryName);
    result.suppressDiagnostics();
    if (first) {
      sema.LookupName(result, sema.TUScope);
    } else {
      sema.LookupQualifiedName(result, scope);
    }
    found.clear();
    for (clang::NamedDecl* declaration : result) {
      clang::NamedDecl* real = declaration->getUnderlyingDecl();
      if (auto* generic = llvm::dyn_cast<clang::ClassTemplateDecl>(real); generic != nullptr && colons != std::string::npos)
        real = generic->getTemplatedDecl();
      found.push_back(real);
    }
    if (found.empty() || colons == std::string::npos) return found;
    clang::NamedDecl* outer = found.front();
    if (auto* alias = llvm::dyn_cast<clang::TypedefNameDecl>(outer)) outer = alias->getUnderlyingType()->getAsCXXRecordDecl();
    scope = outer == nullptr ? nullptr : llvm::dyn_cast<clang::DeclContext>(outer);
    if (scope == nullptr) return {};
    rest = rest.substr(colons + 2);
  }
}

// The class of an expression; null: it has none, or does not compile.
const clang::CXXRecordDecl* Compiler::class_of(const std::string& expression) {
  auto unit = interpreter_->Parse("auto&& lockstep_probe = " + expression + ";\n");
  if (!unit) {
    llvm::consumeError(unit.takeError());
    return nullptr;
  }
  for (const clang::Decl* declaration : unit->TUPart->decls()) {
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(declaration);
    if (variable != nullptr) return variable->getType().getNonReferenceType()->getAsCXXRecordDecl();
  }
  return nullptr;
}

// The name under the cursor, or the one before the bracket that the cursor is behind. Runs in a copy of the process, as complete().
std::string Compiler::inspect(const std::string& code, std::size_t cursor) {
  const auto on_name = [&](std::size_t i) { return i < code.size() && is_word(code[i]); };
  const auto begin_of_name = [&](std::size_t i) {
    while (i > 0 && on_name(i - 1)) --i;
    return i;
  };
  std::size_t at = std::min(cursor, code.size());
  if (!on_name(at) && at > 0) --at;
  if (!on_name(at) || std::isdigit(static_cast<unsigned char>(code[begin_of_name(at)])) != 0) at = function_before(code, at);
  if (!on_name(at)) return "";
  const std::size_t begin = begin_of_name(at);
  std::size_t end = at;
  while (on_name(end)) ++end;
  const std::string name = code.substr(begin, end - begin);
  const std::size_t whole = begin_of_expression(code, begin);
  const std::string before = code.substr(whole, begin - whole);
  declare_pieces_before(code, whole);
  std::string text;
  const auto tell = [&](const clang::NamedDecl& one) { text += (text.empty() ? "" : "\n\n") + describe(one); };
  const bool arrow = before.ends_with("->");
  if (!arrow && (before.empty() || before.back() != '.')) {
    for (const clang::NamedDecl* declaration : find(before + name)) tell(*declaration);
    return text;
  }
  const std::string object = before.substr(0, before.size() - (arrow ? 2 : 1));
  std::vector<const clang::CXXRecordDecl*> classes{class_of((arrow ? "*(" : "(") + object + ")")};
  while (!classes.empty() && text.empty()) {
    const clang::CXXRecordDecl* record = classes.back();
    classes.pop_back();
    if (record == nullptr || !record->hasDefinition()) continue;
    record = record->getDefinition();
    for (const clang::Decl* member : record->decls()) {
      if (const auto* generic = llvm::dyn_cast<clang::FunctionTemplateDecl>(member)) member = generic->getTemplatedDecl();
      const auto* named = llvm::dyn_cast<clang::NamedDecl>(member);
      if (named != nullptr && named->getDeclName().isIdentifier() && named->getName() == name) tell(*named);
    }
    for (const clang::CXXBaseSpecifier& base : record->bases()) classes.push_back(base.getType()->getAsCXXRecordDecl());
  }
  return text;
}

}  // namespace lockstep::kernel
