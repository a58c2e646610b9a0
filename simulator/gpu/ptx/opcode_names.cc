// Which modifiers change nothing here.
#include "simulator/gpu/ptx/opcode_names.h"

#include <algorithm>

namespace lockstep::ptx {

const std::vector<IgnoredModifier>& ignored_modifiers() {
  static const std::vector<IgnoredModifier> all = [] {
    std::vector<IgnoredModifier> list;
    for (const std::string_view opcode : {"ld", "st", "atom", "red"}) {
      for (const std::string_view modifier : {"relaxed", "cta", "cluster", "gpu", "sys"}) list.push_back({opcode, modifier});
    }
    for (const std::string_view opcode : {"ld", "st"}) {
      for (const std::string_view modifier : {"weak", "volatile", "cg", "cs", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first",
                                              "L1::evict_last", "L1::no_allocate"}) {
        list.push_back({opcode, modifier});
      }
    }
    for (const std::string_view modifier : {"acquire", "nc", "ca", "lu", "cv", "L2::64B", "L2::128B", "L2::256B"})
      list.push_back({"ld", modifier});
    for (const std::string_view modifier : {"release", "wb", "wt"}) list.push_back({"st", modifier});
    for (const std::string_view modifier : {"acquire", "release", "acq_rel"}) list.push_back({"atom", modifier});
    list.push_back({"red", "release"});
    for (const std::string_view modifier : {"L2::64B", "L2::128B", "L2::256B"}) list.push_back({"cp", modifier});
    for (const std::string_view opcode : {"bra", "call", "ret", "brx"}) list.push_back({opcode, "uni"});
    for (const std::string_view opcode : {"bar", "barrier"}) {
      for (const std::string_view modifier : {"cta", "aligned"}) list.push_back({opcode, modifier});
    }
    return list;
  }();
  return all;
}

const std::vector<Synonym>& synonyms() {
  static const std::vector<Synonym> all = {{"barrier.sync", "bar.sync"},
                                           {"barrier.arrive", "bar.arrive"},
                                           {"barrier.red.popc.u32", "bar.red.popc.u32"},
                                           {"barrier.red.and.pred", "bar.red.and.pred"},
                                           {"barrier.red.or.pred", "bar.red.or.pred"},
                                           {"membar.cta", "fence"},
                                           {"membar.gl", "fence"},
                                           {"membar.sys", "fence"},
                                           {"fence.sc.cta", "fence"},
                                           {"fence.sc.gpu", "fence"},
                                           {"fence.sc.sys", "fence"},
                                           {"fence.acq_rel.cta", "fence"},
                                           {"fence.acq_rel.gpu", "fence"},
                                           {"fence.acq_rel.sys", "fence"},
                                           {"prefetch.global.L1", "prefetch"},
                                           {"prefetch.global.L2", "prefetch"},
                                           {"prefetch.L1", "prefetch"},
                                           {"prefetch.L2", "prefetch"},
                                           {"prefetchu.L1", "prefetch"}};
  return all;
}

std::string canonical_opcode(const std::string& opcode) {
  const std::string first = opcode.substr(0, opcode.find('.'));
  const auto& ignored = ignored_modifiers();
  std::string result = first;
  for (std::size_t at = first.size(); at < opcode.size();) {
    const std::size_t end = std::min(opcode.find('.', at + 1), opcode.size());
    std::string part = opcode.substr(at + 1, end - at - 1);
    at = end;
    if (part == "shared::cta") part = "shared";
    if (part == "param::entry" || part == "param::func") part = "param";
    const bool drop =
        std::any_of(ignored.begin(), ignored.end(), [&](const IgnoredModifier& m) { return m.opcode == first && m.modifier == part; });
    if (!drop) result += "." + part;
  }
  for (const Synonym& synonym : synonyms()) {
    if (synonym.spelled == result) return std::string(synonym.canonical);
  }
  return result;
}

}  // namespace lockstep::ptx
