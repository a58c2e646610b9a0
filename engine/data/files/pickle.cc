#include "engine/data/files/pickle.h"

#include <array>
#include <unordered_map>

#include "engine/data/files/input_file.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

enum class Kind { none, number, text, tuple, list, function, array, element_type };

// Small: texts, tuples and lists stand in tables of their own, and `number` is the place there. So no pickle can build a cycle of
// owners or a value that is large to copy.
struct Value {
  Kind kind = Kind::none;
  std::int64_t number = 0;
};

struct List {
  std::vector<std::int32_t> numbers;
  std::vector<std::size_t> lists;
};

// The opcodes that are obeyed, with their names in pickletools.
enum Opcode : unsigned char {
  kMark = '(',
  kStop = '.',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kReduce = 'R',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kTuple = 't',
  kEmptyTuple = ')',
  kEmptyList = ']',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kShortBinUnicode = 0x8c,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
};

constexpr std::array<std::string_view, 5> kFunctions = {"numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct",
                                                        "numpy ndarray", "numpy dtype", "_codecs encode"};
enum Function { kReconstruct = 0, kReconstructInNumpy2 = 1, kNdarray = 2, kDtype = 3, kEncode = 4 };

class Machine {
 public:
  Machine(const std::string& name, std::string_view pickle) : name_(name), pickle_(pickle) {}

  std::vector<std::vector<std::int32_t>> run(std::uint64_t count) {
    while (step()) {
    }
    if (stack_.size() != 1 || stack_.back().kind != Kind::array || !built_) fail("it does not end with one array");
    const List& outer = lists_[elements_];
    if (!outer.numbers.empty()) fail("the array's elements are not lists");
    if (outer.lists.size() != count) {
      fail("its header claims " + std::to_string(count) + " elements, but it holds " + std::to_string(outer.lists.size()));
    }
    // A list may be named many times, so what comes out can be larger than what went in; honest files repeat nothing.
    std::uint64_t total = 0;
    for (const std::size_t inner : outer.lists) {
      if (!lists_[inner].lists.empty()) fail("lists inside lists inside the array are not read");
      total += 1 + lists_[inner].numbers.size();
      if (total > 4 * pickle_.size() + 1024) fail("it repeats its lists until they are far larger than the file");
    }
    std::vector<std::vector<std::int32_t>> result;
    result.reserve(outer.lists.size());
    for (const std::size_t inner : outer.lists) result.push_back(lists_[inner].numbers);
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& fault) const {
    throw Error(name_ + ": its Python objects can't be read (only lists of integers are, and nothing is executed): " + fault);
  }

  const unsigned char* take(std::uint64_t bytes) {
    if (bytes > pickle_.size() - at_) fail("truncated");
    const auto* p = reinterpret_cast<const unsigned char*>(pickle_.data()) + at_;
    at_ += static_cast<std::size_t>(bytes);
    return p;
  }
  std::uint32_t byte() { return *take(1); }
  std::uint32_t word() { return little_endian_32(take(4)); }
  std::string_view line() {
    const std::size_t end = pickle_.find('\n', at_);
    if (end == std::string_view::npos) fail("truncated");
    const std::string_view text = pickle_.substr(at_, end - at_);
    at_ = end + 1;
    return text;
  }

  void push(Kind kind, std::int64_t number = 0) { stack_.push_back({kind, number}); }
  Value pop() {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= floor) fail("an instruction finds nothing to work on");
    const Value value = stack_.back();
    stack_.pop_back();
    return value;
  }
  Value pop(Kind kind, const char* what) {
    const Value value = pop();
    if (value.kind != kind) fail(std::string(what) + " is expected where something else stands");
    return value;
  }
  std::vector<Value> pop_to_mark() {
    if (marks_.empty()) fail("a mark is missing");
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Value> values(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return values;
  }

  void push_text(std::uint64_t bytes) {
    const auto* p = reinterpret_cast<const char*>(take(bytes));
    push(Kind::text, static_cast<std::int64_t>(texts_.size()));
    texts_.emplace_back(p, static_cast<std::size_t>(bytes));
  }
  void push_tuple(std::vector<Value> values) {
    push(Kind::tuple, static_cast<std::int64_t>(tuples_.size()));
    tuples_.push_back(std::move(values));
  }
  void push_short_tuple(std::size_t size) {
    std::vector<Value> values(size);
    for (std::size_t i = size; i-- > 0;) values[i] = pop();
    push_tuple(std::move(values));
  }
  void push_function(std::string_view called) {
    for (std::size_t i = 0; i < kFunctions.size(); ++i)
      if (kFunctions[i] == called) return push(Kind::function, static_cast<std::int64_t>(i));
    fail("it asks for `" + std::string(called.substr(0, 80)) + "`");
  }
  void push_long(std::uint32_t bytes) {
    if (bytes > 4) fail("a number is larger than 32 bits");
    const unsigned char* p = take(bytes);
    std::uint32_t bits = bytes > 0 && (p[bytes - 1] & 0x80) ? ~std::uint32_t{0} : 0;
    for (std::uint32_t i = 0; i < bytes; ++i) bits = (bits & ~(std::uint32_t{0xff} << (8 * i))) | (std::uint32_t{p[i]} << (8 * i));
    push(Kind::number, static_cast<std::int32_t>(bits));
  }

  void append(List& list, const Value& value) {
    if (value.kind == Kind::number) {
      list.numbers.push_back(static_cast<std::int32_t>(value.number));
    } else if (value.kind == Kind::list) {
      list.lists.push_back(static_cast<std::size_t>(value.number));
    } else {
      fail("a list holds something that is neither a number nor a list");
    }
    if (!list.numbers.empty() && !list.lists.empty()) fail("a list holds both numbers and lists");
  }
  List& list_below(std::size_t from_top) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() < floor + from_top || stack_[stack_.size() - from_top].kind != Kind::list) fail("there is no list to append to");
    return lists_[static_cast<std::size_t>(stack_[stack_.size() - from_top].number)];
  }
  void append_one() {
    const Value value = pop();
    append(list_below(1), value);
  }
  void append_marked() {
    if (marks_.empty()) fail("a mark is missing");
    const std::size_t first = marks_.back();
    marks_.pop_back();
    List& list = list_below(stack_.size() - first + 1);
    for (std::size_t i = first; i < stack_.size(); ++i) append(list, stack_[i]);
    stack_.resize(first);
  }

  // What a call would make, without making it.
  void reduce() {
    const std::vector<Value> arguments = tuples_[static_cast<std::size_t>(pop(Kind::tuple, "a tuple of arguments").number)];
    const auto function = static_cast<Function>(pop(Kind::function, "a function").number);
    switch (function) {
      case kReconstruct:
      case kReconstructInNumpy2:
        if (has_array_) fail("it holds more than one array");
        if (arguments.size() != 3 || arguments[0].kind != Kind::function || arguments[0].number != kNdarray)
          fail("it makes no plain array");
        has_array_ = true;
        return push(Kind::array);
      case kDtype:
        if (arguments.empty() || arguments[0].kind != Kind::text) fail("an element type has no name");
        return push(Kind::element_type, arguments[0].number);
      case kEncode:
        if (arguments.size() != 2 || arguments[0].kind != Kind::text) fail("a string is badly encoded");
        return push(Kind::text, arguments[0].number);
      default:
        fail("it calls what is not to be called");
    }
  }

  // An array's state: (version, shape, element type, Fortran order, elements). That of an element type is not needed.
  void build() {
    const Value state = pop(Kind::tuple, "a tuple");
    if (stack_.empty()) fail("there is nothing to build");
    if (stack_.back().kind == Kind::element_type) return;
    if (stack_.back().kind != Kind::array || built_) fail("it builds something that is no array");
    const std::vector<Value>& parts = tuples_[static_cast<std::size_t>(state.number)];
    if (parts.size() != 5 || parts[1].kind != Kind::tuple || parts[2].kind != Kind::element_type || parts[4].kind != Kind::list)
      fail("the array's state is not known");
    const std::string& type = texts_[static_cast<std::size_t>(parts[2].number)];
    if (type.empty() || (type[0] != 'O' && type != "|O")) fail("the array's elements are `" + type.substr(0, 20) + "`");
    const std::vector<Value>& shape = tuples_[static_cast<std::size_t>(parts[1].number)];
    elements_ = static_cast<std::size_t>(parts[4].number);
    if (shape.size() != 1 || shape[0].kind != Kind::number || static_cast<std::uint64_t>(shape[0].number) != lists_[elements_].lists.size())
      fail("the array's shape is not that of its elements");
    built_ = true;
  }

  void put(std::uint64_t key) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= floor) fail("there is nothing to remember");
    memo_[key] = stack_.back();
  }
  void get(std::uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) fail("it asks for something it never remembered");
    stack_.push_back(found->second);
  }

  // One instruction; false at the last.
  bool step() {
    switch (const std::uint32_t opcode = byte(); opcode) {
      case kProto:
        if (const std::uint32_t version = byte(); version < 2 || version > 5) fail("protocol " + std::to_string(version));
        break;
      case kFrame:
        take(8);
        break;
      case kMark:
        marks_.push_back(stack_.size());
        break;
      case kBinInt:
        push(Kind::number, static_cast<std::int32_t>(word()));
        break;
      case kBinInt1:
        push(Kind::number, byte());
        break;
      case kBinInt2:
        push(Kind::number, little_endian_16(take(2)));
        break;
      case kLong1:
        push_long(byte());
        break;
      case kNone:
      case kNewTrue:
      case kNewFalse:
        push(Kind::none);
        break;
      case kBinString:
      case kBinUnicode:
      case kBinBytes:
        push_text(word());
        break;
      case kShortBinString:
      case kShortBinUnicode:
      case kShortBinBytes:
        push_text(byte());
        break;
      case kGlobal: {
        const std::string_view module = line();
        push_function(std::string(module) + " " + std::string(line()));
        break;
      }
      case kStackGlobal: {
        const std::string& called = texts_[static_cast<std::size_t>(pop(Kind::text, "a name").number)];
        push_function(texts_[static_cast<std::size_t>(pop(Kind::text, "a module").number)] + " " + called);
        break;
      }
      case kTuple:
        push_tuple(pop_to_mark());
        break;
      case kEmptyTuple:
      case kTuple1:
      case kTuple2:
      case kTuple3:
        push_short_tuple(opcode == kEmptyTuple ? 0 : opcode - kTuple1 + 1);
        break;
      case kEmptyList:
        push(Kind::list, static_cast<std::int64_t>(lists_.size()));
        lists_.emplace_back();
        break;
      case kAppend:
        append_one();
        break;
      case kAppends:
        append_marked();
        break;
      case kBinPut:
        put(byte());
        break;
      case kLongBinPut:
        put(word());
        break;
      case kMemoize:
        put(memo_.size());
        break;
      case kBinGet:
        get(byte());
        break;
      case kLongBinGet:
        get(word());
        break;
      case kReduce:
        reduce();
        break;
      case kBuild:
        build();
        break;
      case kStop:
        return false;
      default:
        fail("instruction " + std::to_string(opcode) + " at byte " + std::to_string(at_ - 1) + " is not one of those obeyed");
    }
    return true;
  }

  const std::string& name_;
  std::string_view pickle_;
  std::size_t at_ = 0;
  std::vector<Value> stack_;
  std::vector<std::size_t> marks_;  // heights of the stack
  std::unordered_map<std::uint64_t, Value> memo_;
  std::vector<std::string> texts_;
  std::vector<std::vector<Value>> tuples_;
  std::vector<List> lists_;
  bool has_array_ = false;
  bool built_ = false;
  std::size_t elements_ = 0;  // the list of the array's elements
};

}  // namespace

std::vector<std::vector<std::int32_t>> parse_pickled_lists(const std::string& name, std::string_view pickle, std::uint64_t count) {
  return Machine(name, pickle).run(count);
}

}  // namespace lockstep
