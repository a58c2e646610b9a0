// Where in the learner's file a call was made, for messages: "your line 19". The compiler's line tables have it, and addr2line, which comes
// with the compiler, reads them.
#pragma once

#include <string>
#include <vector>

namespace lesson {

// The innermost line of the learner's file among these return addresses, and the outermost one where it is another: "your line 12, called
// from line 33". Empty when no frame is in that file, or addr2line is missing.
std::string place_of_call(const std::vector<const void*>& frames);

// The same for the code that calls this function.
std::string place_of_caller();

}  // namespace lesson
