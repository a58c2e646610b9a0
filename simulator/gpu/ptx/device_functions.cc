// printf and assert for each lane in turn.
#include "simulator/gpu/ptx/device_functions.h"

#include <bit>
#include <cstdio>
#include <cstring>
#include <string>

#include "simulator/gpu/ptx/code.h"
#include "simulator/gpu/ptx/memory.h"

namespace lockstep::ptx {

namespace {

constexpr std::size_t kMostText = 4096;

template <typename T>
T read_local(const Warp& warp, int lane, std::uint64_t offset) {
  T value;
  std::memcpy(&value, located(warp, Space::local, offset, sizeof(T), lane), sizeof(T));
  return value;
}

std::string text_at(const Warp& warp, int lane, std::uint64_t address) {
  std::string text;
  for (; text.size() < kMostText; ++address) {
    const char c = static_cast<char>(*located(warp, Space::generic, address, 1, lane));
    if (c == '\0') break;
    text += c;
  }
  return text;
}

// Arguments lie one after the other, each aligned to its size.
class Arguments {
 public:
  Arguments(const Warp& warp, int lane, std::uint64_t address) : warp_(warp), lane_(lane), address_(address) {}
  template <typename T>
  T next() {
    offset_ = (offset_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value;
    std::memcpy(&value, located(warp_, Space::generic, address_ + offset_, sizeof(T), lane_), sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

 private:
  const Warp& warp_;
  int lane_;
  std::uint64_t address_;
  std::uint64_t offset_ = 0;
};

template <typename T>
std::string formatted(const std::string& format, T value) {
  char buffer[1024];
  const int length = std::snprintf(buffer, sizeof(buffer), format.c_str(), value);
  return std::string(buffer, length < 0 ? 0 : std::min<std::size_t>(static_cast<std::size_t>(length), sizeof(buffer) - 1));
}

std::string conversion(const Warp& warp, int lane, std::string format, bool wide, Arguments& arguments) {
  const char last = format.back();
  switch (last) {
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      format.insert(format.size() - 1, "ll");
      if (wide) return formatted(format, arguments.next<long long>());
      if (last == 'd' || last == 'i') return formatted(format, static_cast<long long>(arguments.next<int>()));
      return formatted(format, static_cast<long long>(arguments.next<unsigned>()));
    case 'c':
      return formatted(format, arguments.next<int>());
    case 'p':
      return formatted(format, reinterpret_cast<void*>(arguments.next<std::uint64_t>()));
    case 's':
      return formatted(format, text_at(warp, lane, arguments.next<std::uint64_t>()).c_str());
    default:
      return formatted(format, arguments.next<double>());
  }
}

std::string print(const Warp& warp, int lane, std::uint64_t format_address, std::uint64_t arguments_address, int& printed) {
  const std::string format = text_at(warp, lane, format_address);
  Arguments arguments(warp, lane, arguments_address);
  std::string text;
  printed = 0;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      text += format[i];
      continue;
    }
    std::size_t end = format.find_first_not_of("-+ #0123456789.", i + 1);
    std::string one = format.substr(i, (end == std::string::npos ? format.size() : end) - i);
    bool wide = false;
    for (; end < format.size() && std::string("hljzt").find(format[end]) != std::string::npos; ++end) wide = wide || format[end] != 'h';
    if (end >= format.size() || std::string("diuxXocpsfFeEgGaA%").find(format[end]) == std::string::npos || one.size() > 32) {
      text += format.substr(i);
      break;
    }
    one += format[end];
    text += format[end] == '%' ? "%" : conversion(warp, lane, one, wide, arguments);
    printed += format[end] == '%' ? 0 : 1;
    i = end;
  }
  return text;
}

}  // namespace

void call_device_function(Warp& warp, std::int64_t function, const std::uint32_t* slots, Mask active) {
  const std::uint32_t* arguments = slots + 2 + slots[0];
  const std::uint64_t frame = warp.frame_local;
  for (Mask left = active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (function == kPrintf) {
      int printed = 0;
      const std::string text = print(warp, lane, read_local<std::uint64_t>(warp, lane, frame + arguments[0]),
                                     read_local<std::uint64_t>(warp, lane, frame + arguments[1]), printed);
      if (warp.block->printed != nullptr)
        *warp.block->printed += text;
      else
        std::fwrite(text.data(), 1, text.size(), stdout);
      if (slots[0] == 1) std::memcpy(located(warp, Space::local, frame + slots[1], sizeof(int), lane), &printed, sizeof(int));
    } else {
      const std::string message = text_at(warp, lane, read_local<std::uint64_t>(warp, lane, frame + arguments[0]));
      const std::string file = text_at(warp, lane, read_local<std::uint64_t>(warp, lane, frame + arguments[1]));
      const auto line = read_local<std::uint32_t>(warp, lane, frame + arguments[2]);
      throw Fault{lane, "assertion '" + message + "' does not hold (" + file + ", line " + std::to_string(line) + ")", Failure::assertion};
    }
  }
}

}  // namespace lockstep::ptx
