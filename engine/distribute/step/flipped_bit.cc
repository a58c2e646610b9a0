#include "lockstep/flipped_bit.h"

#include <charconv>
#include <cstdlib>
#include <sstream>

#include "engine/device/check.h"
#include "engine/distribute/step/mirrored_step_state.h"
#include "lockstep/error.h"

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

std::optional<FlippedBit> flipped_bit_from_environment() {
  const char* words = std::getenv("LOCKSTEP_FLIP_BIT");
  if (words == nullptr || *words == '\0') return std::nullopt;
  try {
    return parse_flipped_bit(words);
  } catch (const Error& error) {
    throw Error(std::string("LOCKSTEP_FLIP_BIT: ") + error.what());
  }
}

// All is done on the GPUs, and nothing of the next step is issued yet.
void MirroredStep::State::flip_bit() {
  if (!options.flipped_bit || options.flipped_bit->step != step()) return;
  const FlippedBit& bit = *options.flipped_bit;
  const int here = bit.replica - place().first_replica, variable = graph.layout().find(bit.variable);
  if (bit.replica >= place().replicas)
    throw Error("The bit to flip: there is no replica " + std::to_string(bit.replica) + " among " + std::to_string(place().replicas) + ".");
  if (variable < 0) throw Error("The bit to flip: the model has no variable \"" + bit.variable + "\".");
  if (here < 0 || here >= replicas()) return;  // another worker's
  if (one_copy) throw Error("The bit to flip: with \"one-copy\" no replica has a copy of its own, so nothing would differ.");
  Replica& replica = parts[static_cast<std::size_t>(here)].replica;
  const Stream& stream = replica.gpu().compute();
  void* element = replica.variables().variable(variable).raw();
  const DeviceGuard guard(replica.gpu().physical());
  std::uint32_t word = 0;
  LOCKSTEP_CHECK(cudaMemcpyAsync(&word, element, sizeof(word), cudaMemcpyDeviceToHost, stream.get()));
  LOCKSTEP_CHECK(cudaStreamSynchronize(stream.get()));
  word ^= kBit;
  LOCKSTEP_CHECK(cudaMemcpyAsync(element, &word, sizeof(word), cudaMemcpyHostToDevice, stream.get()));
  LOCKSTEP_CHECK(cudaStreamSynchronize(stream.get()));
}

}  // namespace lockstep
