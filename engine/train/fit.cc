// The training loop: epochs, batches, validation, callbacks, progress, trace.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "engine/distribute/strategy/strategy_impl.h"
#include "engine/train/interrupt.h"
#include "engine/train/model_impl.h"
#include "engine/train/progress.h"
#include "engine/train/trace_run.h"
#include "lockstep/model.h"
#include "simulator/trace/trace_impl.h"

namespace lockstep {

// One call of fit, from its first batch to its History.
class Training {
 public:
  Training(Model& model, Model::Impl& impl, const Dataset& data, const FitOptions& options)
      : model_(model), impl_(impl), data_(data), options_(options), bar_(options.verbose_, options.epochs_) {}

  History run() {
    require_own_scope(impl_.strategy, "fit");
    impl_.require_compiled("fit");
    if (data_.batch_size() == 0) throw Error("fit: the data set is not batched; add .batch(64 * strategy.num_replicas_in_sync())");
    impl_.build(data_.sample_shape());
    impl_.require_trainable("fit");
    if (!options_.class_weight_.empty() && !options_.sample_weight_.empty())
      throw Error("fit: class_weight and sample_weight can't be used together");
    impl_.fresh = false;
    start_trace();
    describe();
    begin();
    for (int epoch = first_epoch_; epoch < options_.epochs_ && !history_.stopped; ++epoch) run_epoch(epoch);
    finish_trace();
    interrupted_ = cut_short_;
    call(&Callback::on_train_end, options_.epochs_, 0, nullptr);
    return history_;
  }

 private:
  // What is trained on, for callbacks that keep where training stood.
  void describe() {
    impl_.place = options_.place_;
    impl_.place->batch_size = data_.batch_size();
    if (impl_.place->samples == 0) impl_.place->samples = std::max<std::int64_t>(0, data_.cardinality()) * data_.batch_size();
  }
  void note_place(int epoch, std::int64_t batch) {
    impl_.place->epoch = epoch;
    impl_.place->batch = batch;
    impl_.place->iterations = impl_.step->iterations();
  }

  // A callback may know better where to begin: the one that brings back what was interrupted.
  void begin() {
    first_epoch_ = options_.place_.epoch;
    first_batch_ = options_.place_.batch;
    for (const Callback& callback : options_.callbacks_) {
      if (!callback.on_train_begin) continue;
      TrainingEvent event{first_epoch_, first_batch_, nullptr, false, &model_, false, data_.batch_size(), {}, &*impl_.place};
      callback.on_train_begin(event);
      first_epoch_ = event.epoch;
      first_batch_ = event.batch;
      require_agreement(event);
      if (!event.weights.empty()) load(event.weights);
      history_.stopped = history_.stopped || event.stop;
    }
    note_place(first_epoch_, first_batch_);
    if (first_batch_ == 0 || steps_of_an_epoch() < 0 || first_batch_ < steps_of_an_epoch()) return;
    if (first_batch_ > steps_of_an_epoch())
      throw Error("fit: it is to go on behind batch " + std::to_string(first_batch_) + " of an epoch, but an epoch has " +
                  std::to_string(steps_of_an_epoch()) + ": other samples or other batches than before");
    ++first_epoch_;  // all of its batches were done: it ended between the last one and its end
    first_batch_ = 0;
  }

  // The weights and the optimizer's state; what is trained on stays what it is.
  void load(const std::string& weights) {
    const TrainingPlace now = *impl_.place;
    model_.load_weights(weights);
    impl_.place = now;
  }

  // Workers that begin in different places would wait for each other until the deadline.
  void require_agreement(const TrainingEvent& event) {
    constexpr int kBitsOfBatches = 40;
    const std::uint64_t place = (static_cast<std::uint64_t>(event.epoch) << kBitsOfBatches) + 2 * static_cast<std::uint64_t>(event.batch);
    if (impl_.step->workers_agree(place + (event.weights.empty() ? 0 : 1))) return;
    throw Error("fit: worker " + std::to_string(impl_.strategy.worker()) + " would begin at batch " + std::to_string(event.batch + 1) +
                " of epoch " + std::to_string(event.epoch + 1) +
                ", another one at another place. Fix: let all workers see the same files, such as " + "BackupAndRestore's folder");
  }

  std::int64_t steps_of_an_epoch() const {  // -1: not known yet
    const std::int64_t steps = data_.cardinality();
    return options_.steps_per_epoch_ >= 0 && (steps < 0 || options_.steps_per_epoch_ < steps) ? options_.steps_per_epoch_ : steps;
  }

  void run_epoch(int epoch) {
    call(&Callback::on_epoch_begin, epoch, 0, nullptr);
    impl_.step->clear_totals();
    const std::int64_t steps = steps_of_an_epoch();
    bar_.begin_epoch(epoch, steps);
    const auto batches = data_.iterate(epoch);
    Batch batch;
    const auto started = std::chrono::steady_clock::now();
    std::int64_t done = 0;
    const std::int64_t skipped = epoch == first_epoch_ ? first_batch_ : 0;
    while (done < skipped && batches->next(batch)) ++done;
    while ((steps < 0 || done < steps) && !history_.stopped && batches->next(batch)) {
      if (!options_.class_weight_.empty()) batch.w = weights_by_class(batch);
      impl_.step->train(batch.x, batch.y, batch.w);
      ++done;
      note_place(epoch, done);
      after_batch(epoch, done, batch.x.samples());
      agree_to_stop();
    }
    interrupted_ = history_.stopped && (steps < 0 || done < steps);
    cut_short_ = interrupted_ || (history_.stopped && epoch + 1 < options_.epochs_);
    if (done == 0) throw Error("fit: the data set gave no batch");
    if (done <= skipped) return;  // nothing was left of it
    history_.steps += done - skipped;
    finish_epoch(epoch, done, started);
  }

  // The label is a whole number, or the place of the largest target.
  Array weights_by_class(const Batch& batch) const {
    if (!batch.w.empty()) throw Error("fit: class_weight can't be used with samples that bring weights of their own");
    if (batch.y.samples() != batch.x.samples() || batch.y.empty()) return {};  // the step refuses such a batch
    Array weights(Shape{batch.x.samples()});
    const std::int64_t width = batch.y.size() / batch.y.samples();
    for (std::int64_t i = 0; i < batch.y.samples(); ++i) {
      int label = 0;
      if (batch.y.dtype() == DType::int32) {
        label = batch.y.data<std::int32_t>()[i * width];
      } else {
        const float* targets = batch.y.data<float>() + i * width;
        label =
            width == 1 ? static_cast<int>(std::lround(targets[0])) : static_cast<int>(std::max_element(targets, targets + width) - targets);
      }
      const auto found = options_.class_weight_.find(label);
      weights.data<float>()[i] = found == options_.class_weight_.end() ? 1.0F : found->second;
    }
    return weights;
  }

  void after_batch(int epoch, std::int64_t done, std::int64_t samples) {
    if (tracing_ && ++traced_ == options_.trace_options_.steps_) finish_trace();
    bar_.count(samples);
    history_.samples += samples;
    if (bar_.due()) bar_.show(done, impl_.logs(false));  // workers come to this at different times
    if (interrupted()) history_.stopped = true;
    for (const Callback& callback : options_.callbacks_) {
      if (callback.should_stop && callback.should_stop()) history_.stopped = true;
      if (!callback.on_batch_end) continue;
      const Logs logs = impl_.logs();
      TrainingEvent event{epoch, done - 1, &logs, false, &model_, false, data_.batch_size(), {}, &*impl_.place};
      callback.on_batch_end(event);
      history_.stopped = history_.stopped || event.stop;
    }
  }

  // Ctrl-C may reach one worker only, or workers in different steps: they stop together.
  void agree_to_stop() { history_.stopped = impl_.step->any_worker(history_.stopped); }

  void finish_epoch(int epoch, std::int64_t done, std::chrono::steady_clock::time_point started) {
    Logs logs = impl_.logs();  // waits for the GPUs
    bar_.end_batches();
    history_.training_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    if (!history_.stopped) validate(logs);
    history_.epoch.push_back(epoch);
    for (const auto& [name, value] : logs) history_.history[name].push_back(value);
    bar_.end_epoch(done, logs);
    if (!interrupted_) note_place(epoch + 1, 0);
    call(&Callback::on_epoch_end, epoch, done - 1, &logs);
  }

  void validate(Logs& logs) {
    std::map<std::string, double> results;
    if (options_.validation_data_)
      results = model_.evaluate(*options_.validation_data_);
    else if (const Batch& all = options_.validation_; !all.x.empty())
      results = model_.evaluate(all.x, all.y, options_.place_.batch_size, all.w);
    for (const auto& [name, value] : results) logs["val_" + name] = value;
  }

  void call(std::function<void(TrainingEvent&)> Callback::*which, int epoch, std::int64_t batch, const Logs* logs) {
    for (const Callback& callback : options_.callbacks_) {
      if (!(callback.*which)) continue;
      TrainingEvent event{epoch, batch, logs, false, &model_, interrupted_, data_.batch_size(), {}, &*impl_.place};
      (callback.*which)(event);
      history_.stopped = history_.stopped || event.stop;
    }
  }

  void start_trace() {
    if (options_.trace_paths_.empty() && options_.traces_.empty()) return;
    for (const std::string& path : options_.trace_paths_) check_trace_path(path);
    const TraceOptions& wanted = options_.trace_options_;
    tracing_ = true;
    impl_.tracer = std::make_unique<Tracer>(trace_clock_from_environment());
    impl_.tracer->set_inspected_steps(wanted.inspect_);
    impl_.tracer->set_samples_to_keep(wanted.samples_);
    impl_.step->set_tracer(impl_.tracer.get());
  }

  void finish_trace() {
    if (!tracing_) return;
    tracing_ = false;
    impl_.step->set_tracer(nullptr);
    impl_.tracer->resolve();
    const TraceOptions& wanted = options_.trace_options_;
    const int worker = impl_.strategy.worker();
    Trace trace;
    TraceContents& contents = trace.impl_->contents;
    contents = impl_.tracer->contents();
    contents.about = describe_run(impl_.step->about(), wanted.title_.empty() ? impl_.name : wanted.title_, impl_.tracer->clock(),
                                  wanted.class_names_, wanted.words_, contents.samples);
    contents.worker = worker;
    for (const std::string& path : options_.trace_paths_) trace.save(path_for_worker(path, worker));
    for (const Trace& one : options_.traces_) one.impl_->contents = contents;
    impl_.trace = std::move(trace);
    impl_.tracer.reset();
  }

  Model& model_;
  Model::Impl& impl_;
  const Dataset& data_;
  const FitOptions& options_;
  ProgressBar bar_;
  History history_;
  std::int64_t traced_ = 0;
  int first_epoch_ = 0;
  std::int64_t first_batch_ = 0;
  bool interrupted_ = false;  // in the middle of an epoch
  bool cut_short_ = false;    // between batches, before the last one of all
  bool tracing_ = false;
};

History Model::fit(const Dataset& data, const FitOptions& options) { return Training(*this, *impl_, data, options).run(); }

History Model::fit(const Array& x, const Array& y, const FitOptions& options) {
  if (x.samples() != y.samples())
    throw Error("fit: x has " + std::to_string(x.samples()) + " samples and y has " + std::to_string(y.samples()) + ": they must be equal");
  Dataset data = Dataset::from_arrays(x, y, options.sample_weight_);
  FitOptions named = options;
  TrainingPlace& place = named.place_;
  if (place.data.empty()) place.data = data_name(x, y);
  place.samples = x.samples();
  if (options.shuffle_) data = data.shuffle(place.samples, *place.seed);
  return fit(data.batch(place.batch_size), named);
}

}  // namespace lockstep
