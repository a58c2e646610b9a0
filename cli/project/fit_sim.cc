// `lockstep project --fit`: the figures of NCCL's collectives, fitted again, and how much they change where rows are left out.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/project/nccl_groups.h"
#include "cli/project/project.h"
#include "simulator/clock/network_fit.h"

namespace lockstep::cli {

int fit_collectives(bool json) {
  const clock::NcclFit all = clock::fit_nccl([](const clock::NcclMeasurement&) { return true; });
  const std::map<std::string, clock::NcclFit> without = fits_without_each_group();
  const auto& parameters = clock::nccl_parameters();
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  if (!json) fmt::print("{:<29} {:>16} {:>18}  {:<15} {}\n", "parameter", "prior", "fitted", "groups left out", "figure");
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const clock::NcclParameter& one = parameters[k];
    double least = all.value[k], most = all.value[k];
    for (const auto& [group, fit] : without) {
      least = std::min(least, fit.value[k]);
      most = std::max(most, fit.value[k]);
    }
    if (json) {
      rows.push_back({{"parameter", one.name},
                      {"figure", one.figure},
                      {"unit", one.unit},
                      {"prior", one.prior},
                      {"prior_deviation", one.deviation},
                      {"fitted", all.value[k]},
                      {"error", all.error[k]},
                      {"least_without_a_group", least},
                      {"most_without_a_group", most}});
      continue;
    }
    fmt::print("{:<29} {:>8.4g} +- {:<4.3g} {:>9.4g} +- {:<5.2g} {:>6.4g} .. {:<6.4g} {} {}\n", one.name, one.prior, one.deviation,
               all.value[k], all.error[k], least, most, one.unit, one.figure);
  }
  const clock::NetworkFit network = clock::fit_network([](const clock::NetworkMeasurement&) { return true; });
  const auto& efficiencies = clock::network_parameters();
  for (std::size_t k = 0; k < efficiencies.size(); ++k) {
    const clock::NetworkParameter& one = efficiencies[k];
    double least = network.value[k], most = network.value[k];
    for (const char* gpu : {"v100", "a100", "t4"}) {
      const clock::NetworkFit fit = clock::fit_network([&](const clock::NetworkMeasurement& row) { return row.group() != gpu; });
      least = std::min(least, fit.value[k]);
      most = std::max(most, fit.value[k]);
    }
    if (json) {
      rows.push_back({{"parameter", one.name},
                      {"figure", one.figure},
                      {"unit", ""},
                      {"prior", one.prior.value},
                      {"prior_deviation", one.prior.deviation},
                      {"fitted", network.value[k]},
                      {"error", network.error[k]},
                      {"least_without_a_group", least},
                      {"most_without_a_group", most}});
      continue;
    }
    fmt::print("{:<29} {:>8.4g} +- {:<4.3g} {:>9.4g} +- {:<5.2g} {:>6.4g} .. {:<6.4g}  {}\n", one.name, one.prior.value,
               one.prior.deviation, network.value[k], network.error[k], least, most, one.figure);
  }
  if (json) fmt::print("{}\n", rows.dump(2));
  return 0;
}

}  // namespace lockstep::cli
