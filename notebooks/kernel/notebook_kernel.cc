#include "notebooks/kernel/notebook_kernel.h"

#include <algorithm>
#include <cctype>
#include <csignal>

#include "notebooks/kernel/magics.h"
#include "notebooks/kernel/memory_bound.h"

namespace lockstep::kernel {
namespace {

using nlohmann::json;

constexpr const char* kInterrupted = "The cell was interrupted; the definitions of earlier cells are kept.";

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

json ok_reply() { return {{"status", "ok"}, {"payload", json::array()}, {"user_expressions", json::object()}}; }

// ?name and name?: the name; empty: not of this form.
std::string asked_name(const std::string& code) {
  const std::size_t first = code.find_first_not_of(" \t\n"), last = code.find_last_not_of(" \t\n;");
  if (first == std::string::npos || last == std::string::npos || (code[first] != '?' && code[last] != '?')) return "";
  std::string name = code.substr(first, last + 1 - first);
  if (name.find('\n') != std::string::npos) return "";
  name.erase(std::remove_if(name.begin(), name.end(), [](unsigned char c) { return std::isspace(c) != 0 || c == '?'; }), name.end());
  return name;
}

}  // namespace

NotebookKernel::NotebookKernel(std::string program, Connection& connection, Interrupts& interrupts)
    : program_(std::move(program)), connection_(connection), interrupts_(interrupts), output_([this](const auto& stream, const auto& text) {
        connection_.publish(parent_, "stream", {{"name", stream}, {"text", text}});
      }) {
  start();
}

void NotebookKernel::serve() {
  connection_.publish(parent_, "status", {{"execution_state", "starting"}});
  for (;;) {
    if (const std::optional<Message> request = connection_.receive(Connection::Channel::shell, -1)) handle(*request);
  }
}

void NotebookKernel::handle(const Message& request) {
  parent_ = request;
  connection_.publish(request, "status", {{"execution_state", "busy"}});
  const std::string type = request.type();
  std::vector<Message> waiting;
  if (!is_about_comms(type) || type == "comm_info_request") {
    json content = answer(request);
    const bool failed = type == "execute_request" && content.value("status", "") == "error";
    // "Run all" sends every cell at once: those that wait behind one that failed are not run.
    if (failed && request.content.value("stop_on_error", true)) waiting = take_waiting();
    const std::string name = type.substr(0, type.rfind("_request")) + "_reply";
    connection_.reply(Connection::Channel::shell, request, name, std::move(content));
  } else if (type == "comm_open") {
    connection_.publish(request, "comm_close", {{"comm_id", request.content.value("comm_id", "")}, {"data", json::object()}});
  }
  connection_.publish(request, "status", {{"execution_state", "idle"}});
  for (const Message& one : waiting) {
    if (one.type() == "execute_request") {
      abort(one);
    } else {
      handle(one);
    }
  }
}

std::vector<Message> NotebookKernel::take_waiting() {
  std::vector<Message> waiting;
  while (std::optional<Message> request = connection_.receive(Connection::Channel::shell, 0)) waiting.push_back(std::move(*request));
  return waiting;
}

void NotebookKernel::abort(const Message& request) {
  connection_.publish(request, "status", {{"execution_state", "busy"}});
  connection_.reply(Connection::Channel::shell, request, "execute_reply", {{"status", "aborted"}, {"execution_count", count_}});
  connection_.publish(request, "status", {{"execution_state", "idle"}});
}

json NotebookKernel::answer(const Message& request) {
  const std::string type = request.type();
  const json& content = request.content;
  if (type == "execute_request") return execute(request);
  if (type == "kernel_info_request") return kernel_info();
  if (type == "complete_request") return complete(content);
  if (type == "inspect_request") return inspect(content);
  if (type == "history_request") return history_.find(content);
  if (type == "comm_info_request") return {{"status", "ok"}, {"comms", json::object()}};
  if (type == "is_complete_request") {
    if (ask({{"do", "is_complete"}, {"code", content.value("code", "")}}).value("complete", true)) return {{"status", "complete"}};
    return {{"status", "incomplete"}, {"indent", "  "}};
  }
  return {{"status", "error"}, {"ename", "UnknownRequest"}, {"evalue", type + " is not known here"}, {"traceback", json::array()}};
}

json NotebookKernel::execute(const Message& request) {
  const std::string code = request.content.value("code", "");
  const bool quiet = request.content.value("silent", false);
  const bool stored = !quiet && request.content.value("store_history", true);
  if (stored) history_.add(++count_, code);
  if (!quiet) connection_.publish(request, "execute_input", {{"code", code}, {"execution_count", count_}});
  json reply = ok_reply();
  const std::optional<Magic> magic = read_magic(code);
  const std::string program = magic ? magic->code : code;
  if (const std::string name = asked_name(code); !name.empty()) {
    reply = explain(name);
  } else if (magic && !magic->mistaken.empty()) {
    reply = fail("Error", magic->mistaken, {magic->mistaken}, quiet);
  } else if (program.find_first_not_of(" \t\n") != std::string::npos) {
    reply = run(request, count_, program, quiet);
  } else if (magic && !quiet) {
    connection_.publish(request, "stream", {{"name", "stdout"}, {"text", magic->printed}});
  }
  reply["execution_count"] = count_;
  return reply;
}

json NotebookKernel::run(const Message& request, int number, const std::string& code, bool quiet) {
  output_.begin_cell();
  too_large_ = false;
  if (!wait_until_ready()) return ended(quiet);
  interrupts_.begin(process_->id(), [this, request](const std::string& text) {
    connection_.publish(request, "stream", {{"name", "stderr"}, {"text", text}});
  });
  running_ = true;
  json reply;
  process_->channel().send({{"do", "run"}, {"code", code}, {"number", number}});
  while (reply.is_null()) {
    const std::optional<json> message = next();
    const std::string type = message ? message->at("type").get<std::string>() : "";
    if (!message) {
      reply = ended(quiet);
    } else if (type == "done") {
      reply = done(number, *message, quiet);
    } else if (type == "input") {
      output_.flush();
      process_->channel().send(ask_user(request, message->at("prompt")));
    } else if (!quiet) {
      output_.flush();  // printed before it was sent
      show(*message, number);
    }
  }
  running_ = false;
  interrupts_.end();
  output_.end_cell();
  return reply;
}

void NotebookKernel::show(const json& message, int number) {
  const std::string type = message.at("type");
  if (type == "clear") return connection_.publish(parent_, "clear_output", {{"wait", message.at("wait")}});
  json content{{"data", message.at("data")}, {"metadata", json::object()}};
  if (type == "result") {
    content["execution_count"] = number;
    history_.set_output(message.at("data").value("text/plain", ""));
    return connection_.publish(parent_, "execute_result", content);
  }
  content["transient"] = json::object();
  if (message.at("display_id") != "") content["transient"]["display_id"] = message.at("display_id");
  connection_.publish(parent_, type == "update" ? "update_display_data" : "display_data", content);
}

// Waits for the user's input, and checks for an interrupt.
json NotebookKernel::ask_user(const Message& request, const std::string& prompt) {
  if (!request.content.value("allow_stdin", true)) return json::object();
  connection_.reply(Connection::Channel::input, request, "input_request", {{"prompt", prompt}, {"password", false}});
  while (!interrupts_.any()) {
    const std::optional<Message> answer = connection_.receive(Connection::Channel::input, 100);
    if (answer && answer->type() == "input_reply") return {{"value", answer->content.value("value", "")}};
  }
  return json::object();
}

json NotebookKernel::fail(const std::string& name, const std::string& value, const std::vector<std::string>& traceback, bool quiet) {
  output_.flush();
  const json content{{"ename", name}, {"evalue", value}, {"traceback", traceback}};
  if (!quiet) connection_.publish(parent_, "error", content);
  json reply = content;
  reply["status"] = "error";
  return reply;
}

json NotebookKernel::done(int number, const json& answer, bool quiet) {
  const std::string status = answer.at("status"), text = answer.at("text");
  if (status != "does_not_compile" && !quiet) output_.add("stderr", text);  // warnings
  if (status == "ok") return ok_reply();
  if (status == "interrupted") return fail("Interrupted", kInterrupted, {kInterrupted}, quiet);
  const std::string name = answer.at("name"), value = answer.at("value");
  if (status == "does_not_compile") return fail(name, value, {text.empty() ? value : text}, quiet);
  const int line = answer.at("line");
  const std::string place = line > 0 ? "cell " + std::to_string(number) + ", from line " + std::to_string(line) + ": " : "";
  return fail(name, value, {place + "\x1b[31m" + name + "\x1b[0m: " + value}, quiet);
}

json NotebookKernel::ended(bool quiet) {
  const std::string how = process_->how_it_ended();
  std::string sentence = "The cell ended the C++ process (" + how + ").";
  if (interrupts_.ended()) sentence = "Interrupted three times, so the C++ process was ended.";
  if (too_large_) {
    sentence = "The C++ process took more than the " + tell_bytes(memory_bound()) +
               " of memory that it may use (LOCKSTEP_NOTEBOOK_MEMORY, GiB), so it was ended.";
  }
  sentence += " It has been restarted, and the definitions of earlier cells are lost. Fix: run the cells above again.";
  start();
  return fail("KernelRestarted", sentence, {sentence}, quiet);
}

json NotebookKernel::explain(const std::string& name) {
  const std::string text = ask({{"do", "inspect"}, {"code", name}, {"cursor", name.size()}}).value("text", "");
  json reply = ok_reply();
  const json data{{"text/plain", text.empty() ? "There is no declaration of " + name + "." : text}};
  reply["payload"].push_back({{"source", "page"}, {"data", data}, {"start", 0}});
  return reply;
}

json NotebookKernel::complete(const json& content) {
  const std::string code = content.value("code", "");
  const int cursor = content.value("cursor_pos", 0);
  const json answer = ask({{"do", "complete"}, {"code", code}, {"cursor", bytes_of(code, cursor)}});
  const int begin = answer.contains("begin") ? characters_of(code, answer.at("begin")) : cursor;
  return {{"status", "ok"},
          {"matches", answer.value("matches", json::array())},
          {"cursor_start", begin},
          {"cursor_end", cursor},
          {"metadata", json::object()}};
}

json NotebookKernel::inspect(const json& content) {
  const std::string code = content.value("code", "");
  const std::size_t cursor = bytes_of(code, content.value("cursor_pos", 0));
  const std::string text = ask({{"do", "inspect"}, {"code", code}, {"cursor", cursor}}).value("text", "");
  json reply{{"status", "ok"}, {"found", !text.empty()}, {"data", json::object()}, {"metadata", json::object()}};
  if (!text.empty()) reply["data"]["text/plain"] = text;
  return reply;
}

json NotebookKernel::kernel_info() {
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
            {"pygments_lexer", "cpp"},
            {"file_extension", ".cpp"}}}};
}

void NotebookKernel::start() {
  ready_ = false;
  process_ = std::make_unique<InterpreterProcess>(program_);
}

bool NotebookKernel::wait_until_ready() {
  while (!ready_) {
    const std::optional<json> message = next();
    if (!message) return false;
    ready_ = message->value("type", "") == "ready";
  }
  return true;
}

json NotebookKernel::ask(const json& question) {
  if (!wait_until_ready() || !process_->channel().send(question)) return json::object();
  while (const std::optional<json> message = next()) {
    if (message->value("type", "") == "done") return *message;
  }
  return json::object();
}

std::optional<json> NotebookKernel::next() {
  return process_->next([this](const std::string& stream, const std::string& text) { output_.add(stream, text); },
                        [this] { return idle(); });
}

int NotebookKernel::idle() {
  constexpr int kLook = 100;  // milliseconds between looks at the process's memory
  output_.tick();
  const int wait = output_.wait();
  if (!running_) return wait;
  // Loops and allocations of cells stop at the bound; this limit is a little higher, for growth that they do not detect.
  if (!too_large_ && memory_in_use(process_->id()) / 9 * 8 > memory_bound()) {
    too_large_ = true;
    kill(process_->id(), SIGKILL);
  }
  return wait < 0 ? kLook : std::min(wait, kLook);
}

}  // namespace lockstep::kernel
