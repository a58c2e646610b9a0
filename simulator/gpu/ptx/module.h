// A module of PTX, loaded: its variables have memory, its functions are code.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/gpu/ptx/code.h"

namespace lockstep::ptx {

class Module {
 public:
  // Throws Error, with instruction and line, for text that is not PTX and for everything the machine cannot do.
  explicit Module(std::string_view source);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  Module(Module&&) = default;
  Module& operator=(Module&&) = default;

  const Code* kernel(const std::string& name) const;  // null where there is none
  std::vector<std::string> kernels() const;
  const Code& function(std::int64_t index) const { return functions_[static_cast<std::size_t>(index)]; }
  std::string describe(const Place& place) const;  // "PTX line 12 'ld.global.u32', sum.cu line 5"
  const std::string& file(int number) const;       // of a source location; empty where it is not known

  struct Memory {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
  };
  Memory variable(const std::string& name) const;  // .global or .const; null where there is none
  std::vector<Memory> memory() const;

 private:
  std::vector<Code> functions_;
  std::map<std::string, std::size_t> kernels_;
  std::map<int, std::string> files_;
  struct Aligned {
    void operator()(std::byte* bytes) const;
  };
  struct Owned {
    std::unique_ptr<std::byte, Aligned> data;
    std::size_t bytes = 0;
  };
  std::map<std::string, Owned> variables_;
};

}  // namespace lockstep::ptx
