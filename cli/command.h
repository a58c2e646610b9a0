// The program's commands: each has a file with its options and what it does.
//
// To add one: a file with `Command add_mine(CLI::App& app)`, its declaration here, and its name in the list of main.cc.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "lockstep/error.h"

namespace lockstep::cli {

// Options that are right one by one and wrong together: exit code 2, as for every other mistake in the arguments.
struct UsageError : Error {
  using Error::Error;
};
// An error that was printed already, before a shutdown that may take long.
struct ReportedError : Error {
  using Error::Error;
};

struct Command {
  CLI::App* app;             // its options, which `lockstep NAME --help` shows
  std::function<int()> run;  // after parsing; the program's exit code
};

Command add_run(CLI::App& app, char** argv);  // main's: workers are started with the same arguments
Command add_devices(CLI::App& app);
Command add_doctor(CLI::App& app);
Command add_exam(CLI::App& app);
Command add_exec(CLI::App& app);
Command add_predict(CLI::App& app);
Command add_compare(CLI::App& app);
Command add_data(CLI::App& app);
Command add_lesson(CLI::App& app);
Command add_trace(CLI::App& app);
Command add_project(CLI::App& app);

}  // namespace lockstep::cli
