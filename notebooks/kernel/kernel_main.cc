// The Jupyter kernel for C++ cells: one thread answers requests, one takes interrupts and the end, also while a cell runs.
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <thread>

#include "notebooks/kernel/notebook_kernel.h"

namespace lockstep::kernel {
namespace {

using Channel = Connection::Channel;

void serve_control(Connection& connection, Interrupts& interrupts) {
  for (;;) {
    const std::optional<Message> request = connection.receive(Channel::control, -1);
    if (!request) continue;
    const std::string type = request->type();
    connection.publish(*request, "status", {{"execution_state", "busy"}});
    if (type == "interrupt_request") {
      interrupts.arrived();
      connection.reply(Channel::control, *request, "interrupt_reply", {{"status", "ok"}});
    } else if (type == "kernel_info_request") {
      connection.reply(Channel::control, *request, "kernel_info_reply", NotebookKernel::kernel_info());
    } else if (type == "shutdown_request") {
      const nlohmann::json content{{"status", "ok"}, {"restart", request->content.value("restart", false)}};
      connection.reply(Channel::control, *request, "shutdown_reply", content);
      connection.publish(*request, "shutdown_reply", content);
    }
    connection.publish(*request, "status", {{"execution_state", "idle"}});
    if (type == "shutdown_request") {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // for the answer to leave
      _exit(0);                                                     // the C++ process ends with this one
    }
  }
}

int serve(const std::string& file) {
  // Interrupts go to a thread of their own; ZeroMQ's waits must not see them.
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_BLOCK, &interrupt, nullptr);
  static Interrupts interrupts;
  static Connection connection(file);
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  static NotebookKernel kernel((self.parent_path() / "lockstep-interpreter").string(), connection, interrupts);
  std::thread([interrupt] {
    for (int signal = 0;;) {
      if (sigwait(&interrupt, &signal) == 0) interrupts.arrived();
    }
  }).detach();
  std::thread([] { serve_control(connection, interrupts); }).detach();
  kernel.serve();
  return 0;
}

}  // namespace
}  // namespace lockstep::kernel

int main(int argc, char** argv) {
  if (argc != 3 || std::string(argv[1]) != "-f") {
    std::cerr << "Jupyter starts this program: lockstep-kernel -f connection.json. To see notebooks: ./lockstep notebook\n";
    return 2;
  }
  try {
    return lockstep::kernel::serve(argv[2]);
  } catch (const std::exception& error) {
    std::cerr << "lockstep-kernel: " << error.what() << "\n";
    return 1;
  }
}
