#include "engine/data/files/npy_header.h"

#include <algorithm>

#include "engine/data/files/input_file.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostExtents = 32;  // numpy's own limit

class HeaderParser {
 public:
  HeaderParser(const std::string& name, std::string_view text, bool objects) : name_(name), text_(text), objects_(objects) {}

  NpyHeader parse() {
    NpyHeader header;
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && !has_descr) {
        has_descr = true;
        if (peek() == '[') fail("its elements are records; only arrays of plain elements are read");
        header.dtype = quoted();
      } else if (key == "fortran_order" && !has_order) {
        has_order = true;
        if (word() == "True") fail("its elements are in Fortran order; save it with numpy.ascontiguousarray");
      } else if (key == "shape" && !has_shape) {
        has_shape = true;
        header.extents = tuple();
      } else {
        fail("its header has an unexpected key `" + key + "`");
      }
      if (!accept(',') && peek() != '}') fail("its header can't be read");
    }
    if (!has_descr || !has_order || !has_shape) fail("its header lacks `descr`, `fortran_order` or `shape`");
    if (text_.find_first_not_of(" \n", at_) != std::string_view::npos) fail("its header can't be read");
    header.item_bytes = item_bytes(header.dtype);
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& fault) const { throw Error(name_ + ": " + fault); }

  char peek() {
    at_ = std::min(text_.find_first_not_of(' ', at_), text_.size());
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("its header can't be read: `") + c + "` is missing");
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("its header can't be read: a string is missing");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("its header can't be read: a string does not end");
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return std::string(inside);
  }
  std::string word() {
    peek();
    const std::size_t end = std::min(text_.find_first_of(" ,}", at_), text_.size());
    const std::string_view inside = text_.substr(at_, end - at_);
    if (inside != "True" && inside != "False") fail("its header can't be read: True or False is missing");
    at_ = end;
    return std::string(inside);
  }
  std::uint64_t number() {
    if (peek() < '0' || peek() > '9') fail("its header can't be read: an extent is not a plain number");
    std::uint64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      value = value * 10 + static_cast<std::uint64_t>(text_[at_++] - '0');
      if (value > kLargestArrayBytes) fail("its header claims more than 4 GiB of data");
    }
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // as Python 2 wrote long numbers
    return value;
  }
  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> extents;
    expect('(');
    while (!accept(')')) {
      extents.push_back(number());
      if (extents.size() > kMostExtents) fail("its header claims more than 32 extents");
      if (!accept(',') && peek() != ')') fail("its header can't be read: its shape does not end");
    }
    return extents;
  }
  std::size_t item_bytes(const std::string& dtype) const {
    const char order = dtype.empty() ? '\0' : dtype[0];
    const char kind = dtype.size() < 2 ? '\0' : dtype[1];
    if (dtype == "|O" && objects_) return 0;
    if (kind == 'O') {
      fail("holds Python objects (a pickle), which are not read: they can run code; store it as a plain array");
    }
    if (order == '>') fail("its elements (`" + dtype + "`) are big-endian; save it little-endian");
    std::size_t count = 0;
    for (std::size_t i = 2; i < dtype.size(); ++i) {
      if (dtype[i] < '0' || dtype[i] > '9' || count > 1000000) fail("its element type `" + dtype + "` is not known");
      count = count * 10 + static_cast<std::size_t>(dtype[i] - '0');
    }
    const bool power = count == 1 || count == 2 || count == 4 || count == 8;
    const bool number = ((kind == 'i' || kind == 'u') && power) || (kind == 'f' && power && count > 1) || (kind == 'b' && count == 1);
    const bool text = kind == 'U' || kind == 'S';
    if ((order != '<' && order != '|') || count == 0 || (!number && !text)) fail("its element type `" + dtype + "` is not known");
    return kind == 'U' ? 4 * count : count;
  }

  const std::string& name_;
  std::string_view text_;
  bool objects_;
  std::size_t at_ = 0;
};

}  // namespace

NpyHeader parse_npy_header(const std::string& name, std::string_view text, bool objects) {
  return HeaderParser(name, text, objects).parse();
}

}  // namespace lockstep
