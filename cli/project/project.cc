// The options of `lockstep project`, and its output as a table, JSON and SVG.
#include "cli/project/project.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/validators.h"
#include "lockstep/error.h"

namespace lockstep::cli {

namespace {

constexpr int kMostNodes = 1024;

int node_count(const std::string& text) {
  std::size_t used = 0;
  int value = 0;
  try {
    value = std::stoi(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != text.size() || value < 1 || value > kMostNodes)
    throw Error("--nodes " + text + ": a number of nodes is from 1 to " + std::to_string(kMostNodes) + ", as 1..128 or 1,2,6");
  return value;
}

// A list of nodes as the value of an option.
CLI::Validator node_list() {
  return CLI::Validator(
      [](std::string& text) {
        try {
          parse_nodes(text);
          return std::string();
        } catch (const Error& error) {
          return std::string(error.what());
        }
      },
      "");
}

}  // namespace

Straggler straggler(const std::string& text) {
  Straggler one;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%d:%lf%c", &one.gpu, &one.factor, &rest) != 2 || one.gpu < 0 || !(one.factor >= 1))
    one.problem = "--slow-gpu " + text + ": give a GPU's number and how many times as long it takes, as 17:1.3";
  return one;
}

namespace {

std::string short_number(double value) {
  if (value >= 1e6) return fmt::format("{:.2f}M", value / 1e6);
  if (value >= 1e5) return fmt::format("{:.0f}k", value / 1e3);
  if (value >= 1e3) return fmt::format("{:.1f}k", value / 1e3);
  return fmt::format("{:.0f}", value);
}

std::string milliseconds(double ms) {
  return ms >= 100 ? fmt::format("{:.0f}", ms) : ms >= 10 ? fmt::format("{:.1f}", ms) : fmt::format("{:.2f}", ms);
}

std::string repeated(const char* cell, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += cell;
  return text;
}

}  // namespace

std::vector<int> parse_nodes(const std::string& text) {
  std::vector<int> nodes;
  if (const auto dots = text.find(".."); dots != std::string::npos) {
    const int first = node_count(text.substr(0, dots)), last = node_count(text.substr(dots + 2));
    if (first > last) throw Error("--nodes " + text + ": the first number must be the smaller one");
    for (int n = first; n < last; n *= 2) nodes.push_back(n);
    nodes.push_back(last);
    return nodes;
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    nodes.push_back(node_count(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return nodes;
}

Command add_project(CLI::App& app) {
  auto chosen = std::make_shared<ProjectOptions>();
  ProjectOptions& options = *chosen;
  CLI::App* project = app.add_subcommand("project", "Project how a workload scales: step time on many GPUs, by the model clock");
  project
      ->add_option("workload", options.workload,
                   "What to train: mnist, reuters, cats-vs-dogs (MobileNetV2, 224 x 224) or resnet50; or all-reduce")
      ->check(one_of({"mnist", "reuters", "cats-vs-dogs", "resnet50", "all-reduce"}));
  add_machine_options(*project, options.machine, false);
  add_step_flags(*project, options.step);
  project->add_option("--nodes", options.nodes, "Numbers of machines: 1..128 (doubling) or a list, 1,2,6 [1..8]")->check(node_list());
  auto* weak = project->add_option("--batch-per-replica", options.batch_per_replica, "Samples of each GPU in a step (weak scaling)")
                   ->check(whole_number(1, 1 << 20));
  project->add_option("--global-batch", options.global_batch, "Samples of all GPUs in a step (strong scaling)")
      ->check(whole_number(1, 1 << 28))
      ->excludes(weak);
  project->add_option("--gpus", options.gpus, "GPUs of a node, instead of the machine's")->check(whole_number(1, 64));
  project->add_option("--logical", options.logical, "Split GPU 0 into this many logical GPUs; one node")->check(whole_number(1, 64));
  project->add_option("--algorithm", options.algorithm, "NCCL's algorithm [the fastest]")->check(one_of({"ring", "tree", "switch"}));
  project->add_option("--slow-gpu", options.slow_gpu, "A straggler: 17:1.3 makes GPU 17 take 1.3 times as long")
      ->check(CLI::Validator([](std::string& text) { return straggler(text).problem; }, ""));
  project->add_option("--svg", options.svg, "Write the plot to this file")->check(file_to_write({".svg"}));
  project->add_option("--ranks", options.ranks, "Of all-reduce: its ranks [all GPUs]")->check(whole_number(2, 65536));
  project->add_option("--bytes", options.bytes, "Of all-reduce: the bytes of a rank's input")
      ->check(whole_number(1, std::int64_t{1} << 40));
  project->add_option("--precision", options.precision, "Of resnet50: of convolutions and matrix products")
      ->capture_default_str()
      ->check(one_of({"fp32", "tf32", "amp"}));
  project
      ->add_option("--framework", options.framework,
                   "Whose host issues the step: lockstep, or tensorflow's MirroredStrategy as measured apart (docs/model-clock.md)")
      ->capture_default_str()
      ->check(one_of({"lockstep", "tensorflow"}));
  project->add_flag("--inference", options.inference, "Of resnet50: forward only");
  project->add_flag("--json", options.json, "Print JSON instead of a table");
  project->add_flag("--validate", options.validate,
                    "Compare the model with published measurements; exit code 1 where it is further off than stated");
  project->add_flag("--fit", options.fit, "Fit the figures of NCCL's collectives to published measurements again, and print them");
  project->footer(
      "Examples:\n  lockstep project cats-vs-dogs --machine h100x8 --nodes 1..128\n  lockstep project mnist --machine 4xt4 --nodes 1 "
      "--overlap off\n  lockstep project mnist --machine a100x8 --global-batch 4096 --nodes 1..64\n  lockstep project all-reduce --machine "
      "a100x8 --nodes 2 --ranks 16 --bytes 1048576\n  lockstep project resnet50 --machine v100x8 --gpus 4 --batch-per-replica 96 "
      "--precision amp\n  lockstep project mnist --machine 4xt4 --gpus 2 --nodes 1 --framework tensorflow\n  lockstep project --validate");
  return {project, [chosen] { return cli::project(*chosen); }};
}

std::string table_of(const Projection& projection) {
  constexpr int kBar = 46;
  std::string text = projection.title + "\n\n";
  text += "nodes  GPUs  batch  step ms  samples/s  efficiency  exposed ms  GiB  limit\n";
  double best = 0;
  for (const ProjectedRow& row : projection.rows) best = std::max(best, row.samples_per_second);
  for (const ProjectedRow& row : projection.rows) {
    if (!row.fits) {
      text += fmt::format("{:>5} {:>5} {:>6}  {}\n", row.nodes, row.gpus, row.batch, row.limit);
      continue;
    }
    text += fmt::format("{:>5} {:>5} {:>6} {:>8} {:>10} {:>9.1f} % {:>11} {:>4.1f}  {}\n", row.nodes, row.gpus, row.batch,
                        milliseconds(row.step_ms), short_number(row.samples_per_second), 100 * row.efficiency, milliseconds(row.exposed_ms),
                        row.memory_gib, row.limit);
  }
  text += "\nEfficiency: samples a second and GPU, relative to the first row\n";
  for (const ProjectedRow& row : projection.rows) {
    if (!row.fits) continue;
    const int filled = std::clamp(static_cast<int>(row.efficiency * kBar + 0.5), 0, kBar);
    text += fmt::format("{:>5}  {}{} {:>5.1f} %  {:>7}/s\n", row.gpus, repeated("━", filled), repeated("─", kBar - filled),
                        100 * row.efficiency, short_number(row.samples_per_second));
  }
  return text;
}

std::string json_of(const Projection& projection) {
  nlohmann::ordered_json json;
  json["title"] = projection.title;
  json["rows"] = nlohmann::ordered_json::array();
  for (const ProjectedRow& row : projection.rows) {
    nlohmann::ordered_json one;
    one["nodes"] = row.nodes;
    one["gpus"] = row.gpus;
    one["batch_per_replica"] = row.batch;
    one["fits"] = row.fits;
    one["limit"] = row.limit;
    if (row.fits) {
      one["step_ms"] = row.step_ms;
      one["samples_per_second"] = row.samples_per_second;
      one["efficiency"] = row.efficiency;
      one["compute_ms"] = row.compute_ms;
      one["communication_ms"] = row.communication_ms;
      one["exposed_ms"] = row.exposed_ms;
      one["waiting_ms"] = row.waiting_ms;
      if (row.host_ms > 0) one["host_ms"] = row.host_ms;
      one["memory_gib"] = row.memory_gib;
    }
    json["rows"].push_back(one);
  }
  return json.dump(2) + "\n";
}

// Samples a second over GPUs, both logarithmic, with the line of perfect scaling.
std::string svg_of(const Projection& projection) {
  constexpr double kWidth = 760, kHeight = 420, kLeft = 80, kTop = 50, kRight = 30, kBottom = 60;
  std::vector<const ProjectedRow*> rows;
  for (const ProjectedRow& row : projection.rows) {
    if (row.fits) rows.push_back(&row);
  }
  std::string body;
  const auto log2 = [](double v) { return std::log2(std::max(v, 1e-9)); };
  if (!rows.empty()) {
    const double x0 = log2(rows.front()->gpus), x1 = std::max(x0 + 1, log2(rows.back()->gpus));
    const double rate = rows.front()->samples_per_second / rows.front()->gpus;
    const double y0 = log2(rows.front()->samples_per_second) - 0.3, y1 = std::max(y0 + 1, log2(rate * rows.back()->gpus) + 0.3);
    const auto px = [&](double gpus) { return kLeft + (log2(gpus) - x0) / (x1 - x0) * (kWidth - kLeft - kRight); };
    const auto py = [&](double samples) { return kHeight - kBottom - (log2(samples) - y0) / (y1 - y0) * (kHeight - kTop - kBottom); };
    body += fmt::format("<path d='M{:.1f} {:.1f} L{:.1f} {:.1f}' class='ideal'/>", px(rows.front()->gpus), py(rate * rows.front()->gpus),
                        px(rows.back()->gpus), py(rate * rows.back()->gpus));
    std::string line;
    for (const ProjectedRow* row : rows)
      line += fmt::format("{}{:.1f} {:.1f} ", line.empty() ? "M" : "L", px(row->gpus), py(row->samples_per_second));
    body += "<path d='" + line + "' class='line'/>";
    for (const ProjectedRow* row : rows) {
      const double x = px(row->gpus), y = py(row->samples_per_second);
      body += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='4'><title>{} GPUs: {} samples/s, {:.1f} %</title></circle>", x, y, row->gpus,
                          short_number(row->samples_per_second), 100 * row->efficiency);
      body += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>{}</text>", x, kHeight - kBottom + 20, row->gpus);
      body +=
          fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='end'>{}</text>", kLeft - 8, y + 4, short_number(row->samples_per_second));
    }
  }
  std::string title;
  for (const char c : projection.title.substr(0, projection.title.find('\n')))
    title += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {} {}' font-family='system-ui, sans-serif' font-size='12'>"
      "<style>.line{{fill:none;stroke:#0072b2;stroke-width:2}}.ideal{{fill:none;stroke:#999;stroke-dasharray:5 4}}circle{{fill:#0072b2}}"
      "text{{fill:#444}}</style><rect width='100%' height='100%' fill='#fff'/><text x='{}' y='26' font-size='15'>{}</text>{}"
      "<text x='{}' y='{}' text-anchor='middle'>GPUs</text><text x='16' y='{}' transform='rotate(-90 16 {})' text-anchor='middle'>samples "
      "a second</text><text x='{}' y='{}' text-anchor='end'>dashed: perfect scaling</text></svg>\n",
      kWidth, kHeight, kLeft, title, body, (kLeft + kWidth) / 2, kHeight - 16, kHeight / 2, kHeight / 2, kWidth - kRight, kTop - 4);
}

}  // namespace lockstep::cli
