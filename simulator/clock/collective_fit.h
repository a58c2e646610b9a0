// Where the figures of NCCL's collectives come from: few parameters, fitted to published measurements (nccl_all_reduce.csv).
//
// Each parameter is a figure of a machine file and means something: a base, a hop, a ramp, a rate. It has a prior, NCCL's own constant or
// a data sheet's, and how far from it we would not be surprised. The fit takes the parameters that lie closest to the priors and to the
// measurements, both in units of their deviations (Bayesian linear regression; Gelman et al., "Bayesian Data Analysis", chapter 14); a
// measurement's deviation is 8 % of it, and rows further off than that count by their distance, not its square (Huber's weights), since
// NCCL's choices leave steps in the measurements that no such model has. The measured rows are the model's own answers (collectives.h)
// as far as they depend on a parameter: the fit has no formula of its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "simulator/clock/machine_model.h"

namespace lockstep::clock {

struct NcclMeasurement {
  std::string machine, source;
  int ranks = 0;
  double bytes = 0, us = 0;
};
const std::vector<NcclMeasurement>& nccl_measurements();
std::string nccl_source(const std::string& source);  // "echo" in full

// Of all: the machines' files with the parameters of a fit in place of theirs.
struct NcclParameter {
  std::string name;    // as "hop LL"
  std::string figure;  // where it stands: "a100x8, v100x8: links.peer.nccl_alpha_us.LL"
  std::string unit;
  double prior = 0, deviation = 0;
  std::function<double&(Machine&)> of;  // the figure of a machine
  std::vector<std::string> machines;    // that it is a figure of
};
const std::vector<NcclParameter>& nccl_parameters();

struct NcclFit {
  std::vector<double> value, error;  // by parameter: the fitted value and its standard error
  double modelled_us(const NcclMeasurement& row) const;
};
NcclFit fit_nccl(const std::function<bool(const NcclMeasurement&)>& used);

double modelled_us(const NcclMeasurement& row);  // by the machine's file

}  // namespace lockstep::clock
