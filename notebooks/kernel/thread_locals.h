// thread_local variables in cells, and those of libraries that cells use (std::call_once and std::async have some in libstdc++).
//
// LLVM's linker has no native thread-local storage without a runtime of its own, so cells use the emulated one: a variable x is reached by
// __emutls_get_address(&__emutls_v.x). For a library's variable the record is made here, and dlsym gives the address.
#pragma once

#include <string>

namespace llvm::orc {
class LLJIT;
}

namespace lockstep::kernel {

void add_thread_locals(llvm::orc::LLJIT& machine);

std::string source_name(const std::string& symbol);  // "_Z1fv" is f(); other names are returned unchanged

}  // namespace lockstep::kernel
