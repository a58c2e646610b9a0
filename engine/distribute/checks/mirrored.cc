#include "engine/distribute/checks/mirrored.h"

#include <algorithm>
#include <cstdio>

#include <backend/watching.h>
#include "engine/device/check.h"
#include "engine/ops/elementwise.h"

namespace lockstep {
namespace {

std::vector<Tensor> flat_buffers(const VariableStore& variables) {
  std::vector<Tensor> buffers{variables.weights()};
  for (int k = 0; k < variables.slots(); ++k) buffers.push_back(variables.slot(k));
  if (variables.state().defined() && variables.state().size()) buffers.push_back(variables.state());
  return buffers;
}

// The same memory, variable by variable: only looked at once something differs.
struct NamedPieces {
  explicit NamedPieces(const VariableStore& variables) {
    const VariableLayout& layout = variables.layout();
    for (int v = 0; v < static_cast<int>(layout.specs().size()); ++v) {
      const VariableSpec& spec = layout.specs()[static_cast<std::size_t>(v)];
      names.push_back("variable " + spec.name);
      tensors.push_back(variables.variable(v));
      if (!spec.trainable) continue;
      for (int k = 0; k < variables.slots(); ++k) {
        names.push_back("optimizer slot " + std::to_string(k) + " of variable " + spec.name);
        tensors.emplace_back(variables.slot(k).f32() + layout.offset(v), spec.shape);
      }
    }
  }
  std::vector<std::string> names;
  std::vector<Tensor> tensors;
};

// On the replica's compute stream; with scratch for the partial sums, so that all of the GPU takes part.
void issue_fingerprint(StepReplica& replica, const std::vector<Tensor>& pieces) {
  const std::size_t words = pieces.size() * sizeof(std::uint64_t), bytes = words + ops::checksum_scratch();
  if (replica.fingerprints.bytes() < bytes) {
    replica.fingerprints = Buffer();
    replica.fingerprints = replica.gpu().arena().allocate(bytes, "replica " + std::to_string(replica.index()) + ": fingerprints");
  }
  OpContext context = replica.replica.compute_context();
  auto* results = replica.fingerprints.data<std::uint64_t>();
  context.scratch = Tensor(results + pieces.size(), {static_cast<std::int64_t>(ops::checksum_scratch() / sizeof(float))});
  for (std::size_t i = 0; i < pieces.size(); ++i) ops::checksum(context, pieces[i], results + i);
}

std::vector<std::uint64_t> read_fingerprint(StepReplica& replica, std::size_t pieces, const Deadline& deadline) {
  LogicalGpu& gpu = replica.gpu();
  std::vector<std::uint64_t> words(pieces);
  const DeviceGuard guard(gpu.physical());
  LOCKSTEP_CHECK(cudaMemcpyAsync(words.data(), replica.fingerprints.raw(), pieces * sizeof(std::uint64_t), cudaMemcpyDeviceToHost,
                                 gpu.compute().get()));
  replica.finished.record(gpu.compute());
  if (!wait_until_done(replica.finished, deadline)) {
    gpu.compute().synchronize();  // `words` must not go while the copy may still write to it
  }
  return words;
}

// One word for a replica (FNV-1a over the words).
std::uint64_t combined(const std::vector<std::uint64_t>& fingerprints) {
  std::uint64_t all = 0xcbf29ce484222325ULL;
  for (const std::uint64_t word : fingerprints) {
    for (int shift = 0; shift < 64; shift += 8) all = (all ^ ((word >> shift) & 0xff)) * 0x100000001b3ULL;
  }
  return all;
}

// The first variable or slot in which a copy differs from replica 0's, and both fingerprints. All workers ask at once.
std::string first_difference(ReplicaSet& replicas, std::size_t copy, const Deadline& deadline) {
  std::vector<std::string> names;
  std::vector<std::uint64_t> rows;
  for (StepReplica& replica : replicas.all) {
    const NamedPieces pieces(replica.replica.variables());
    issue_fingerprint(replica, pieces.tensors);
    const std::vector<std::uint64_t> words = read_fingerprint(replica, pieces.tensors.size(), deadline);
    rows.insert(rows.end(), words.begin(), words.end());
    names = pieces.names;
  }
  rows = replicas.ops->gather(rows, names.size(), deadline);
  const std::uint64_t* expected = rows.data();
  const std::uint64_t* found = rows.data() + copy * names.size();
  const auto i = static_cast<std::size_t>(std::mismatch(expected, expected + names.size(), found).first - expected);
  if (i == names.size()) return "padding between variables";
  return names[i] + " (fingerprint " + hexadecimal(found[i]) + ", on replica 0 " + hexadecimal(expected[i]) + ")";
}

}  // namespace

std::string hexadecimal(std::uint64_t word) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%016llx", static_cast<unsigned long long>(word));
  return text.data();
}

std::vector<std::uint64_t> checksums(ReplicaSet& replicas, Phase phase, const StepBatch& batch) {
  const Watching watching;
  const std::size_t copies = replicas.one_copy ? 1 : replicas.all.size();
  std::vector<std::size_t> pieces;
  for (std::size_t r = 0; r < copies; ++r) {  // all of them at once
    const std::vector<Tensor> buffers = flat_buffers(replicas[r].replica.variables());
    pieces.push_back(buffers.size());
    replicas.serve(r, phase, batch.step, [&] { issue_fingerprint(replicas[r], buffers); });
  }
  std::vector<std::uint64_t> words;
  for (std::size_t r = 0; r < copies; ++r)
    replicas.serve(r, phase, batch.step, [&] { words.push_back(combined(read_fingerprint(replicas[r], pieces[r], batch.deadline))); });
  return words;
}

void require_copies(const ReplicaSet& replicas) {
  if (replicas.one_copy)
    throw Error("check_mirrored: \"one-copy\" has one shared copy: nothing to compare. Choose another algorithm, or leave out the check.");
}

// All workers see the same words, so all of them ask for the variables' fingerprints or none does.
std::uint64_t require_mirrored(ReplicaSet& replicas, Phase phase, const StepBatch& batch) {
  const Watching watching;
  const std::vector<std::uint64_t> here = checksums(replicas, phase, batch);
  const std::vector<std::uint64_t> words = replicas.ops->gather(here, 1, batch.deadline);
  const auto other = std::find_if(words.begin(), words.end(), [&](std::uint64_t word) { return word != words.front(); });
  if (other == words.end()) return here.front();
  const auto copy = static_cast<std::size_t>(other - words.begin());
  throw Error("The replicas are no longer mirrored after step " + std::to_string(batch.step) + ": " +
              first_difference(replicas, copy, batch.deadline) + " on replica " + std::to_string(copy) + " differs from replica 0.");
}

}  // namespace lockstep
