// The two trees of a double binary tree all-reduce; see direct/tree_all_reduce.cc.
#pragma once

#include "simulator/gpu/nccl/exchange.h"

namespace lockstep::sim::nccl {

struct TreeNode {
  int parent = -1;
  int children[2] = {-1, -1};
};

TreeNode tree_node(int tree, int ranks, int rank);
// The half of the elements that goes through the tree.
inline Range tree_half(std::size_t count, int tree) { return piece_of({0, count}, 2, static_cast<std::size_t>(tree)); }

}  // namespace lockstep::sim::nccl
