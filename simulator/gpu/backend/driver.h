// Functions of the CUDA driver, by name. A program is not linked with the driver's library, which only machines with a GPU have.
// CUDA twin: engine/cuda/backend/driver.h.
#pragma once

#include <string>

namespace lockstep {

// Null where there is no such function; then `problem` is a sentence about why.
void* driver_function(const char* name, std::string* problem);

}  // namespace lockstep
