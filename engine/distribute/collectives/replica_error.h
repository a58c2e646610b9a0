// An Error that knows which replicas it belongs to. A collective or a replica's host thread throws it; the step adds phase and step.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lockstep/error.h"

namespace lockstep {

struct ReplicaError : Error {
  ReplicaError(std::vector<int> which, const std::string& what) : Error(what), replicas(std::move(which)) {}
  std::vector<int> replicas;
};

// Does a replica's part of a collective; an Error in there gets to know whose part it was.
template <typename Action>
void on_behalf_of(std::size_t replica, Action&& action) {
  try {
    std::forward<Action>(action)();
  } catch (const ReplicaError&) {
    throw;
  } catch (const std::exception& error) {
    throw ReplicaError({static_cast<int>(replica)}, error.what());
  }
}

}  // namespace lockstep
