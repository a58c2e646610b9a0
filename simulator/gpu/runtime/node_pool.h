// Nodes to fill in and to use again, so that a launch allocates nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "simulator/gpu/runtime/queue.h"
#include "simulator/gpu/runtime/spin.h"

namespace lockstep::sim {

class NodePool {
 public:
  Node* take(std::size_t count) {  // linked by `next`
    const std::lock_guard lock(mutex_);
    Node* first = nullptr;
    for (std::size_t i = 0; i < count; ++i) {
      if (unused_ == nullptr) {
        nodes_.push_back(std::make_unique<Node>());
        unused_ = nodes_.back().get();
      }
      Node* const node = unused_;
      unused_ = node->next;
      node->next = first;
      first = node;
    }
    return first;
  }

  void put_back(Node* node) {
    const std::lock_guard lock(mutex_);
    node->next = unused_;
    unused_ = node;
  }

 private:
  SpinMutex mutex_;
  std::vector<std::unique_ptr<Node>> nodes_;
  Node* unused_ = nullptr;
};

}  // namespace lockstep::sim
