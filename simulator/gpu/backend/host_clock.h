// The time that host threads see: this computer's, or, in the model clock, that of the machine that is modelled.
//
// Every modelled host thread has its own time, which grows with its CUDA calls and jumps when it waits for a GPU. The model cannot see that
// a thread waits for another one (a condition variable, a queue). So the thread that is waited for posts its time under an address that
// both know, and the other one moves its time forward to what was posted there. With the wall clock all of this costs a comparison.
// CUDA twin: engine/cuda/backend/host_clock.h.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;  // what cudaStream_t and cudaEvent_t point to
struct CUevent_st;

namespace lockstep {

bool host_clock_is_modelled();
std::int64_t host_clock_ns();             // since some beginning; the steady clock's, or the calling thread's modelled time
void host_clock_post(const void* where);  // the calling thread's time; its latest post at an address counts
void host_clock_meet(const void* where);  // the calling thread goes on no earlier than the times posted there
void host_clock_settle();                 // no other thread is working: the model may advance to the calling thread's time

// memcpy of a tensor's bytes, for an upload on this stream; it takes the host's time, and threads share what the host's memory gives. Where
// nothing is computed nothing is copied either.
void host_clock_copy(void* to, const void* from, std::size_t bytes, CUstream_st* stream);

// When a recorded event, which has happened, happened on the clock above; false where only differences between events are known.
bool event_clock_ns(CUevent_st* event, std::int64_t* ns);

}  // namespace lockstep
