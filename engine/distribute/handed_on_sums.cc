#include "handed_on_sums.h"

#include <algorithm>
#include <utility>

#include "host_clock.h"
#include "lockstep/error.h"
#include "replica_threads.h"

namespace lockstep {

std::vector<bool> gradients_to_hand_on(const Graph& graph, std::int64_t bytes) {
  const std::vector<VariableSpec>& specs = graph.layout().specs();
  std::vector<bool> result(specs.size(), false);
  for (int node = 0; node < static_cast<int>(graph.nodes().size()); ++node) {
    const int first = graph.first_variable(node);
    for (int variable = first; variable < graph.first_variable(node + 1); ++variable) {
      const VariableSpec& spec = specs[static_cast<std::size_t>(variable)];
      const bool large = spec.shape.size() * static_cast<std::int64_t>(sizeof(float)) >= bytes;
      result[static_cast<std::size_t>(variable)] =
          spec.trainable && large && graph.nodes()[static_cast<std::size_t>(node)].layer->adds_gradient(variable - first);
    }
  }
  return result;
}

HandedOnSums::HandedOnSums(std::vector<Tensor> sums, const std::vector<int>& cards)
    : sums_(std::move(sums)), added_(sums_.size()), turn_(cards.size()), next_(sums_.size(), 0) {
  for (std::size_t variable = 0; variable < sums_.size(); ++variable) {
    if (!sums_[variable].defined()) continue;
    for (const int card : cards) added_[variable].emplace_back(card);
  }
}

void HandedOnSums::begin() {
  const std::lock_guard lock(mutex_);
  std::fill(next_.begin(), next_.end(), 0);
  stopped_ = false;
}

void HandedOnSums::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  for (std::condition_variable& turn : turn_) turn.notify_all();
}

GradientPlace HandedOnSums::take(int variable, int replica, Stream& stream, const Deadline& deadline) {
  const auto v = static_cast<std::size_t>(variable);
  {
    std::unique_lock lock(mutex_);
    turn_[static_cast<std::size_t>(replica)].wait_until(lock, deadline.at(), [&] { return stopped_ || next_[v] == replica; });
    if (next_[v] != replica) throw GaveUp("the sum was not handed on by replica " + std::to_string(next_[v]) + ".");
    host_clock_meet(&next_[v]);
  }
  if (replica > 0) stream.wait(added_[v][static_cast<std::size_t>(replica) - 1]);
  return {sums_[v], replica > 0};
}

void HandedOnSums::pass_on(int variable, int replica, const Stream& stream) {
  const auto v = static_cast<std::size_t>(variable);
  added_[v][static_cast<std::size_t>(replica)].record(stream);
  const std::lock_guard lock(mutex_);
  host_clock_post(&next_[v]);
  next_[v] = replica + 1;
  if (const auto next = static_cast<std::size_t>(next_[v]); next < turn_.size()) turn_[next].notify_one();
}

void HandedOnSums::wait_for_sum(int variable, Stream& stream) const { stream.wait(added_[static_cast<std::size_t>(variable)].back()); }

}  // namespace lockstep
