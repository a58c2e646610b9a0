// Basic blocks and post-dominators.
#include "simulator/gpu/ptx/control_flow.h"

#include <algorithm>

#include "simulator/gpu/ptx/opcode_names.h"
#include "simulator/gpu/ptx/token_reader.h"

namespace lockstep::ptx {

namespace {

enum class Ending { none, branch, table, finish, leave };

Ending ending_of(const syntax::Statement& statement) {
  const std::string name = canonical_opcode(statement.opcode);
  if (name == "bra") return Ending::branch;
  if (name == "brx.idx") return Ending::table;
  if (name == "ret") return Ending::finish;
  if ((name == "exit" || name == "trap") && statement.guard < 0) return Ending::leave;
  return Ending::none;
}

int statement_at(const syntax::Function& function, const std::string& label, int line) {
  const auto found = function.labels.find(label);
  if (found == function.labels.end()) TokenReader::refuse_at(line, "there is no label '" + label + "'");
  return found->second;
}

std::vector<int> targets_of(const syntax::Function& function, const syntax::Statement& statement, Ending ending) {
  std::vector<int> targets;
  const auto& operands = statement.operands;
  if (ending == Ending::branch) {
    if (operands.size() != 1 || operands[0].kind != syntax::Operand::Kind::symbol) {
      TokenReader::refuse_at(statement.line, "'" + statement.opcode + "' needs a label");
    }
    targets.push_back(statement_at(function, operands[0].name, statement.line));
  } else if (ending == Ending::table) {
    const auto found = operands.size() == 2 ? function.branches.find(operands[1].name) : function.branches.end();
    if (found == function.branches.end())
      TokenReader::refuse_at(statement.line, "'" + statement.opcode + "' needs a list of .branchtargets");
    for (const std::string& label : found->second) targets.push_back(statement_at(function, label, statement.line));
  }
  return targets;
}

}  // namespace

// Cooper, Harvey and Kennedy's iteration, on the reversed graph from its end.
std::vector<int> immediate_post_dominators(const FlowGraph& graph) {
  const int end = static_cast<int>(graph.successors.size());
  std::vector<std::vector<int>> sources(static_cast<std::size_t>(end) + 1);
  for (int node = 0; node < end; ++node) {
    for (const int next : graph.successors[static_cast<std::size_t>(node)]) sources[static_cast<std::size_t>(next)].push_back(node);
  }
  // Nodes in postorder of a walk backwards from the end, without recursion.
  std::vector<int> order, number(static_cast<std::size_t>(end) + 1, -1);
  std::vector<std::pair<int, std::size_t>> stack = {{end, 0}};
  std::vector<bool> seen(static_cast<std::size_t>(end) + 1, false);
  seen[static_cast<std::size_t>(end)] = true;
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    const auto& from = sources[static_cast<std::size_t>(node)];
    if (next < from.size()) {
      const int source = from[next++];
      if (!seen[static_cast<std::size_t>(source)]) {
        seen[static_cast<std::size_t>(source)] = true;
        stack.emplace_back(source, 0);
      }
    } else {
      number[static_cast<std::size_t>(node)] = static_cast<int>(order.size());
      order.push_back(node);
      stack.pop_back();
    }
  }
  std::vector<int> dominator(static_cast<std::size_t>(end) + 1, -1);
  dominator[static_cast<std::size_t>(end)] = end;
  const auto common = [&](int a, int b) {
    while (a != b) {
      while (number[static_cast<std::size_t>(a)] < number[static_cast<std::size_t>(b)]) a = dominator[static_cast<std::size_t>(a)];
      while (number[static_cast<std::size_t>(b)] < number[static_cast<std::size_t>(a)]) b = dominator[static_cast<std::size_t>(b)];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
      if (*node == end) continue;
      int best = -1;
      for (const int next : graph.successors[static_cast<std::size_t>(*node)]) {
        if (dominator[static_cast<std::size_t>(next)] < 0) continue;
        best = best < 0 ? next : common(best, next);
      }
      if (best != dominator[static_cast<std::size_t>(*node)]) {
        dominator[static_cast<std::size_t>(*node)] = best;
        changed = true;
      }
    }
  }
  std::vector<int> result(dominator.begin(), dominator.end() - 1);
  for (int& node : result) {
    if (node < 0) node = end;
  }
  return result;
}

BasicBlocks basic_blocks(const syntax::Function& function) {
  const int count = static_cast<int>(function.statements.size());
  std::vector<bool> leads(static_cast<std::size_t>(count) + 1, false);
  leads[0] = true;
  for (const auto& [label, statement] : function.labels) leads[static_cast<std::size_t>(statement)] = true;
  for (int i = 0; i < count; ++i) {
    const Ending ending = ending_of(function.statements[static_cast<std::size_t>(i)]);
    if (ending == Ending::none) continue;
    leads[static_cast<std::size_t>(i) + 1] = true;
  }
  BasicBlocks blocks;
  blocks.block_of.resize(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    if (leads[static_cast<std::size_t>(i)]) blocks.first.push_back(i);
    blocks.block_of[static_cast<std::size_t>(i)] = static_cast<int>(blocks.first.size()) - 1;
  }
  const int end = static_cast<int>(blocks.first.size());
  const auto block_at = [&](int statement) { return statement < count ? blocks.block_of[static_cast<std::size_t>(statement)] : end; };
  FlowGraph graph;
  std::vector<bool> splits(static_cast<std::size_t>(end), false);
  for (int b = 0; b < end; ++b) {
    const int after = b + 1 < end ? blocks.first[static_cast<std::size_t>(b) + 1] : count;
    const syntax::Statement& last = function.statements[static_cast<std::size_t>(after) - 1];
    const Ending ending = ending_of(last);
    std::vector<int> next;
    for (const int target : targets_of(function, last, ending)) next.push_back(block_at(target));
    if (ending == Ending::finish) next.push_back(end);
    if (ending == Ending::none || (last.guard >= 0 && ending != Ending::leave)) next.push_back(b + 1);
    splits[static_cast<std::size_t>(b)] = next.size() > 1;
    graph.successors.push_back(std::move(next));
  }
  blocks.meeting = immediate_post_dominators(graph);
  blocks.joins.assign(static_cast<std::size_t>(end) + 1, false);
  for (int b = 0; b < end; ++b) {
    if (splits[static_cast<std::size_t>(b)]) blocks.joins[static_cast<std::size_t>(blocks.meeting[static_cast<std::size_t>(b)])] = true;
  }
  return blocks;
}

}  // namespace lockstep::ptx
