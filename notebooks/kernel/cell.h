// A notebook cell's text, cut into the pieces a C++ file has at its top level, and rewritten so that a compiler accepts it cell by cell.
//
// C++ allows one definition of a name, but users run cells twice. So declarations of cell 7 go into `inline namespace cell_7`: names work
// as if they were global (argument-dependent lookup included), and symbols of two versions do not meet. Which version a name means is
// settled by the compiler (shadowing.h). Statements, directives, specialisations and members defined outside their class stay outside.
#pragma once

#include <string>
#include <vector>

namespace lockstep::kernel {

class UserHeaders;

struct Piece {
  enum class Kind { directive, plain, statement, wrapped, space };  // space: a namespace, whose body is wrapped
  Kind kind = Kind::plain;
  std::size_t begin = 0, end = 0;            // in the cell's text
  std::size_t body_begin = 0, body_end = 0;  // of a namespace, between its braces
  int line = 1;                              // where it begins, from 1
  bool runs = true;                          // may run something: a statement or a variable
  bool body = false;                         // of a plain piece: a function with its body
  bool open = false;                         // has no end of its own: the last piece, without a semicolon
  bool declares = false;                     // of an open piece: surely a declaration, so only a semicolon is missing
};

std::vector<Piece> split_cell(const std::string& code);

// The cell for the compiler. `name` is what errors call the file, `space` the namespace of its declarations. Between pieces that run,
// xcpp_kernel::mark(line) is called. The value of a last expression without semicolon is shown. Headers of the user's own are part of it.
std::string rewrite_cell(const std::string& code, const std::string& name, const std::string& space, UserHeaders& headers);

bool is_complete(const std::string& code);              // every bracket is closed
std::string unclosed_bracket(const std::string& code);  // "3:14: error: this { is never closed", or nothing

// The settings of xeus-cling's dialect: `#pragma cling load("x")` and its kin; their lines are blank in what remains.
struct Setting {
  std::string name;  // load, add_include_path, add_library_path
  std::string argument;
  int line = 1;
};
std::vector<Setting> take_settings(std::string& code);

}  // namespace lockstep::kernel
