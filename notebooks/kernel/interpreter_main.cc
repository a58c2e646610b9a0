// The process that runs cells: takes requests from the kernel over a socket, compiles, runs, answers. What cells print goes to its
// ordinary stdout and stderr, which the kernel reads; a crash ends this process only.
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <streambuf>
#include <thread>

#include "notebooks/kernel/cell.h"
#include "notebooks/kernel/channel.h"
#include "notebooks/kernel/compiler.h"
#include "notebooks/kernel/runtime.h"
#include "notebooks/kernel/trial.h"

namespace lockstep::kernel {
namespace {

using nlohmann::json;
constexpr int kChannel = 3;

std::unique_ptr<Channel>& channel() {
  static std::unique_ptr<Channel> instance = std::make_unique<Channel>(kChannel);
  return instance;
}

void flush_output() {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(stdout);
  std::fflush(stderr);
}

// std::cin asks the notebook's user for a line.
class NotebookInput : public std::streambuf {
 protected:
  int_type underflow() override {
    flush_output();
    if (!channel()->send({{"type", "input"}, {"prompt", ""}})) return traits_type::eof();
    const std::optional<json> answer = channel()->receive();
    if (!answer || !answer->contains("value")) return traits_type::eof();
    line_ = answer->at("value").get<std::string>() + "\n";
    setg(line_.data(), line_.data(), line_.data() + line_.size());
    return traits_type::to_int_type(line_[0]);
  }

 private:
  std::string line_;
};

// Shows output that ends without a newline, such as a progress line.
void flush_now_and_then() {
  std::thread([] {
    for (;;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      std::fflush(stdout);
    }
  }).detach();
}

json run_cell(Compiler& compiler, const json& request) {
  clear_interrupt();
  const Outcome outcome = compiler.run(request.at("code"), request.at("number"));
  flush_output();
  json answer{{"type", "done"}, {"status", "ok"}, {"text", outcome.text}, {"line", current_line()}};
  switch (outcome.status) {
    case Outcome::Status::ok:
      return answer;
    case Outcome::Status::does_not_compile:
      answer["status"] = "does_not_compile";
      break;
    case Outcome::Status::threw:
      answer["status"] = "threw";
      break;
    case Outcome::Status::interrupted:
      answer["status"] = "interrupted";
      break;
  }
  answer["name"] = outcome.name;
  answer["value"] = outcome.value;
  return answer;
}

json complete(Compiler& compiler, const json& request) {
  const Completion completion = compiler.complete(request.at("code"), request.at("cursor"));
  return {{"type", "done"}, {"matches", completion.matches}, {"begin", completion.begin}, {"end", completion.end}};
}

// In a copy of the process, so that a question about half a statement changes nothing.
json ask_a_copy(const std::function<json()>& question) {
  flush_output();
  TrialLimits limits;
  limits.seconds = 10;
  const auto text = [&] { return question().dump(-1, ' ', false, json::error_handler_t::replace); };
  const TrialResult result = in_a_copy(text, limits, [] { return false; });
  return result.answered ? json::parse(result.text) : json{{"type", "done"}};
}

Settings settings() {
  Settings settings;
  settings.include_paths = {LOCKSTEP_KERNEL_INCLUDE, LOCKSTEP_ENGINE_INCLUDE};
  settings.library_paths = {LOCKSTEP_LIBRARY_FOLDER};
  settings.resource_folder = LOCKSTEP_CLANG_RESOURCES;
  if (const char* trial = std::getenv("LOCKSTEP_NOTEBOOK_TRIAL")) settings.trial = std::string(trial) != "off";
  return settings;
}

int serve() {
  struct sigaction action {};
  action.sa_handler = [](int) { set_interrupt(); };
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
  NotebookInput input;
  std::cin.rdbuf(&input);
  flush_now_and_then();
  Compiler compiler(settings());
  channel()->send({{"type", "ready"}});
  while (const std::optional<json> request = channel()->receive()) {
    const std::string what = request->at("do");
    json answer{{"type", "done"}};
    if (what == "run") answer = run_cell(compiler, *request);
    if (what == "complete") answer = ask_a_copy([&] { return complete(compiler, *request); });
    if (what == "inspect")
      answer = ask_a_copy([&]() -> json {
        return {{"type", "done"}, {"text", compiler.inspect(request->at("code"), request->at("cursor"))}};
      });
    if (what == "is_complete") answer["complete"] = is_complete(request->at("code"));
    if (!channel()->send(answer)) break;
  }
  return 0;
}

}  // namespace
}  // namespace lockstep::kernel

namespace lockstep::kernel {

void send_to_kernel(const nlohmann::json& message) {
  flush_output();
  channel()->send(message);
}

}  // namespace lockstep::kernel

namespace {

// `lockstep-interpreter --pieces` cuts the cell on stdin and prints the pieces as JSON: for tests with other interpreters.
int print_pieces() {
  using lockstep::kernel::Piece;
  std::string code((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
  lockstep::kernel::take_settings(code);
  nlohmann::json pieces = nlohmann::json::array();
  for (const Piece& piece : lockstep::kernel::split_cell(code)) {
    const bool runs = piece.kind == Piece::Kind::statement || (piece.kind == Piece::Kind::wrapped && piece.runs);
    pieces.push_back({{"runs", runs}, {"open", piece.open}, {"text", code.substr(piece.begin, piece.end - piece.begin)}});
  }
  std::cout << pieces.dump() << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--pieces") return print_pieces();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int status = 0;
  try {
    status = lockstep::kernel::serve();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    status = 1;
  }
  std::fflush(nullptr);
  _exit(status);  // a notebook's variables are not destroyed: see ~Compiler
}
