// What the machine throws: PTX that it cannot read or run, launches that no GPU takes, threads that go wrong.
#pragma once

#include <stdexcept>
#include <string>

namespace lockstep::ptx {

// Its text is a sentence for a person: what is wrong, in which kernel, thread, instruction and line.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what) : std::runtime_error(what) {}
};

}  // namespace lockstep::ptx
