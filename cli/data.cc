// `lockstep data`: lists the data sets, where they were found, and how to get the others.
#include <fmt/format.h>

#include <functional>
#include <memory>

#include "cli/command.h"
#include "cli/validators.h"
#include "lockstep/lockstep.h"

namespace lockstep::cli {
namespace {

struct DataSet {
  const char* name;
  std::function<std::string(bool may_download)> find;  // a sentence about it, or an Error that says how to get it
};

std::vector<DataSet> data_sets() {
  return {
      {"mnist",
       [](bool may_download) {
         DataOptions options;
         options.allow_download = may_download;
         options.drawn_train = options.drawn_test = 1;
         const Mnist data = load_mnist(options);
         if (data.drawn)
           throw Error(may_download ? data.source
                                    : "not found; `lockstep data --fetch mnist` downloads it (11 MB), and so does `run mnist`. "
                                      "Without a network, `run mnist` trains on digits that it draws");
         return fmt::format("{} training and {} test images: {}", data.x_train.samples(), data.x_test.samples(), data.source);
       }},
      {"reuters",
       [](bool may_download) {
         const Reuters data = load_reuters(ReutersOptions().allow_download(may_download));
         return fmt::format("{} training and {} test texts: {}", data.x_train.size(), data.x_test.size(), data.source);
       }},
      {"cats-vs-dogs",
       [](bool) {
         const CatsVsDogs data = load_cats_vs_dogs();
         return fmt::format("{} training and {} validation photos: {}", data.train.cardinality(), data.validation.cardinality(),
                            data.source);
       }},
  };
}

int list(const std::string& fetch) {
  int missing = 0;
  for (const DataSet& set : data_sets()) {
    if (!fetch.empty() && fetch != set.name) continue;
    try {
      fmt::print("{:<13} {}\n", set.name, set.find(!fetch.empty()));
    } catch (const Error& error) {
      ++missing;
      fmt::print("{:<13} {}\n", set.name, error.what());
    }
  }
  if (fetch.empty()) fmt::print("\nSearched in this order: the folder in LOCKSTEP_DATA, ./data, ~/.keras/datasets, ~/.cache/lockstep.\n");
  return fetch.empty() ? 0 : missing;
}

}  // namespace

Command add_data(CLI::App& app) {
  CLI::App* command = app.add_subcommand("data", "List the data sets, where they were found, and how to get them");
  auto fetch = std::make_shared<std::string>();
  command->add_option("--fetch", *fetch, "Download this one now")->check(one_of({"mnist", "reuters"}));
  command->footer("Examples:\n  lockstep data\n  lockstep data --fetch reuters");
  return {command, [fetch] { return list(*fetch); }};
}

}  // namespace lockstep::cli
