// What every cell can use without including it: read once when the kernel starts.
//
// xcpp::display, xcpp::clear_output and mime_bundle_repr are xeus-cling's. A type is shown by its mime_bundle_repr, found beside the type;
// that may return nlohmann::json, as there, or xcpp::mime_bundle, which needs no header. Types without one are shown as text.
#pragma once

#define LOCKSTEP_NOTEBOOK_KERNEL 1  // for headers that show things

#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

namespace xcpp_kernel {

void mark(int line);  // called when a cell reaches this line; throws when it was interrupted
void safe_point();    // called at each iteration of a loop; throws when the cell was interrupted
void publish(const char* kind, const std::string& bundle, const std::string& display_id);  // "result", "display" or "update"

// %timeit: prints how long one call takes. Loops: 0 for as many as take a fifth of a second.
void timeit(int loops, int runs, void (*call)(void*), void* body);
template <typename F>
void timeit(int loops, int runs, F body) {
  timeit(
      loops, runs, [](void* one) { (*static_cast<F*>(one))(); }, &body);
}

}  // namespace xcpp_kernel

namespace xcpp {

// MIME types and what to show, as JSON text.
class mime_bundle {
 public:
  mime_bundle& add(const std::string& type, const std::string& text);
  const std::string& dump() const { return json_; }

 private:
  std::string json_ = "{}";
};

namespace text {

template <typename T, typename = void>
struct is_printable : std::false_type {};
template <typename T>
struct is_printable<T, std::void_t<decltype(std::declval<std::ostream&>() << std::declval<const T&>())>> : std::true_type {};
template <typename T, typename = void>
struct is_range : std::false_type {};
template <typename T>
struct is_range<T, std::void_t<decltype(std::declval<const T&>().begin() != std::declval<const T&>().end())>> : std::true_type {};
template <typename T, typename = void>
struct is_pair : std::false_type {};
template <typename T>
struct is_pair<T, std::void_t<typename T::first_type, typename T::second_type>> : std::true_type {};

std::string quoted(const std::string& value);
std::string number(long long value);
std::string number(unsigned long long value);
std::string number(double value);
std::string number(float value);
std::string address(const void* value);

template <typename T>
std::string type_name() {
  const std::string whole = __PRETTY_FUNCTION__;  // "... [T = int]"
  const std::size_t begin = whole.find("T = ") + 4;
  return whole.substr(begin, whole.rfind(']') - begin);
}

template <typename T>
std::string of(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, char>) {
    return std::string("'") + value + "'";
  } else if constexpr (std::is_convertible_v<const T&, std::string>) {
    return quoted(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    if constexpr (std::is_same_v<T, float>) {
      return number(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      return number(static_cast<double>(value));
    } else if constexpr (std::is_signed_v<T>) {
      return number(static_cast<long long>(value));
    } else {
      return number(static_cast<unsigned long long>(value));
    }
  } else if constexpr (std::is_enum_v<T>) {
    return of(static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_array_v<T>) {
    std::string out = "{ ";
    const char* comma = "";
    for (const auto& one : value) out += comma + of(one), comma = ", ";
    return out + " }";
  } else if constexpr (is_pair<T>::value) {
    return "{ " + of(value.first) + ", " + of(value.second) + " }";
  } else if constexpr (is_printable<T>::value && !std::is_pointer_v<T>) {
    std::ostringstream out;
    out << value;
    return out.str();
  } else if constexpr (is_range<T>::value) {
    constexpr int kMost = 100;
    std::string out = "{ ";
    int count = 0;
    for (const auto& one : value) {
      if (count == kMost) {
        out += ", ...";
        break;
      }
      out += (count++ ? ", " : "") + of(one);
    }
    return out + " }";
  } else if constexpr (std::is_pointer_v<T>) {
    return address(reinterpret_cast<const void*>(value));
  } else {
    return "<" + type_name<T>() + ">";
  }
}

}  // namespace text

template <typename T>
mime_bundle mime_bundle_repr(const T& value) {
  return mime_bundle().add("text/plain", text::of(value));
}

template <typename T>
void display(const T& value) {
  using ::xcpp::mime_bundle_repr;
  ::xcpp_kernel::publish("display", mime_bundle_repr(value).dump(), "");
}
// The same display again: update replaces what was shown with this id.
template <typename T>
void display(const T& value, const std::string& id, bool update = false) {
  using ::xcpp::mime_bundle_repr;
  ::xcpp_kernel::publish(update ? "update" : "display", mime_bundle_repr(value).dump(), id);
}
void clear_output(bool wait = false);

}  // namespace xcpp

namespace xcpp_kernel {

// `show((expression, nothing))`: the comma takes the value, if there is one.
struct Nothing {};
constexpr Nothing nothing{};
template <typename T>
struct Value {
  const T& value;
};
template <typename T>
Value<std::remove_reference_t<T>> operator,(T&& value, Nothing) {
  return {value};
}
inline void show(Nothing) {}
template <typename T>
void show(const Value<T>& shown) {
  using ::xcpp::mime_bundle_repr;
  const auto bundle = mime_bundle_repr(shown.value);
  publish("result", bundle.dump(), "");
}

}  // namespace xcpp_kernel
