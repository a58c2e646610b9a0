// The text of the Error that an action ends with; empty where it ends without one.
#pragma once

#include <string>
#include <utility>

#include "lockstep/error.h"

namespace lockstep {

template <typename Action>
std::string error_of(Action&& action) {
  try {
    std::forward<Action>(action)();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace lockstep
