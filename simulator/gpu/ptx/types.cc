// Names and widths of types and state spaces.
#include "simulator/gpu/ptx/types.h"

#include <array>
#include <utility>

namespace lockstep::ptx {

namespace {

struct Row {
  std::string_view name;
  int bytes;
  bool floating;
};
// In the order of Type.
constexpr std::array<Row, 19> kTypes = {{{"pred", 0, false},
                                         {"b8", 1, false},
                                         {"b16", 2, false},
                                         {"b32", 4, false},
                                         {"b64", 8, false},
                                         {"u8", 1, false},
                                         {"u16", 2, false},
                                         {"u32", 4, false},
                                         {"u64", 8, false},
                                         {"s8", 1, false},
                                         {"s16", 2, false},
                                         {"s32", 4, false},
                                         {"s64", 8, false},
                                         {"f16", 2, true},
                                         {"bf16", 2, true},
                                         {"f16x2", 4, true},
                                         {"bf16x2", 4, true},
                                         {"f32", 4, true},
                                         {"f64", 8, true}}};
const Row& row(Type type) { return kTypes[static_cast<std::size_t>(type)]; }

constexpr std::array<std::string_view, 7> kSpaces = {"none", "generic", "global", "shared", "local", "const", "param"};

}  // namespace

std::optional<Type> type_named(std::string_view name) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<Type>(i);
  }
  return std::nullopt;
}
std::string_view name_of(Type type) { return row(type).name; }
int bytes_of(Type type) { return row(type).bytes; }
bool is_floating(Type type) { return row(type).floating; }

std::optional<Space> space_named(std::string_view name) {
  if (name == "shared::cta") return Space::shared;
  if (name == "param::entry" || name == "param::func") return Space::param;
  for (std::size_t i = 2; i < kSpaces.size(); ++i) {
    if (kSpaces[i] == name) return static_cast<Space>(i);
  }
  return std::nullopt;
}
std::string_view name_of(Space space) { return kSpaces[static_cast<std::size_t>(space)]; }

}  // namespace lockstep::ptx
