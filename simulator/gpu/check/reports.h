// What check mode has found so far in this process, and the names that its messages use; for tests and lessons.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

namespace lockstep::sim {

std::vector<std::string> check_reports();  // empty when check mode is off
void clear_check_reports();

// Without a name a stream is "stream 2 of device 0", and memory is "the 40 bytes that cudaMalloc in ... allocated".
void name_stream(cudaStream_t stream, const std::string& name);
void name_memory(const void* address, const std::string& name);

// Says where a call was made in code that the reader of a message can change: "your line 19". Empty: in other code, so advice must
// not be to change it. `frames` are the return addresses, the innermost first.
using PlaceOfCall = std::string (*)(const std::vector<const void*>& frames);
void set_place_of_call(PlaceOfCall place);

}  // namespace lockstep::sim
