// Whether the user has interrupted the program that this library is loaded into: a notebook's kernel, which can't end a cell from outside.
#pragma once

namespace lockstep {

// A program that wants this exports `volatile std::sig_atomic_t lockstep_interrupt_flag`; others are never interrupted this way.
bool interrupted();
bool in_notebook();                          // whether the flag is there
void stop_if_interrupted(const char* what);  // between batches; an Error

}  // namespace lockstep
