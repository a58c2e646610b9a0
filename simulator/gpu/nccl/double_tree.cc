#include "simulator/gpu/nccl/double_tree.h"

#include <bit>

namespace lockstep::sim::nccl {

namespace {

// Rank 0 is the root, with one child; below it a rank's lowest set bit is its height, and its children are half a bit below and above
// (or as far above as there are ranks).
TreeNode first_tree(int n, int rank) {
  TreeNode node;
  int bit = rank & -rank;
  if (rank == 0) {
    bit = static_cast<int>(std::bit_ceil(static_cast<unsigned>(n)));
  } else {
    const int up = (rank ^ bit) | (bit << 1);
    node.parent = up < n ? up : rank ^ bit;
    if (bit > 1) node.children[0] = rank - bit / 2;
  }
  for (int reach = bit / 2; reach > 0 && node.children[1] < 0; reach /= 2) {
    if (rank + reach < n) node.children[1] = rank + reach;
  }
  return node;
}

}  // namespace

// The second tree is the first one mirrored (even n) or shifted by one (odd n): a leaf of one is an inner node of the other.
TreeNode tree_node(int tree, int n, int rank) {
  if (tree == 0) return first_tree(n, rank);
  const auto there = [n](int r) { return n % 2 == 0 ? n - 1 - r : (r - 1 + n) % n; };
  const auto back = [n](int r) { return r < 0 ? -1 : (n % 2 == 0 ? n - 1 - r : (r + 1) % n); };
  const TreeNode mirrored = first_tree(n, there(rank));
  return {back(mirrored.parent), {back(mirrored.children[0]), back(mirrored.children[1])}};
}

}  // namespace lockstep::sim::nccl
