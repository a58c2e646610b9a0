// What a trace says about its run beside what the step knows: a title, names of classes and words.
#pragma once

#include <string>
#include <vector>

#include "simulator/trace/trace.h"

namespace lockstep {

// `about` of the step with the rest added. Of the words only those are kept that the samples use.
std::string describe_run(const std::string& about, const std::string& title, TraceClock clock, const std::vector<std::string>& class_names,
                         const std::vector<std::string>& words, const std::vector<std::string>& samples);

// Every worker writes its own: step.json, step.worker1.json, ...
std::string path_for_worker(const std::string& path, int worker);

}  // namespace lockstep
