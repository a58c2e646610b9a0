// What cells call (include/xcpp/kernel.hpp), compiled beforehand so that a cell need not.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "notebooks/kernel/include/xcpp/kernel.hpp"
#include "notebooks/kernel/runtime.h"

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

void timeit(int loops, int runs, void (*call)(void*), void* body) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_of = [&](long count) {
    const auto begin = Clock::now();
    for (long i = 0; i < count; ++i) {
      safe_point();
      call(body);
    }
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  long count = loops;
  if (loops == 0) {
    count = 1;
    while (seconds_of(count) < 0.2 && count < 1'000'000'000) count *= 10;
  }
  double sum = 0, squares = 0;
  for (int run = 0; run < runs; ++run) {
    const double one = seconds_of(count) / static_cast<double>(count);
    sum += one;
    squares += one * one;
  }
  const double mean = sum / runs, deviation = std::sqrt(std::max(0.0, squares / runs - mean * mean));
  const auto told = [](double seconds) {
    const char* const unit = seconds < 1e-6 ? "ns" : seconds < 1e-3 ? "us" : seconds < 1 ? "ms" : "s";
    const double scale = seconds < 1e-6 ? 1e9 : seconds < 1e-3 ? 1e6 : seconds < 1 ? 1e3 : 1;
    std::ostringstream out;
    out << std::setprecision(3) << seconds * scale << " " << unit;
    return out.str();
  };
  std::cout << told(mean) << " +- " << told(deviation) << " per loop (mean and deviation of " << runs << " runs of " << count << " loops)"
            << std::endl;
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
