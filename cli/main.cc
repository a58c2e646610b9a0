// The command line: chooses a command by the arguments; an error becomes one sentence.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/validators.h"
#include "lockstep/error.h"

namespace lockstep::cli {
namespace {

constexpr int kUsageError = 2;

// Commands of the script ./lockstep in the sources, which never reach this program.
const std::vector<std::string> script_commands = {"test", "bench", "notebook", "bundle", "build", "format"};

std::vector<std::string> names_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(command->get_name());
  return names;
}

// The command whose arguments were being read.
const CLI::App& innermost(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.back());
}

std::string did_you_mean(const std::string& word, const CLI::App& app) {
  std::vector<std::string> names = names_of(app);
  if (app.get_parent() == nullptr) names.insert(names.end(), script_commands.begin(), script_commands.end());
  const std::string near = nearest(word.substr(0, word.find('=')), names);
  return near.empty() ? "" : "; did you mean " + near + "?";
}

// Turns CLI11's error into a sentence that says what would be right.
std::string explain(const CLI::App& app, const CLI::ParseError& error, const std::string& first_word) {
  const CLI::App& command = innermost(app);
  std::string sentence = error.what();
  const std::vector<std::string> unknown = command.remaining();
  const auto replace_in_sentence = [&](const std::string& from, const std::string& to) {
    const std::size_t at = sentence.find(from);
    if (at != std::string::npos) sentence.replace(at, from.size(), to);
  };
  if (&command == &app && std::find(script_commands.begin(), script_commands.end(), first_word) != script_commands.end()) {
    sentence = fmt::format("'{}' is a command of the script in the sources: ./lockstep {}", first_word, first_word);
  } else if (&command == &app && !first_word.empty()) {
    sentence = fmt::format("'{}' is not a command{}", first_word, did_you_mean(first_word, app));
  } else if (&command == &app) {
    sentence = "a command is missing, such as: lockstep run mnist";
  } else if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !unknown.empty()) {
    sentence = fmt::format("'{}' is not an option of this command{}", unknown.front(), did_you_mean(unknown.front(), command));
  } else if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    sentence = sentence.substr(0, sentence.find(':')) + " needs a value";
  }
  replace_in_sentence(" excludes ", " can't be combined with ");
  replace_in_sentence(" requires ", " is only for ");
  std::replace(sentence.begin(), sentence.end(), '\n', ' ');
  const std::string path = &command == &app ? "" : command.get_name() + " ";
  return fmt::format("lockstep: {} (see lockstep {}--help)\n", sentence, path);
}

// The error for a switch with a value, such as `--json=3`. Empty when there is none.
std::string switch_with_value(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* command = &app;
  for (const std::string& word : arguments) {
    const std::size_t sign = word.find('=');
    const std::string name = word.substr(0, sign);
    if (word.rfind('-', 0) != 0) {
      for (const CLI::App* next : command->get_subcommands([](const CLI::App*) { return true; }))
        if (next->get_name() == word) command = next;
      continue;
    }
    const CLI::Option* option = sign == std::string::npos ? nullptr : command->get_option_no_throw(name);
    if (option == nullptr || option->get_items_expected_max() > 0) continue;
    return fmt::format("lockstep: {} is a switch and takes no value: {}, or nothing (see lockstep {}--help)\n", name, name,
                       command == &app ? "" : command->get_name() + " ");
  }
  return "";
}

int run(int argc, char** argv) {
  CLI::App app("Lockstep: run, see and learn synchronous mirrored training", "lockstep");
  app.set_version_flag("--version", LOCKSTEP_VERSION);
  app.require_subcommand(1);
  app.formatter(help_formatter());
  app.footer(
      "Examples:\n  lockstep run mnist --save mnist.keras --trace mnist.html\n  lockstep compare mnist --gpus 1,2,4\n  lockstep lesson\n\n"
      "The script ./lockstep in the sources has more commands: test, bench, notebook,\nbundle, build, format (without arguments it "
      "describes them).");
  std::vector<Command> commands;
  commands.push_back(add_run(app, argv));
  commands.push_back(add_compare(app));
  commands.push_back(add_predict(app));
  commands.push_back(add_project(app));
  commands.push_back(add_data(app));
  commands.push_back(add_devices(app));
  commands.push_back(add_doctor(app));
  commands.push_back(add_exec(app));
  commands.push_back(add_lesson(app));
  commands.push_back(add_exam(app));
  commands.push_back(add_trace(app));
  if (const std::string mistake = switch_with_value(app, std::vector<std::string>(argv + 1, argv + argc)); !mistake.empty()) {
    fmt::print(stderr, "{}", mistake);
    return kUsageError;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "{}", explain(app, error, argc > 1 ? argv[1] : ""));
    return kUsageError;
  }
  const auto chosen = std::find_if(commands.begin(), commands.end(), [](const Command& command) { return command.app->parsed(); });
  return chosen->run();
}

}  // namespace
}  // namespace lockstep::cli

int main(int argc, char** argv) {
  int code = 1;
  try {
    code = lockstep::cli::run(argc, argv);
  } catch (const lockstep::cli::ReportedError&) {
  } catch (const lockstep::cli::UsageError& error) {
    std::fprintf(stderr, "lockstep: %s\n", error.what());
    code = lockstep::cli::kUsageError;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "lockstep: this machine does not have enough memory. Fix: use a smaller batch or a smaller model\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lockstep: %s\n", error.what());
  }
  // Output may still be in a buffer: a full disk is noticed only here.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "lockstep: the output can't be written: %s\n", std::strerror(errno));
    return code == 0 ? 1 : code;
  }
  return code;
}
