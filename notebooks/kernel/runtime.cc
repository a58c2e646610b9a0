// What cells call (include/xcpp/kernel.hpp), compiled beforehand so that a cell need not.
#include <nlohmann/json.hpp>
#include <sstream>

#include "include/xcpp/kernel.hpp"
#include "runtime.h"

template class nlohmann::basic_json<>;  // for cells that use it (include/xcpp/xmime.hpp)

using nlohmann::json;

namespace {

std::string dumped(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

template <typename T>
std::string printed(T value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace

namespace xcpp_kernel {

void publish(const char* kind, const std::string& bundle, const std::string& display_id) {
  json data = json::parse(bundle, nullptr, false);
  if (data.is_discarded()) data = {{"text/plain", bundle}};
  lockstep::kernel::send_to_kernel({{"type", kind}, {"data", data}, {"display_id", display_id}});
}

}  // namespace xcpp_kernel

namespace xcpp {

mime_bundle& mime_bundle::add(const std::string& type, const std::string& text) {
  json_.pop_back();
  json_ += (json_.size() > 1 ? "," : "") + dumped(type) + ":" + dumped(text) + "}";
  return *this;
}

void clear_output(bool wait) { lockstep::kernel::send_to_kernel({{"type", "clear"}, {"wait", wait}}); }

namespace text {

std::string quoted(const std::string& value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string number(long long value) { return std::to_string(value); }
std::string number(unsigned long long value) { return std::to_string(value); }
std::string number(double value) { return printed(value); }
std::string number(float value) { return printed(value); }
std::string address(const void* value) { return printed(value); }

}  // namespace text
}  // namespace xcpp
