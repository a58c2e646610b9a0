// Answers Jupyter's requests: passes cells to the interpreter's process, publishes their output, and restarts that process after a crash.
#pragma once

#include <memory>
#include <string>

#include "notebooks/kernel/connection.h"
#include "notebooks/kernel/history.h"
#include "notebooks/kernel/interrupts.h"
#include "notebooks/kernel/output.h"
#include "notebooks/kernel/process.h"

namespace lockstep::kernel {

class NotebookKernel {
 public:
  NotebookKernel(std::string program, Connection& connection, Interrupts& interrupts);

  void serve();                         // handles requests on the shell channel; never returns
  static nlohmann::json kernel_info();  // also asked for on the control channel, while a cell runs
  static bool is_about_comms(const std::string& type) { return type.rfind("comm_", 0) == 0; }

 private:
  using json = nlohmann::json;

  void handle(const Message& request);
  json answer(const Message& request);
  std::vector<Message> take_waiting();
  void abort(const Message& request);

  json execute(const Message& request);
  json run(const Message& request, int number, const std::string& code, bool quiet);
  json done(int number, const json& answer, bool quiet);
  json ended(bool quiet);
  json fail(const std::string& name, const std::string& value, const std::vector<std::string>& traceback, bool quiet);
  json explain(const std::string& name);
  json complete(const json& content);
  json inspect(const json& content);
  void show(const json& message, int number);
  json ask_user(const Message& request, const std::string& prompt);

  void start();
  bool wait_until_ready();
  json ask(const json& question);  // that runs no cell
  std::optional<json> next();
  int idle();  // between messages of the process: publishes output, looks at memory

  std::string program_;
  Connection& connection_;
  Interrupts& interrupts_;
  std::unique_ptr<InterpreterProcess> process_;
  bool ready_ = false, too_large_ = false, running_ = false;
  int count_ = 0;
  Message parent_;  // what is being answered
  History history_;
  Output output_;
};

}  // namespace lockstep::kernel
