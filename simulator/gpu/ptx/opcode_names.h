// Spellings of instructions that mean the same operation: hints for caches, orders of memory that a machine with one order always keeps,
// and promises about control flow.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::ptx {

struct IgnoredModifier {
  std::string_view opcode;
  std::string_view modifier;
};
const std::vector<IgnoredModifier>& ignored_modifiers();

// Whole instructions that are another one: "barrier.sync" is "bar.sync".
struct Synonym {
  std::string_view spelled;
  std::string_view canonical;
};
const std::vector<Synonym>& synonyms();

// "ld.volatile.global.f32" is "ld.global.f32".
std::string canonical_opcode(const std::string& opcode);

}  // namespace lockstep::ptx
