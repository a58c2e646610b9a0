// Strategies: which GPUs, which algorithm, and the scope that says where new models live.
#include "lockstep/strategy.h"

#include <mutex>
#include <set>

#include "engine/distribute/step/mirrored_step.h"
#include "engine/distribute/strategy/strategy_impl.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// Scopes nest, each thread has its own: what Python keeps in a thread-local stack too. The one mutable global of the engine.
std::vector<Strategy>& scopes() {
  thread_local std::vector<Strategy> stack;
  return stack;
}

std::string join(const std::vector<GpuId>& gpus) {
  std::string text;
  for (const GpuId& gpu : gpus) text += (text.empty() ? "" : ", ") + gpu.name();
  return text;
}

void check_gpus(const std::string& kind, const std::vector<GpuId>& gpus) {
  if (gpus.empty()) throw Error(kind + ": no GPU was given; a strategy needs at least one.");
  const std::vector<GpuId> present = list_gpus();
  std::set<std::string> seen;
  std::set<int> whole;
  std::set<int> split;
  for (const GpuId& gpu : gpus) {
    bool known = false;
    for (const GpuId& there : present) known = known || there.physical == gpu.physical;
    if (!known) throw Error(kind + ": there is no GPU " + gpu.name() + ". Present: " + (present.empty() ? "none" : join(present)) + ".");
    if (!seen.insert(gpu.name()).second) {
      throw Error(kind + ": " + gpu.name() + " was given twice; every replica needs a GPU of its own (split_gpu makes several from one).");
    }
    (gpu.logical < 0 ? whole : split).insert(gpu.physical);
  }
  for (const int card : whole) {
    if (split.count(card)) throw Error(kind + ": card " + std::to_string(card) + " was given whole and in parts; give one or the other.");
  }
}

std::vector<GpuId> parse(const std::vector<std::string>& names) {
  std::vector<GpuId> gpus;
  gpus.reserve(names.size());
  for (const std::string& name : names) gpus.push_back(parse_gpu(name));
  return gpus;
}

// Outside any scope all callers share one strategy, for as long as one of them holds it.
std::shared_ptr<Strategy::Impl> first_gpu() {
  static std::mutex mutex;
  static std::weak_ptr<Strategy::Impl> shared;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Strategy::Impl> impl = shared.lock();
  if (!impl) {
    const std::vector<GpuId> present = list_gpus();
    if (present.empty()) throw Error("There is no GPU, real or virtual.");
    impl = std::make_shared<Strategy::Impl>("OneDeviceStrategy", std::vector<GpuId>{present.front()}, "");
    shared = impl;
  }
  return impl;
}

// Gives access to the constructor that takes an Impl.
class SharedStrategy : public Strategy {
 public:
  explicit SharedStrategy(std::shared_ptr<Impl> impl) : Strategy(std::move(impl)) {}
};

}  // namespace

Strategy::Impl::Impl(std::string kind, std::vector<GpuId> ids, const std::string& algorithm)
    : kind_(std::move(kind)), ids_(std::move(ids)) {
  check_gpus(kind_, ids_);
  why_ = "as asked for";
  cross_device_ops_ = make_cross_device_ops(algorithm.empty() ? choose_cross_device_ops(ids_, &why_) : algorithm);
  for (const GpuId& id : ids_) gpus_.push_back(std::make_unique<LogicalGpu>(id));
  cross_device_ops_->prepare(logical_gpus(), 0);  // an algorithm that can't connect these GPUs says so now
}

Strategy::Impl::Impl(std::string kind, std::vector<GpuId> ids, std::shared_ptr<CrossDeviceOps> cross_device_ops, std::string why)
    : kind_(std::move(kind)), ids_(std::move(ids)), cross_device_ops_(std::move(cross_device_ops)), why_(std::move(why)) {
  check_gpus(kind_, ids_);
  for (const GpuId& id : ids_) gpus_.push_back(std::make_unique<LogicalGpu>(id));
  cross_device_ops_->prepare(logical_gpus(), 0);
}

std::unique_ptr<TrainingStep> Strategy::Impl::make_step(const Graph& graph, const StepOptions& options, Tracer* tracer) {
  return std::make_unique<MirroredStep>(graph, logical_gpus(), cross_device_ops_, options, tracer);
}

std::vector<LogicalGpu*> Strategy::Impl::logical_gpus() const {
  std::vector<LogicalGpu*> gpus;
  gpus.reserve(gpus_.size());
  for (const std::unique_ptr<LogicalGpu>& gpu : gpus_) gpus.push_back(gpu.get());
  return gpus;
}

std::string Strategy::Impl::describe() const {
  return kind_ + ": " + std::to_string(ids_.size()) + (ids_.size() == 1 ? " replica on " : " replicas on ") + join(ids_) +
         "; gradients are summed by \"" + cross_device_ops_->name() + "\" (" + why_ + ").";
}

int Strategy::num_replicas_in_sync() const { return impl_->place().replicas; }
int Strategy::worker() const { return impl_->place().worker; }
int Strategy::workers() const { return impl_->place().workers; }
const std::vector<GpuId>& Strategy::gpus() const& { return impl_->ids(); }
std::string Strategy::cross_device_ops() const { return impl_->cross_device_ops()->name(); }
std::string Strategy::describe() const { return impl_->describe(); }
const StepOptions& Strategy::step_options() const& { return impl_->step_options(); }
void Strategy::set_step_options(const StepOptions& options) const { impl_->set_step_options(options); }

Strategy::ScopeGuard::ScopeGuard(const Strategy& strategy) { scopes().push_back(strategy); }
Strategy::ScopeGuard::~ScopeGuard() { scopes().pop_back(); }

const void* Strategy::scope_identity() { return scopes().empty() ? nullptr : scopes().back().impl().get(); }

Strategy Strategy::current() {
  if (!scopes().empty()) return scopes().back();
  return SharedStrategy(first_gpu());
}

void require_own_scope(const Strategy& strategy, const std::string& what) {
  if (ReplicaContext::current() != nullptr) {
    throw Error(what +
                " was called from inside a function that Strategy::run started on every replica; it drives all replicas by itself: " +
                "call it once, outside run.");
  }
  if (scopes().empty() || scopes().back().impl() == strategy.impl()) return;
  throw Error(what + ": the model was made outside the scope it is used in, so its variables are not on that scope's replicas (" +
              scopes().back().describe() + "). It was made with " + strategy.describe() +
              " Make the model, or load it from a file, inside the scope; or use it outside.");
}

OneDeviceStrategy::OneDeviceStrategy(const GpuId& gpu)
    : Strategy(std::make_shared<Impl>("OneDeviceStrategy", std::vector<GpuId>{gpu}, "")) {}
OneDeviceStrategy::OneDeviceStrategy(const std::string& name) : OneDeviceStrategy(parse_gpu(name)) {}

MirroredStrategy::MirroredStrategy() : MirroredStrategy(list_gpus()) {}
MirroredStrategy::MirroredStrategy(const std::vector<GpuId>& gpus, const CrossDeviceOpsName& cross_device_ops)
    : Strategy(std::make_shared<Impl>("MirroredStrategy", gpus, cross_device_ops.name)) {}
MirroredStrategy::MirroredStrategy(const std::vector<std::string>& names, const CrossDeviceOpsName& cross_device_ops)
    : MirroredStrategy(parse(names), cross_device_ops) {}
MirroredStrategy::MirroredStrategy(std::initializer_list<const char*> names, const CrossDeviceOpsName& cross_device_ops)
    : MirroredStrategy(std::vector<std::string>(names.begin(), names.end()), cross_device_ops) {}

}  // namespace lockstep
