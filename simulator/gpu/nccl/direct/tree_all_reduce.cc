// Double binary tree all-reduce (Sanders, Speck, Traff: "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009).
//
// Half of the elements go up one binary tree and down again, the other half a second tree in which leaves and inner nodes change
// places. About 2 log2(n) steps instead of the ring's 2(n - 1): for small messages. In each tree every rank but the root sends one
// message up, and one down to each child. A node's value is (own + first child's) + second child's.
#include <algorithm>
#include <bit>

#include "simulator/gpu/nccl/algorithm.h"
#include "simulator/gpu/nccl/direct/blocks.h"
#include "simulator/gpu/nccl/double_tree.h"

namespace lockstep::sim::nccl {

namespace {

int depth_of(int tree, int n, int rank) {
  int depth = 0;
  for (int up = tree_node(tree, n, rank).parent; up >= 0; up = tree_node(tree, n, up).parent) ++depth;
  return depth;
}

Range share(const Exchange& exchange, int rank) {
  return piece_of({0, exchange.what.count}, static_cast<std::size_t>(exchange.ranks), static_cast<std::size_t>(rank));
}

struct Walk {
  const Exchange& exchange;
  const Buffers& buffers;
  const Reduction& reduction;
  std::vector<TreeNode> nodes;
};

void reduce_subtree(const Walk& walk, int rank, std::size_t first, std::size_t count, Block& result) {
  walk.reduction.start(result.data(), walk.buffers.sent_by(rank, first), count, walk.exchange.ranks);
  for (const int child : walk.nodes[static_cast<std::size_t>(rank)].children) {
    if (child < 0) continue;
    Block below;
    reduce_subtree(walk, child, first, count, below);
    walk.reduction.join(result.data(), below.data(), count);
  }
}

void run(const Exchange& exchange, int /*rank*/, Range part) {
  const Buffers buffers(exchange);
  const Reduction reduction = reduction_for(exchange.what.type, exchange.what.op);
  const int n = exchange.ranks;
  for (int tree = 0; tree < 2; ++tree) {
    const Range half = tree_half(exchange.what.count, tree);
    const Range range{std::max(part.begin, half.begin), std::min(part.end, half.end)};
    if (range.begin >= range.end) continue;
    Walk walk{exchange, buffers, reduction, {}};
    int root = 0;
    for (int r = 0; r < n; ++r) {
      walk.nodes.push_back(tree_node(tree, n, r));
      if (walk.nodes.back().parent < 0) root = r;
    }
    each_block(range, buffers.element, [&](std::size_t first, std::size_t count, std::size_t bytes) {
      Block result;
      reduce_subtree(walk, root, first, count, result);
      reduction.finish(result.data(), count, n);
      for (int to = 0; to < n; ++to) std::memcpy(buffers.received_by(to, first), result.data(), bytes);
    });
  }
}

std::vector<Message> messages(const Exchange& exchange, int rank) {
  const int n = exchange.ranks;
  std::vector<Message> list;
  for (int tree = 0; tree < 2; ++tree) {
    const std::size_t bytes = tree_half(exchange.what.count, tree).size() * size_of(exchange.what.type);
    if (bytes == 0) continue;
    const int height = std::bit_width(static_cast<unsigned>(n - 1));  // rank 1 is the deepest: up to the highest bit, then to the root
    const TreeNode node = tree_node(tree, n, rank);
    const int depth = depth_of(tree, n, rank);
    if (node.parent >= 0) list.push_back({height - depth, rank, node.parent, bytes});
    for (const int child : node.children) {
      if (child >= 0) list.push_back({height + depth, rank, child, bytes});
    }
  }
  return list;
}

}  // namespace

const Algorithm kTreeAllReduce = {"tree", share, run, messages};

}  // namespace lockstep::sim::nccl
