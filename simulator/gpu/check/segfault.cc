#include "simulator/gpu/check/segfault.h"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "simulator/gpu/check/call_site.h"
#include "simulator/gpu/check/check_mode.h"
#include "simulator/gpu/check/guarded_memory.h"

namespace lockstep::sim {

namespace {

struct sigaction previous;
constinit std::atomic<bool> explained{false};

bool was_write([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  constexpr greg_t kWriteBit = 2;  // of the page fault's error code
  return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kWriteBit) != 0;
#else
  return false;
#endif
}

// The process is about to end, so allocating and locking, which a handler must not do in general, are worth the risk here. The thread was
// in the program's own code, not inside the virtual GPU.
void explain(const void* address, bool write) {
  if (explained.exchange(true)) return;
  const std::string text = "\nvirtual GPU: host code " + std::string(write ? "writes" : "reads") +
                           " device memory: " + check_mode()->whereabouts(address) + ".\n  The access: " + describe(call_site()) +
                           ".\n  The host cannot use a device's address. Copy with cudaMemcpy(..., " +
                           (write ? "cudaMemcpyHostToDevice) from a buffer of the host's own, or let a kernel write"
                                  : "cudaMemcpyDeviceToHost) into a buffer of the host's own and read that") +
                           ".\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const bool write = was_write(context);
  if (note_trespass(address, write)) return;
  const AddressMap& map = address_map();
  if (address - map.begin < map.bytes) explain(info->si_addr, write);
  sigaction(signal, &previous, nullptr);  // the access is repeated and goes to the previous handler
}

}  // namespace

void watch_for_segfaults() {
  struct sigaction action = {};
  action.sa_sigaction = &on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;  // a stack may be full
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous);
}

}  // namespace lockstep::sim
