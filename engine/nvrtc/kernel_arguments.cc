#include "engine/nvrtc/kernel_arguments.h"

#include <cmath>
#include <cstring>
#include <map>

#include "lockstep/error.h"

namespace lockstep {

namespace {

using Kind = CudaArgument::Kind;

std::string described(const KernelParameter& parameter) {
  if (parameter.known()) return parameter.type;
  if (parameter.kind == KernelParameter::Kind::bytes) return "structure of " + std::to_string(parameter.bytes) + " bytes";
  if (parameter.is_pointer()) return "pointer or 64-bit integer";
  const std::string bits = std::to_string(8 * parameter.bytes);
  return bits + (parameter.kind == KernelParameter::Kind::real ? "-bit float" : "-bit integer");
}

std::string all_described(const KernelSignature& kernel) {
  std::string text;
  for (const KernelParameter& parameter : kernel.parameters) text += (text.empty() ? "" : ", ") + described(parameter);
  return text;
}

std::string element_of(const KernelParameter& pointer) {
  std::string type = pointer.type.substr(0, pointer.type.size() - 1);
  if (const std::size_t at = type.rfind(" const"); at != std::string::npos && at + 6 == type.size()) type.resize(at);
  return type;
}

// Where the kernel's name says what it points to, and an Array can't be that.
void check_elements(const KernelParameter& pointer, DType dtype, const std::string& where) {
  static const std::map<std::string, DType> kHeld = {{"float", DType::float32}, {"int", DType::int32}, {"unsigned int", DType::int32}};
  static const std::vector<std::string> kNotHeld = {"double", "long",           "unsigned long", "long long",    "unsigned long long",
                                                    "short",  "unsigned short", "__half",        "__nv_bfloat16"};
  if (!pointer.known()) return;
  const std::string element = element_of(pointer);
  const auto held = kHeld.find(element);
  const std::string given = dtype == DType::float32 ? "float32" : "int32";
  bool fits = held == kHeld.end() || held->second == dtype;
  for (const std::string& type : kNotHeld) fits = fits && element != type;
  if (!fits)
    throw Error(where + "an Array of " + given + " was given. Fix: an Array whose elements are " + element + ", or another parameter.");
}

// Whether an integer parameter holds the value. Without a type's name the sign is not known, and both are accepted.
bool holds(const KernelParameter& parameter, bool negative, std::uint64_t bits) {
  const std::size_t width = 8 * parameter.bytes;
  const std::uint64_t most = width >= 64 ? ~0ULL : (1ULL << width) - 1;
  const bool is_unsigned = parameter.type.rfind("unsigned", 0) == 0;
  if (negative) return !is_unsigned && (width >= 64 || static_cast<std::int64_t>(bits) >= -static_cast<std::int64_t>((most >> 1) + 1));
  if (parameter.type == "bool") return bits <= 1;
  return bits <= (parameter.known() && !is_unsigned ? most >> 1 : most);
}

void store_integer(const KernelParameter& parameter, const CudaArgument& argument, const std::string& where, BoundArgument& bound) {
  bool negative = argument.kind() == Kind::integer && argument.integer() < 0;
  auto bits = static_cast<std::uint64_t>(argument.integer());
  bool fits = true;
  if (argument.kind() == Kind::real) {
    constexpr double kMost = 9.2e18;  // below 2^63
    fits = std::abs(argument.real()) < kMost && std::trunc(argument.real()) == argument.real();
    negative = argument.real() < 0;
    bits = fits ? static_cast<std::uint64_t>(static_cast<std::int64_t>(argument.real())) : 0;
  }
  if (!fits || !holds(parameter, negative, bits)) {
    std::string value = argument.kind() == Kind::real ? std::to_string(argument.real())
                        : negative                    ? std::to_string(argument.integer())
                                                      : std::to_string(bits);
    throw Error(where + "it can't hold the value " + value + ".");
  }
  std::memcpy(bound.bytes, &bits, parameter.bytes);
}

void store_real(const KernelParameter& parameter, const CudaArgument& argument, BoundArgument& bound) {
  const double value =
      argument.kind() == Kind::natural ? static_cast<double>(static_cast<std::uint64_t>(argument.integer())) : argument.real();
  if (parameter.bytes == sizeof(double)) {
    std::memcpy(bound.bytes, &value, sizeof(value));
  } else {
    const auto narrow = static_cast<float>(value);
    std::memcpy(bound.bytes, &narrow, sizeof(narrow));
  }
}

}  // namespace

std::vector<BoundArgument> bind_arguments(const KernelSignature& kernel, const std::vector<CudaArgument>& arguments) {
  const std::size_t count = kernel.parameters.size();
  if (arguments.size() != count) {
    throw Error("Kernel '" + kernel.readable + "' takes " + std::to_string(count) + (count == 1 ? " argument" : " arguments") +
                (count > 0 ? " (" + all_described(kernel) + ")" : "") + ", and " + std::to_string(arguments.size()) +
                (arguments.size() == 1 ? " was given." : " were given."));
  }
  std::vector<BoundArgument> bound(count);
  for (std::size_t i = 0; i < count; ++i) {
    const KernelParameter& parameter = kernel.parameters[i];
    const CudaArgument& argument = arguments[i];
    const std::string where = "Kernel '" + kernel.readable + "', argument " + std::to_string(i + 1) + " (" + described(parameter) + "): ";
    if (argument.kind() == Kind::array) {
      if (!parameter.is_pointer()) throw Error(where + "an Array was given, and it is no pointer.");
      check_elements(parameter, argument.array().dtype(), where);
    } else if (parameter.kind == KernelParameter::Kind::bytes) {
      throw Error(where + "a structure can't be passed. Fix: pass its members.");
    } else if (parameter.known() && parameter.is_pointer()) {
      throw Error(where + "a number was given. Fix: pass an Array.");
    } else if (parameter.kind == KernelParameter::Kind::real) {
      store_real(parameter, argument, bound[i]);
    } else {
      store_integer(parameter, argument, where, bound[i]);
    }
  }
  return bound;
}

}  // namespace lockstep
