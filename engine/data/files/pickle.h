// The one kind of Python pickle that is read: a numpy array of objects, each a list of integers, as reuters.npz has it.
//
// A pickle is a program for a stack machine that may call any function by its name. Here a few of its instructions are known (those that
// put together numbers, strings, tuples and lists), four names of functions are recognised and none is ever called: their names
// say what they would make. Everything else is an Error. Format: the comments of Python's pickletools.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// `name` is for messages; `count` is how many lists the array's header promises.
std::vector<std::vector<std::int32_t>> parse_pickled_lists(const std::string& name, std::string_view pickle, std::uint64_t count);

}  // namespace lockstep
