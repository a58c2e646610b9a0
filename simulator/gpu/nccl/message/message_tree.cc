// The double binary tree, over messages; see tree_all_reduce.cc for the trees and the order of summation.
//
// First up both trees, then down both: every pair of ranks sends and receives in this order, as a flow requires.
#include "simulator/gpu/nccl/double_tree.h"
#include "simulator/gpu/nccl/message/message_rank.h"

namespace lockstep::sim::nccl {

Task tree_all_reduce(MessageRank& me) {
  const int n = me.ranks();
  for (int tree = 0; tree < 2; ++tree) {  // up
    const TreeNode node = tree_node(tree, n, me.rank());
    const Range half = tree_half(me.what().count, tree);
    if (half.size() == 0) continue;
    if (node.parent >= 0) me.message(half);
    for (const Range range : in_chunks(half, me.element())) {
      Chunk chunk = me.started(range);
      for (const int child : node.children) {
        if (child < 0) continue;
        const Chunk below = co_await me.receive(child);
        me.expect(*below, range);
        me.join(*chunk, *below);
      }
      if (node.parent >= 0) {
        me.send(node.parent, std::move(chunk));
      } else {
        me.finish(*chunk);
        me.store(*chunk, range.begin);
      }
    }
  }
  for (int tree = 0; tree < 2; ++tree) {  // down
    const TreeNode node = tree_node(tree, n, me.rank());
    const Range half = tree_half(me.what().count, tree);
    if (half.size() == 0) continue;
    for (const int child : node.children) {
      if (child >= 0) me.message(half);
    }
    for (const Range range : in_chunks(half, me.element())) {
      Chunk chunk;
      if (node.parent >= 0) {
        chunk = co_await me.receive(node.parent);
        me.expect(*chunk, range);
        me.store(*chunk, range.begin);
      } else {
        chunk = me.received(range);
      }
      for (const int child : node.children) {
        if (child >= 0) me.send(child, chunk);
      }
    }
  }
}

}  // namespace lockstep::sim::nccl
