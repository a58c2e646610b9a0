#include "engine/distribute/checks/flip_bit.h"

#include <bit>
#include <charconv>
#include <sstream>

#include "engine/ops/elementwise.h"

namespace lockstep {
namespace {

// The largest bit of the fraction: half of the value or less, so that no later update rounds the difference away.
constexpr std::uint32_t kBit = 1U << 22;

template <typename Number>
bool whole_number(const std::string& text, Number least, Number& to) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc() && end == text.data() + text.size() && to >= least;
}

}  // namespace

FlippedBit parse_flipped_bit(const std::string& words) {
  FlippedBit bit;
  bool replica = false, variable = false, step = false;
  std::istringstream all(words);
  bool good = !words.empty() && words.back() != ',';
  for (std::string word; good && std::getline(all, word, ',');) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals), value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (name == "replica" && !replica)
      good = replica = whole_number(value, 0, bit.replica);
    else if (name == "step" && !step)
      good = step = whole_number(value, std::int64_t{1}, bit.step);
    else if (name == "variable" && !variable)
      good = variable = !(bit.variable = value).empty();
    else
      good = false;
  }
  if (!good || !replica || !variable || !step)
    throw Error("'" + words + "' is not a bit to flip; replica=1,variable=dense/kernel,step=3 is one");
  return bit;
}

// All is done on the GPUs, and nothing of the next step is issued yet.
void flip_bit(ReplicaSet& replicas, const FlippedBit& bit, std::int64_t step) {
  if (bit.step != step) return;
  const WorkerPlace place = replicas.place();
  const int here = bit.replica - place.first_replica, variable = replicas.graph.layout().find(bit.variable);
  if (bit.replica >= place.replicas)
    throw Error("The bit to flip: there is no replica " + std::to_string(bit.replica) + " among " + std::to_string(place.replicas) + ".");
  if (variable < 0) throw Error("The bit to flip: the model has no variable \"" + bit.variable + "\".");
  if (here < 0 || here >= replicas.size()) return;  // another worker's
  if (replicas.one_copy) throw Error("The bit to flip: with \"one-copy\" no replica has a copy of its own, so nothing would differ.");
  Replica& replica = replicas[static_cast<std::size_t>(here)].replica;
  const OpContext context = replica.compute_context();
  const Tensor element(replica.variables().variable(variable).raw(), {1});
  float value = 0;
  ops::download(context, element, &value);
  context.stream->synchronize();
  value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ kBit);
  ops::upload(context, &value, element);
  context.stream->synchronize();
}

}  // namespace lockstep
