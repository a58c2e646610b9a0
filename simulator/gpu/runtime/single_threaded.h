// oneDNN takes its number of threads from OpenMP's setting of the calling thread, when a primitive is made and when it runs.
// Inside a part of an operation there is one thread: parts are the parallelism.
#pragma once

#include <omp.h>

namespace lockstep::sim {

class SingleThreaded {
 public:
  SingleThreaded() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~SingleThreaded() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  SingleThreaded(const SingleThreaded&) = delete;
  SingleThreaded& operator=(const SingleThreaded&) = delete;

 private:
  int before_;
};

}  // namespace lockstep::sim
