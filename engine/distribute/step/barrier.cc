// Phase 6, barrier: the host waits until every replica has finished its update. In the checking mode the replicas' weights, slots and
// state are fingerprinted on their GPUs and compared: the first variable that differs is named.
#include <algorithm>
#include <cstdio>

#include <backend/watching.h>
#include "engine/device/check.h"
#include "engine/device/range.h"
#include "engine/distribute/step/mirrored_step_state.h"
#include "engine/ops/elementwise.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

struct Piece {
  std::string what;
  Tensor tensor;
};

std::vector<Piece> flat_pieces(const VariableStore& variables) {
  std::vector<Piece> pieces{{"weights", variables.weights()}};
  for (int k = 0; k < variables.slots(); ++k) pieces.push_back({"slot " + std::to_string(k), variables.slot(k)});
  if (variables.state().defined() && variables.state().size()) pieces.push_back({"state", variables.state()});
  return pieces;
}

// The same memory, variable by variable: only looked at once something differs.
std::vector<Piece> variable_pieces(const VariableStore& variables) {
  std::vector<Piece> pieces;
  const VariableLayout& layout = variables.layout();
  for (int v = 0; v < static_cast<int>(layout.specs().size()); ++v) {
    const VariableSpec& spec = layout.specs()[static_cast<std::size_t>(v)];
    pieces.push_back({"variable " + spec.name, variables.variable(v)});
    if (!spec.trainable) continue;
    for (int k = 0; k < variables.slots(); ++k) {
      pieces.push_back({"optimizer slot " + std::to_string(k) + " of variable " + spec.name,
                        Tensor(variables.slot(k).f32() + layout.offset(v), spec.shape)});
    }
  }
  return pieces;
}

// On the replica's compute stream; with scratch for the partial sums, so that all of the GPU takes part.
void issue_fingerprint(ReplicaPart& part, const std::vector<Piece>& pieces) {
  const std::size_t words = pieces.size() * sizeof(std::uint64_t), bytes = words + ops::checksum_scratch();
  if (part.fingerprints.bytes() < bytes) {
    part.fingerprints = Buffer();
    part.fingerprints = part.replica.gpu().arena().allocate(bytes, "replica " + std::to_string(part.replica.index()) + ": fingerprints");
  }
  OpContext context = part.replica.compute_context();
  auto* results = part.fingerprints.data<std::uint64_t>();
  context.scratch = Tensor(results + pieces.size(), {static_cast<std::int64_t>(ops::checksum_scratch() / sizeof(float))});
  for (std::size_t i = 0; i < pieces.size(); ++i) ops::checksum(context, pieces[i].tensor, results + i);
}

std::vector<Fingerprint> read_fingerprint(ReplicaPart& part, const std::vector<Piece>& pieces, const Deadline& deadline) {
  LogicalGpu& gpu = part.replica.gpu();
  std::vector<std::uint64_t> host(pieces.size());
  const DeviceGuard guard(gpu.physical());
  LOCKSTEP_CHECK(cudaMemcpyAsync(host.data(), part.fingerprints.raw(), pieces.size() * sizeof(std::uint64_t), cudaMemcpyDeviceToHost,
                                 gpu.compute().get()));
  part.finished.record(gpu.compute());
  if (!wait_until_done(part.finished, deadline)) {
    gpu.compute().synchronize();  // `host` must not go while the copy may still write to it
  }
  std::vector<Fingerprint> result;
  for (std::size_t i = 0; i < pieces.size(); ++i) result.push_back({pieces[i].what, host[i]});
  return result;
}

std::vector<Fingerprint> fingerprint(ReplicaPart& part, const std::vector<Piece>& pieces, const Deadline& deadline) {
  issue_fingerprint(part, pieces);
  return read_fingerprint(part, pieces, deadline);
}

// One word for a replica (FNV-1a over the words).
std::uint64_t combined(const std::vector<Fingerprint>& fingerprints) {
  std::uint64_t word = 0xcbf29ce484222325ULL;
  for (const Fingerprint& one : fingerprints) {
    for (int shift = 0; shift < 64; shift += 8) word = (word ^ ((one.bits >> shift) & 0xff)) * 0x100000001b3ULL;
  }
  return word;
}

std::string hexadecimal(std::uint64_t word) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%016llx", static_cast<unsigned long long>(word));
  return text.data();
}

void explain_barrier(const Facts::Numbers& numbers, Span& span) {
  const auto& [used, peak, limit, compared, checksum, inspected, unused, neither] = numbers;
  span.details = {{"memory used", std::to_string(used)}, {"memory peak", std::to_string(peak)}, {"memory limit", std::to_string(limit)}};
  if (compared != 0) span.details.emplace_back("checksum", json_text(hexadecimal(static_cast<std::uint64_t>(checksum))));
  if (inspected != 0) span.details.emplace_back("inspected", "true");
}

}  // namespace

std::vector<std::vector<Fingerprint>> MirroredStep::State::fingerprints(Phase phase) {
  const Watching watching;
  std::vector<std::vector<Fingerprint>> all;
  const std::size_t copies = one_copy ? 1 : parts.size();
  for (std::size_t r = 0; r < copies; ++r)  // all of them at once
    serve(r, phase, [&, &part = parts[r]] { issue_fingerprint(part, flat_pieces(part.replica.variables())); });
  for (std::size_t r = 0; r < copies; ++r) {
    serve(r, phase, [&, &part = parts[r]] { all.push_back(read_fingerprint(part, flat_pieces(part.replica.variables()), *deadline)); });
  }
  return all;
}

// All workers see the same words, so all of them ask for the variables' fingerprints or none does.
std::uint64_t MirroredStep::State::require_mirrored(Phase phase) {
  const Watching watching;
  std::vector<std::uint64_t> words;
  for (const std::vector<Fingerprint>& one : fingerprints(phase)) words.push_back(combined(one));
  const std::vector<std::uint64_t> everywhere = cross_device_ops->gather(words, 1, *deadline);
  const auto other = std::find_if(everywhere.begin(), everywhere.end(), [&](std::uint64_t word) { return word != everywhere.front(); });
  if (other == everywhere.end()) return words.front();
  std::vector<std::string> names;
  std::vector<std::uint64_t> rows;
  for (ReplicaPart& part : parts) {
    names.clear();
    for (const Fingerprint& one : fingerprint(part, variable_pieces(part.replica.variables()), *deadline)) {
      names.push_back(one.what);
      rows.push_back(one.bits);
    }
  }
  rows = cross_device_ops->gather(rows, names.size(), *deadline);
  const std::uint64_t* expected = rows.data();
  const std::uint64_t* found = rows.data() + static_cast<std::size_t>(other - everywhere.begin()) * names.size();
  const std::size_t i = static_cast<std::size_t>(std::mismatch(expected, expected + names.size(), found).first - expected);
  const std::string what = i == names.size()
                               ? "padding between variables"
                               : names[i] + " (fingerprint " + hexadecimal(found[i]) + ", on replica 0 " + hexadecimal(expected[i]) + ")";
  throw Error("The replicas are no longer mirrored after step " + std::to_string(step()) + ": " + what + " on replica " +
              std::to_string(other - everywhere.begin()) + " differs from replica 0.");
}

std::vector<std::uint64_t> MirroredStep::checksums() {
  std::vector<std::uint64_t> words;
  const Watching watching;
  state_->guarded([&] {
    state_->wait_for_gpus(Phase::barrier);
    for (const std::vector<Fingerprint>& one : state_->fingerprints(Phase::barrier)) words.push_back(combined(one));
    words = state_->cross_device_ops->gather(words, 1, *state_->deadline);
  });
  return words;
}

void MirroredStep::barrier() {
  State& state = *state_;
  const Range range("barrier", Range::kNoNumber, static_cast<int>(Phase::barrier));
  state.wait_for_gpus(Phase::barrier);
  state.flip_bit();
  const std::int64_t arrived_ns = state.tracer != nullptr ? state.tracer->now_ns() : 0;
  state.count_times();
  std::vector<std::uint64_t> words;
  if (state.options.check_mirrored) words.assign(state.one_copy ? 1 : state.parts.size(), state.require_mirrored(Phase::barrier));
  if (!state.tracer) return;
  state.trace_figures_of_step();
  if (state.inspecting && words.empty())
    for (const std::vector<Fingerprint>& one : state.fingerprints(Phase::barrier)) words.push_back(combined(one));
  std::vector<Tracer::Barrier> barriers;
  for (std::size_t r = 0; r < state.parts.size(); ++r) {
    const Arena& arena = state.parts[r].replica.gpu().arena();
    SpanRecord span = state.span(Phase::barrier, static_cast<int>(r));
    span.facts = {
        explain_barrier,
        {static_cast<std::int64_t>(arena.used()), static_cast<std::int64_t>(arena.peak()), static_cast<std::int64_t>(arena.limit()),
         r < words.size(), r < words.size() ? static_cast<std::int64_t>(words[r]) : 0, state.inspecting}};
    barriers.push_back({span, r < words.size()});
  }
  state.tracer->end_step(arrived_ns, barriers);
}

}  // namespace lockstep
