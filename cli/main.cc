// The command line: words to a command, errors to one sentence.
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

constexpr int kWrongWords = 2;

// What the script ./lockstep in the sources does before it comes to this program.
const std::vector<std::string> script_words = {"test", "bench", "notebook", "bundle", "build", "format"};

std::vector<std::string> names_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(command->get_name());
  return names;
}

// The command whose words were being read.
const CLI::App& innermost(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.back());
}

std::string did_you_mean(const std::string& word, const CLI::App& app) {
  std::vector<std::string> names = names_of(app);
  if (app.get_parent() == nullptr) names.insert(names.end(), script_words.begin(), script_words.end());
  const std::string near = nearest(word.substr(0, word.find('=')), names);
  return near.empty() ? "" : "; did you mean " + near + "?";
}

// CLI11 knows what was wrong; here it becomes a sentence that says what would be right.
std::string explain(const CLI::App& app, const CLI::ParseError& error, const std::string& first_word) {
  const CLI::App& command = innermost(app);
  std::string sentence = error.what();
  const std::vector<std::string> unknown = command.remaining();
  const auto replace_in_sentence = [&](const std::string& from, const std::string& to) {
    const std::size_t at = sentence.find(from);
    if (at != std::string::npos) sentence.replace(at, from.size(), to);
  };
  if (&command == &app && std::find(script_words.begin(), script_words.end(), first_word) != script_words.end()) {
    sentence = fmt::format("'{}' is for the script in the sources: ./lockstep {}", first_word, first_word);
  } else if (&command == &app && !first_word.empty()) {
    sentence = fmt::format("'{}' is not a command{}", first_word, did_you_mean(first_word, app));
  } else if (&command == &app) {
    sentence = "a command is missing, such as: lockstep run mnist";
  } else if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !unknown.empty()) {
    sentence = fmt::format("'{}' is not known{}", unknown.front(), did_you_mean(unknown.front(), command));
  } else if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    sentence = sentence.substr(0, sentence.find(':')) + " needs a value behind it";
  }
  replace_in_sentence(" excludes ", " can't be together with ");
  replace_in_sentence(" requires ", " is only for ");
  std::replace(sentence.begin(), sentence.end(), '\n', ' ');
  const std::string path = &command == &app ? "" : command.get_name() + " ";
  return fmt::format("lockstep: {} (see lockstep {}--help)\n", sentence, path);
}

// A switch is there or not: `--json=3` is a mistake, whatever stands behind the sign. Empty when there is none.
std::string switch_with_value(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  for (const std::string& word : words) {
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
      "The script ./lockstep in the sources has more: test, bench, notebook, bundle,\nbuild, format (without a word it says what they "
      "do).");
  std::vector<Command> commands;
  commands.push_back(add_run(app, argv));
  commands.push_back(add_compare(app));
  commands.push_back(add_predict(app));
  commands.push_back(add_project(app));
  commands.push_back(add_data(app));
  commands.push_back(add_devices(app));
  commands.push_back(add_doctor(app));
  commands.push_back(add_lesson(app));
  commands.push_back(add_trace(app));
  if (const std::string mistake = switch_with_value(app, std::vector<std::string>(argv + 1, argv + argc)); !mistake.empty()) {
    fmt::print(stderr, "{}", mistake);
    return kWrongWords;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "{}", explain(app, error, argc > 1 ? argv[1] : ""));
    return kWrongWords;
  }
  const auto chosen = std::find_if(commands.begin(), commands.end(), [](const Command& command) { return command.words->parsed(); });
  return chosen->run();
}

}  // namespace
}  // namespace lockstep::cli

int main(int argc, char** argv) {
  int code = 1;
  try {
    code = lockstep::cli::run(argc, argv);
  } catch (const lockstep::cli::AlreadySaid&) {
  } catch (const lockstep::cli::WrongWords& error) {
    std::fprintf(stderr, "lockstep: %s\n", error.what());
    code = lockstep::cli::kWrongWords;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "lockstep: this machine has not enough memory for that: use fewer samples in a step or a smaller model\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lockstep: %s\n", error.what());
  }
  // What was printed may still wait in a buffer: a full disk shows only here.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "lockstep: the output can't be written: %s\n", std::strerror(errno));
    return code == 0 ? 1 : code;
  }
  return code;
}
