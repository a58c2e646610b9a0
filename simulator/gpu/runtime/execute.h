// Running one node: an operation's function, or a kernel over its grid.
#pragma once

#include <string>

#include "simulator/gpu/runtime/queue.h"

namespace lockstep::sim {

// Once, before the parts: checks that the device can reach what the node touches and translates addresses. Throws a Fault.
void prepare(Node& node);
void run_part(Node& node, int part);

std::string name_of(const Node& node);
std::vector<Touch> touches_of(Node& node);

}  // namespace lockstep::sim
