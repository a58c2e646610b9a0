// The Jupyter kernel for C++ cells: speaks with Jupyter (xeus, ZeroMQ), passes cells to the interpreter's process, and outlives it.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <thread>
#include <xeus/xinput.hpp>
#include <xeus/xinterpreter.hpp>
#include <xeus/xkernel.hpp>
#include <xeus/xkernel_configuration.hpp>
#include <xeus/xserver_zmq.hpp>

#include "process.h"

namespace lockstep::kernel {
namespace {

using nlohmann::json;

constexpr const char* kInterrupted =
    "The cell was interrupted. A training run stops after the batch it is in; what cells defined before is still there.";

// Interrupts of the cell that runs. The first asks; a loop that does not look can only be ended from outside.
class Interrupts {
 public:
  void begin(pid_t process) { count_ = 0, process_ = process; }
  void end() { process_ = 0; }
  void arrived() {
    const pid_t process = process_;
    if (process <= 0) return;
    if (++count_ >= kEnd) {
      kill(process, SIGKILL);
    } else {
      kill(process, SIGINT);
    }
  }
  bool ended() const { return count_ >= kEnd; }

 private:
  static constexpr int kEnd = 3;
  std::atomic<pid_t> process_{0};
  std::atomic<int> count_{0};
};

std::size_t bytes_of(const std::string& text, int characters) {
  std::size_t at = 0;
  for (int i = 0; i < characters && at < text.size(); ++i) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  }
  return at;
}

int characters_of(const std::string& text, std::size_t bytes) {
  int count = 0;
  for (std::size_t i = 0; i < bytes && i < text.size(); ++i) count += (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
  return count;
}

// The name a person points at, with what stands before its ::
std::string name_at(const std::string& code, std::size_t at) {
  const auto is_word = [&](std::size_t i) {
    return std::isalnum(static_cast<unsigned char>(code[i])) != 0 || code[i] == '_' || code[i] == ':';
  };
  at = std::min(at, code.size());
  if (at > 0 && (at == code.size() || !is_word(at))) --at;  // behind the name; f( counts as f
  if (at < code.size() && code[at] == '(' && at > 0) --at;
  std::size_t begin = at, end = at;
  while (begin > 0 && is_word(begin - 1)) --begin;
  while (end < code.size() && is_word(end)) ++end;
  return code.substr(begin, end - begin);
}

class NotebookKernel : public xeus::xinterpreter {
 public:
  NotebookKernel(std::string program, Interrupts& interrupts) : program_(std::move(program)), interrupts_(interrupts) {
    xeus::register_interpreter(this);
    start();
  }

 private:
  void configure_impl() override {}

  void start() {
    ready_ = false;
    process_ = std::make_unique<InterpreterProcess>(program_);
  }

  InterpreterProcess::Print print() {
    return [this](const std::string& stream, const std::string& text) { publish_stream(stream, text); };
  }
  static InterpreterProcess::Print silent() {
    return [](const std::string&, const std::string&) {};
  }

  bool wait_until_ready() {
    while (!ready_) {
      const std::optional<json> message = process_->next(print());
      if (!message) return false;
      ready_ = message->value("type", "") == "ready";
    }
    return true;
  }

  // A question that runs no cell.
  json ask(const json& question) {
    if (!wait_until_ready() || !process_->channel().send(question)) return json::object();
    while (const std::optional<json> message = process_->next(print())) {
      if (message->value("type", "") == "done") return *message;
    }
    return json::object();
  }

  static json error_reply(const std::string& name, const std::string& value, const std::vector<std::string>& traceback) {
    return {{"status", "error"}, {"ename", name}, {"evalue", value}, {"traceback", traceback}};
  }
  json fail(const std::string& name, const std::string& value, const std::vector<std::string>& traceback, bool quiet) {
    if (!quiet) publish_execution_error(name, value, traceback);
    return error_reply(name, value, traceback);
  }

  json ended(bool quiet) {
    const std::string how = process_->how_it_ended();
    std::string sentence = interrupts_.ended()
                               ? "Interrupted three times, so the C++ process was ended: a loop of one's own does not look at interrupts."
                               : "The cell ended the C++ process (" + how + ").";
    sentence += " It has been started anew; what cells had defined is gone. Run the cells above again.";
    start();
    return fail("KernelRestarted", sentence, {sentence}, quiet);
  }

  json execute_request_impl(int number, const std::string& code, bool quiet, bool, json, bool) override {
    const std::size_t first = code.find_first_not_of(" \t\n");
    if (first == std::string::npos) return {{"status", "ok"}, {"payload", json::array()}, {"user_expressions", json::object()}};
    if (code[first] == '?') return explain(number, code.substr(first + 1));
    interrupts_.begin(process_->id());
    const json reply = run(number, code, quiet);
    interrupts_.end();
    return reply;
  }

  json run(int number, const std::string& code, bool quiet) {
    if (!wait_until_ready() || !process_->channel().send({{"do", "run"}, {"code", code}, {"number", number}})) return ended(quiet);
    for (;;) {
      const std::optional<json> message = process_->next(print());
      if (!message) return ended(quiet);
      const std::string type = message->at("type");
      if (type == "done") return done(number, *message, quiet);
      if (quiet && type != "input") continue;
      if (type == "result") publish_execution_result(number, message->at("data"), json::object());
      if (type == "display" || type == "update") show(*message, type == "update");
      if (type == "clear") clear_output(message->at("wait"));
      if (type == "input") process_->channel().send({{"value", xeus::blocking_input_request(message->at("prompt"), false)}});
    }
  }

  void show(const json& message, bool update) {
    json transient = json::object();
    if (message.at("display_id") != "") transient["display_id"] = message.at("display_id");
    if (update) {
      update_display_data(message.at("data"), json::object(), transient);
    } else {
      display_data(message.at("data"), json::object(), transient);
    }
  }

  json done(int number, const json& answer, bool quiet) {
    const std::string status = answer.at("status");
    const std::string text = answer.at("text");
    if (status == "ok" || status == "threw" || status == "interrupted") {
      if (!text.empty() && !quiet) publish_stream("stderr", text);  // warnings
    }
    if (status == "ok") return {{"status", "ok"}, {"payload", json::array()}, {"user_expressions", json::object()}};
    if (status == "interrupted") return fail("Interrupted", kInterrupted, {kInterrupted}, quiet);
    const std::string name = answer.at("name"), value = answer.at("value");
    if (status == "does_not_compile") return fail(name, value, {text.empty() ? value : text}, quiet);
    const int line = answer.at("line");
    const std::string place = line > 0 ? "cell " + std::to_string(number) + ", from line " + std::to_string(line) + ": " : "";
    return fail(name, value, {place + "\x1b[31m" + name + "\x1b[0m: " + value}, quiet);
  }

  // ?name
  json explain(int number, std::string name) {
    name.erase(std::remove_if(name.begin(), name.end(), [](unsigned char c) { return std::isspace(c) != 0 || c == '?' || c == ';'; }),
               name.end());
    const std::string text = ask({{"do", "inspect"}, {"name", name}}).value("text", "");
    const json data{{"text/plain", text.empty() ? "Nothing here is called " + name + "." : text}};
    publish_execution_result(number, data, json::object());
    return {{"status", "ok"}, {"payload", json::array()}, {"user_expressions", json::object()}};
  }

  json complete_request_impl(const std::string& code, int cursor) override {
    const std::size_t at = bytes_of(code, cursor);
    const json answer = ask({{"do", "complete"}, {"code", code}, {"cursor", at}});
    const int begin = answer.contains("begin") ? characters_of(code, answer.at("begin")) : cursor;
    return {{"status", "ok"},
            {"matches", answer.value("matches", json::array())},
            {"cursor_start", begin},
            {"cursor_end", cursor},
            {"metadata", json::object()}};
  }

  json inspect_request_impl(const std::string& code, int cursor, int) override {
    const std::string name = name_at(code, bytes_of(code, cursor));
    const std::string text = name.empty() ? "" : ask({{"do", "inspect"}, {"name", name}}).value("text", "");
    json reply{{"status", "ok"}, {"found", !text.empty()}, {"data", json::object()}, {"metadata", json::object()}};
    if (!text.empty()) reply["data"]["text/plain"] = text;
    return reply;
  }

  json is_complete_request_impl(const std::string& code) override {
    if (ask({{"do", "is_complete"}, {"code", code}}).value("complete", true)) return {{"status", "complete"}};
    return {{"status", "incomplete"}, {"indent", "  "}};
  }

  json kernel_info_request_impl() override {
    return {{"status", "ok"},
            {"protocol_version", "5.3"},
            {"implementation", "lockstep"},
            {"implementation_version", LOCKSTEP_VERSION},
            {"banner", "C++17 by clang's interpreter, with Lockstep: synchronous mirrored training"},
            {"debugger", false},
            {"help_links", json::array()},
            {"language_info",
             {{"name", "C++17"},
              {"version", "17"},
              {"mimetype", "text/x-c++src"},
              {"codemirror_mode", "text/x-c++src"},
              {"file_extension", ".cpp"}}}};
  }

  void shutdown_request_impl() override {}

  std::string program_;
  Interrupts& interrupts_;
  std::unique_ptr<InterpreterProcess> process_;
  bool ready_ = false;
};

int serve(const std::string& connection) {
  // Interrupts go to a thread of their own; ZeroMQ's waits must not see them.
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_BLOCK, &interrupt, nullptr);
  static Interrupts interrupts;
  std::thread([interrupt] {
    for (int signal = 0;;) {
      if (sigwait(&interrupt, &signal) == 0) interrupts.arrived();
    }
  }).detach();

  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  auto notebook = std::make_unique<NotebookKernel>((self.parent_path() / "lockstep-interpreter").string(), interrupts);
  xeus::xkernel kernel(xeus::load_configuration(connection), xeus::get_user_name(), xeus::make_context<zmq::context_t>(),
                       std::move(notebook), xeus::make_xserver_zmq, xeus::make_in_memory_history_manager(), nullptr,
                       xeus::make_null_debugger, json::object(), json::error_handler_t::replace);
  kernel.start();
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
