#include "engine/distribute/step/step_state.h"

#include <algorithm>
#include <chrono>

#include "engine/distribute/checks/mirrored.h"

namespace lockstep {

MirroredStep::State::State(const Graph& graph, const std::vector<LogicalGpu*>& gpus, const std::shared_ptr<CrossDeviceOps>& ops,
                           const StepOptions& options_, Tracer* tracer)
    : options(options_), replicas(graph, gpus, ops), buckets(replicas, options), trace(tracer) {
  if (options.check_mirrored) require_copies(replicas);
  for (const Node& node : graph.nodes()) {
    if (replicas.place().workers > 1 && node.layer->sums_over_replicas())
      throw Error(node.layer->class_name() + " \"" + node.layer->name() +
                  "\": synchronized statistics need all replicas in one process; with several workers use the replicas' own");
  }
  for (StepReplica& replica : replicas.all)
    for (std::size_t b = 0; b < buckets.size() + 1; ++b) replica.bucket_ready.emplace_back(replica.gpu().physical());
  custom.done.resize(gpus.size());
  custom.info.resize(gpus.size());
  ops->prepare(gpus, std::max(buckets.largest(), graph.layout().state_elements()));
}

void MirroredStep::State::guarded(const std::function<void()>& body) {
  if (!broken.empty()) {
    throw Error(
        "This model can't go on, since an earlier step did not end and its replicas may differ; make it again and load its "
        "weights. What happened: " +
        broken);
  }
  batch.deadline = Deadline(options.deadline_seconds);
  try {
    body();
  } catch (const std::exception& error) {
    fail(error);
  }
}

// A GPU that failed makes calls for other replicas fail too, those that wait for its events: the replica to name is the one of that GPU.
void MirroredStep::State::fail(const std::exception& error) {
  replicas.ops->abort();
  std::vector<int> lost;
  const bool idle = replicas.wait_until_idle(Deadline(batch.deadline.seconds_left()), &lost);
  std::string text = error.what();
  const auto* place = dynamic_cast<const StepError*>(&error);
  const auto named = [&](int replica) {
    return std::find(place->replicas.begin(), place->replicas.end(), replica) != place->replicas.end();
  };
  const bool blamed = place != nullptr && !lost.empty() && std::none_of(lost.begin(), lost.end(), named);
  if (blamed) text = StepError({lost.front()}, place->phase, place->step, place->happened).what();
  if (!idle || !lost.empty() || updating) broken = text;
  if (blamed) throw StepError({lost.front()}, place->phase, place->step, place->happened);
  if (place != nullptr) throw StepError(*place);
  throw Error(text);
}

void MirroredStep::State::begin(Mode mode, const Array& x, const Array& y, const Array& weights) {
  batch.custom = false;  // a custom loop's step that failed is over
  batch.mode = mode;
  batch.x = x;
  batch.y = y;
  batch.weights = weights;
  batch.seed = options.seed;
}

void MirroredStep::State::replicate_if_due() {
  if (mirrored) return;
  lockstep::replicate(replicas, batch, trace.tracer());
  if (options.check_mirrored) require_mirrored(replicas, Phase::replicate, batch);
  mirrored = true;
}

}  // namespace lockstep
