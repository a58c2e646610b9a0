// What `lockstep project --validate` shows: published measurements beside the model's answers, as a table, as JSON and as a picture.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep::cli {

struct ValidatedRow {
  std::string group, name, unit, source;
  double published = 0;
  double model = 0;                // by the machine's file
  std::optional<double> held_out;  // by a fit that was not given the row's group; for a file that was not fitted to the row: the model
  bool fitted = false;             // the machine's file was fitted to this row, among others

  double error() const { return model / published - 1; }
  std::optional<double> held_out_error() const;
};

// A figure of merit that must not exceed its bound.
struct ValidatedBound {
  std::string what;
  double value = 0, most = 0;  // parts of one; most 0: shown, not bounded
  bool holds() const { return most == 0 || value <= most; }
};

struct Validation {
  std::vector<ValidatedRow> rows;
  std::vector<ValidatedBound> bounds;
  bool holds() const;
};

struct MeanAndWorst {
  double mean = 0, worst = 0;
  int rows = 0;
  void add(double error);
  double average() const { return rows > 0 ? mean / rows : 0; }
};

std::string table_of(const Validation& validation);
std::string json_of(const Validation& validation);
std::string svg_of(const Validation& validation);  // modelled against published, both logarithmic

}  // namespace lockstep::cli
