// Where ways meet again, against what can be reached without a node.
#include "simulator/gpu/coalescing/flow_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace lockstep::testing {

namespace {

using coalescing::FlowGraph;

struct Edge {
  int from, to;
};

bool reaches(const std::vector<Edge>& edges, int from, int to, int without) {
  std::vector<int> open{from}, seen{from};
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    if (at == to) return true;
    for (const Edge& edge : edges) {
      if (edge.from != at || edge.to == without || std::count(seen.begin(), seen.end(), edge.to) > 0) continue;
      seen.push_back(edge.to);
      open.push_back(edge.to);
    }
  }
  return false;
}

TEST(FlowGraph, AMeetingIsTheFirstNodeThatNoWayLeavesOut) {
  std::mt19937 random(17);
  for (int round = 0; round < 200; ++round) {
    FlowGraph graph;
    std::vector<int> nodes{FlowGraph::kEntry};
    const int count = 1 + static_cast<int>(random() % 9);
    for (int i = 0; i < count; ++i) nodes.push_back(graph.node_at(1000U * static_cast<unsigned>(i)));
    nodes.push_back(FlowGraph::kExit);
    std::vector<Edge> edges;
    const auto add = [&](std::size_t from, std::size_t to) {
      edges.push_back({nodes[from], nodes[to]});
      graph.add_edge(nodes[from], nodes[to]);
    };
    // A way from the entry through all nodes to the exit, and others from anywhere to anywhere, loops among them.
    for (std::size_t i = 0; i + 1 < nodes.size(); ++i) add(i, i + 1);
    for (unsigned i = 0; i < random() % 12; ++i) add(random() % (nodes.size() - 1), 1 + random() % (nodes.size() - 1));
    for (const int node : nodes) {
      if (node == FlowGraph::kExit) continue;
      // All that every way from here to the exit goes through; the first of them has all the others behind it.
      std::vector<int> on_all_ways;
      for (const int other : nodes)
        if (other != node && (other == FlowGraph::kExit || !reaches(edges, node, FlowGraph::kExit, other))) on_all_ways.push_back(other);
      const auto first = std::find_if(on_all_ways.begin(), on_all_ways.end(), [&](int candidate) {
        return std::all_of(on_all_ways.begin(), on_all_ways.end(),
                           [&](int other) { return other == candidate || !reaches(edges, node, other, candidate); });
      });
      ASSERT_NE(first, on_all_ways.end());
      EXPECT_EQ(graph.meeting_of(node), *first) << "round " << round << ", node " << node;
    }
  }
}

TEST(FlowGraph, LearnsAnotherPath) {
  FlowGraph graph;
  const int branch = graph.node_at(1), then = graph.node_at(2), join = graph.node_at(3);
  graph.add_edge(FlowGraph::kEntry, branch);
  graph.add_edge(branch, then);
  graph.add_edge(then, join);
  graph.add_edge(join, FlowGraph::kExit);
  EXPECT_EQ(graph.meeting_of(branch), then);
  graph.add_edge(branch, join);
  EXPECT_EQ(graph.meeting_of(branch), join);
  EXPECT_EQ(graph.node_at(2), then);
}

}  // namespace

}  // namespace lockstep::testing
