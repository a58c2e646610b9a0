// Where the figures of NCCL's collectives come from: few parameters, fitted to published measurements (nccl_all_reduce.csv).
//
// Each parameter is a figure of a machine file and means something: a base, a hop, a ramp, a rate. It has a prior, NCCL's own constant or
// a data sheet's (regression.h); a measurement's deviation is 8 % of it. The fit has no formula of its own: it asks the model
// (collectives.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "simulator/clock/machine_model.h"
#include "simulator/clock/regression.h"

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

struct NcclFit : Regression {
  double modelled_us(const NcclMeasurement& row) const;
};
NcclFit fit_nccl(const std::function<bool(const NcclMeasurement&)>& used);

double modelled_us(const NcclMeasurement& row);  // by the machine's file

}  // namespace lockstep::clock
