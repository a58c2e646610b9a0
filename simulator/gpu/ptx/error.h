// What the machine throws: PTX that it cannot read or run, launches that no GPU takes, threads that go wrong.
#pragma once

#include <stdexcept>
#include <string>

namespace lockstep::ptx {

// What CUDA's statuses tell apart; `check`: found by check mode alone.
enum class Failure { other, illegal_address, misaligned_address, assertion, no_end, check };

// Its text is a sentence for a person: what is wrong, in which kernel, thread, instruction and line.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what, Failure failure = Failure::other) : std::runtime_error(what), failure_(failure) {}
  Failure failure() const { return failure_; }

 private:
  Failure failure_;
};

}  // namespace lockstep::ptx
