// Where the ways of a function meet again.
//
// Lanes that took different ways at a branch come together at its immediate post-dominator: the first place that every way to the
// function's end passes. Ways that never end (exit, trap, a loop for ever) do not count.
#pragma once

#include <vector>

#include "simulator/gpu/ptx/syntax.h"

namespace lockstep::ptx {

// A graph with nodes 0 to n-1 and the end as node n.
struct FlowGraph {
  std::vector<std::vector<int>> successors;  // of each node; n is the end
};
// For each node the immediate post-dominator; n for the end, and for nodes from which the end is not reached.
std::vector<int> immediate_post_dominators(const FlowGraph& graph);

struct BasicBlocks {
  std::vector<int> first;     // the first statement of each block
  std::vector<int> block_of;  // for each statement
  std::vector<int> meeting;   // for each block: the block where its branches meet, or the number of blocks for the function's end
  std::vector<bool> joins;    // whether branches meet at a block
};
// Throws Error for a label that is not there.
BasicBlocks basic_blocks(const syntax::Function& function);

}  // namespace lockstep::ptx
