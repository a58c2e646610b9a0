// ModelCheckpoint, after Keras' callback of the same name.
#include <fmt/format.h>

#include <filesystem>

#include "engine/train/watch.h"
#include "lockstep/model.h"

namespace lockstep {
namespace {

// One field of a path: "epoch:02d" or "val_loss:.2f", as Python formats it.
std::string field(const std::string& path, const std::string& text, const TrainingEvent& event) {
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const std::string form = "{:" + (colon == std::string::npos ? "" : text.substr(colon + 1)) + "}";
  try {
    if (name == "epoch") return fmt::format(fmt::runtime(form), event.epoch + 1);
    if (name == "batch") return fmt::format(fmt::runtime(form), event.batch + 1);
    if (const auto found = event.logs->find(name); found != event.logs->end()) return fmt::format(fmt::runtime(form), found->second);
  } catch (const fmt::format_error& error) {
    throw Error("ModelCheckpoint: in the path " + path + ", {" + text + "} is no format for a number (" + error.what() + ")");
  }
  std::string known = "epoch";
  for (const auto& [key, value] : *event.logs) known += ", " + key;
  throw Error("ModelCheckpoint: the path " + path + " names {" + name + "}, which is not there; there are: " + known);
}

std::string filled(const std::string& path, const TrainingEvent& event) {
  std::string text;
  for (std::size_t at = 0; at < path.size(); ++at) {
    const bool twice = at + 1 < path.size() && path[at + 1] == path[at];
    if ((path[at] == '{' || path[at] == '}') && twice) {
      text += path[at++];
    } else if (path[at] == '{') {
      const std::size_t end = path.find('}', at);
      if (end == std::string::npos) throw Error("ModelCheckpoint: the path " + path + " has a { without a }");
      text += field(path, path.substr(at + 1, end - at - 1), event);
      at = end;
    } else {
      text += path[at];
    }
  }
  return text;
}

}  // namespace

struct ModelCheckpoint::State : Watch {
  using Watch::Watch;
  std::string path;
  bool best_only = false, weights_only = false;
  std::int64_t batches = 0;  // 0: once an epoch
  std::optional<double> threshold;

  std::int64_t seen = 0;
  double best = 0;
  std::string last;

  void check_path() const {
    if (weights_only ? !path.ends_with(".weights.h5") : !path.ends_with(".keras") && !path.ends_with(".h5"))
      throw Error("ModelCheckpoint: " + path +
                  (weights_only ? " must end in .weights.h5, since only weights are saved"
                                : " must end in .keras or .h5 (.weights.h5 with save_weights_only)"));
  }

  void save(TrainingEvent& event) {
    if (best_only) {
      const std::optional<double> now = value(event, "ModelCheckpoint");
      if (!now || !is_better(*now, best)) return;
      best = *now;
    }
    const std::string file = filled(path, event);
    last = file;
    if (event.model->strategy().worker() != 0) return;
    if (const auto folder = std::filesystem::path(file).parent_path(); !folder.empty()) std::filesystem::create_directories(folder);
    if (weights_only)
      event.model->save_weights(file);
    else
      event.model->save(file);
  }
};

ModelCheckpoint::ModelCheckpoint(const std::string& filepath, const std::string& monitor) : state_(std::make_shared<State>(monitor)) {
  state_->path = filepath;
  on_train_begin = [s = state_](TrainingEvent&) {
    s->check_path();
    s->seen = 0;
    s->best = s->threshold.value_or(s->worst());
    s->last.clear();
  };
  on_epoch_end = [s = state_](TrainingEvent& event) {
    if (s->batches == 0) s->save(event);
  };
}

ModelCheckpoint& ModelCheckpoint::save_best_only(bool yes) { return state_->best_only = yes, *this; }
ModelCheckpoint& ModelCheckpoint::save_weights_only(bool yes) { return state_->weights_only = yes, *this; }
ModelCheckpoint& ModelCheckpoint::mode(const std::string& mode) { return state_->set_mode(mode), *this; }
ModelCheckpoint& ModelCheckpoint::initial_value_threshold(double value) { return state_->threshold = value, *this; }
ModelCheckpoint& ModelCheckpoint::save_freq(const std::string& epoch) {
  if (epoch != "epoch") throw Error("ModelCheckpoint: save_freq is \"epoch\" or a number of batches, not \"" + epoch + "\"");
  state_->batches = 0;
  on_batch_end = nullptr;
  return *this;
}
ModelCheckpoint& ModelCheckpoint::save_freq(std::int64_t batches) {
  if (batches < 1) throw Error("ModelCheckpoint: save_freq must be at least 1 batch, not " + std::to_string(batches));
  state_->batches = batches;
  on_batch_end = [s = state_](TrainingEvent& event) {  // only where asked for: batch logs need the GPU's sums
    if (++s->seen % s->batches == 0) s->save(event);
  };
  return *this;
}
double ModelCheckpoint::best() const { return state_->best; }
std::string ModelCheckpoint::last_saved() const { return state_->last; }

}  // namespace lockstep
