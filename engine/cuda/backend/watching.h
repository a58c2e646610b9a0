// CUDA twin of simulator/gpu/backend/watching.h: a real GPU keeps no tags, so this is nothing.
#pragma once

namespace lockstep {

class Watching {
 public:
  Watching() {}  // NOLINT(modernize-use-equals-default): so that a variable of this type counts as used
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;
};

}  // namespace lockstep
