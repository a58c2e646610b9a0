// The figures of NCCL's collectives: the machines' files hold what the fit gives, and the fit predicts what it was not given.
#include "simulator/clock/collective_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "simulator/clock/collectives.h"

namespace lockstep::clock {
namespace {

double mean_error(const std::function<double(const NcclMeasurement&)>& model, const std::function<bool(const NcclMeasurement&)>& counts) {
  double sum = 0;
  int rows = 0;
  for (const NcclMeasurement& row : nccl_measurements()) {
    if (!counts(row)) continue;
    sum += std::abs(model(row) / row.us - 1);
    ++rows;
  }
  return sum / rows;
}

TEST(CollectiveFit, TheFilesHoldWhatItGives) {
  const NcclFit fit = fit_nccl([](const NcclMeasurement&) { return true; });
  const auto& parameters = nccl_parameters();
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    EXPECT_GT(fit.value[k], 0) << parameters[k].name;
    EXPECT_GT(fit.error[k], 0) << parameters[k].name;
    EXPECT_LE(fit.error[k], parameters[k].deviation) << parameters[k].name << ": measurements can only add to what the prior says";
    for (const std::string& name : parameters[k].machines) {
      Machine machine = *find_machine(name);
      EXPECT_NEAR(parameters[k].of(machine), fit.value[k], 1e-3 * fit.value[k]) << parameters[k].name << " of " << name;
    }
  }
}

TEST(CollectiveFit, IsNearTheMeasurements) {
  EXPECT_LT(mean_error([](const NcclMeasurement& row) { return modelled_us(row); }, [](const NcclMeasurement&) { return true; }), 0.10);
}

TEST(CollectiveFit, FewParametersForManyRows) { EXPECT_LT(7 * nccl_parameters().size(), nccl_measurements().size()); }

TEST(CollectiveFit, WhatIsLeftOutIsPredictedAndTheRestIsNotFarOff) {
  std::set<std::pair<std::string, int>> groups;
  for (const NcclMeasurement& row : nccl_measurements()) groups.insert({row.machine, row.ranks});
  EXPECT_EQ(groups.size(), 7U);
  double sum = 0;
  for (const auto& [machine, ranks] : groups) {
    const auto held_out = [&](const NcclMeasurement& row) { return row.machine == machine && row.ranks == ranks; };
    const NcclFit fit = fit_nccl([&](const NcclMeasurement& row) { return !held_out(row); });
    const auto model = [&](const NcclMeasurement& row) { return fit.modelled_us(row); };
    const double out = mean_error(model, held_out), in = mean_error(model, [&](const NcclMeasurement&row) { return !held_out(row); });
    EXPECT_LT(in, 0.10) << machine << " without " << ranks << " ranks";
    for (const NcclMeasurement& row : nccl_measurements()) sum += held_out(row) ? std::abs(fit.modelled_us(row) / row.us - 1) : 0;
    RecordProperty(machine + "_" + std::to_string(ranks), std::to_string(out));
  }
  EXPECT_LT(sum / static_cast<double>(nccl_measurements().size()), 0.20);
}

TEST(CollectiveFit, TheSameRowsGiveTheSameFigures) {
  const auto all = [](const NcclMeasurement&) { return true; };
  EXPECT_EQ(fit_nccl(all).value, fit_nccl(all).value);
}

TEST(CollectiveFit, WithoutRowsThePriorsRemain) {
  const NcclFit fit = fit_nccl([](const NcclMeasurement&) { return false; });
  const auto& parameters = nccl_parameters();
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    EXPECT_DOUBLE_EQ(fit.value[k], parameters[k].prior);
    EXPECT_DOUBLE_EQ(fit.error[k], parameters[k].deviation);
  }
}

}  // namespace
}  // namespace lockstep::clock
