// Given in lesson 13: the numbers of the model.
#pragma once

#include "lesson.h"

namespace lesson {

struct Link {
  double latency_ms = 0;  // of a message of any size
  double ms_per_mib = 0;
};

struct Cluster {
  int gpus_per_machine = 8;
  Link inside;   // between GPUs of one machine
  Link network;  // between machines
};

struct Work {
  double fixed_ms = 0;  // of a step, whatever the batch
  double ms_per_sample = 0;
  double gradient_mib = 0;
  double overlap = 0;  // the share of compute under which communication can hide
};

}  // namespace lesson
