// EarlyStopping, ReduceLROnPlateau and CSVLogger, after Keras' callbacks of the same names.
#include "lockstep/callbacks.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>

#include "engine/train/watch.h"
#include "lockstep/error.h"
#include "lockstep/model.h"

namespace lockstep {

struct EarlyStopping::State : Watch {
  using Watch::Watch;
  int patience = 0;
  std::optional<double> baseline;
  bool restore = false;
  int start_from_epoch = 0;

  int wait = 0, stopped_epoch = 0, best_epoch = 0;
  double best = 0;
  std::vector<NamedArray> weights;
};

EarlyStopping::EarlyStopping(const std::string& monitor) : state_(std::make_shared<State>(monitor)) {
  on_train_begin = [s = state_](TrainingEvent&) {
    s->wait = s->stopped_epoch = s->best_epoch = 0;
    s->best = s->worst();
    s->weights.clear();
  };
  on_epoch_end = [s = state_](TrainingEvent& event) {
    const std::optional<double> value = s->value(event, "EarlyStopping");
    if (!value || event.epoch < s->start_from_epoch) return;
    if (s->restore && s->weights.empty()) {  // if no epoch gets better, the first one's
      s->weights = event.model->get_weights();
      s->best_epoch = event.epoch;
    }
    ++s->wait;
    if (s->is_better(*value, s->best)) {
      s->best = *value;
      s->best_epoch = event.epoch;
      if (s->restore) s->weights = event.model->get_weights();
      if (!s->baseline || s->is_better(*value, *s->baseline)) s->wait = 0;
      return;
    }
    if (s->wait >= s->patience && event.epoch > 0) {
      s->stopped_epoch = event.epoch;
      event.stop = true;
    }
  };
  on_train_end = [s = state_](TrainingEvent& event) {
    if (s->restore && !s->weights.empty()) event.model->set_weights(s->weights);
  };
}
EarlyStopping& EarlyStopping::min_delta(double delta) { return state_->min_delta = std::fabs(delta), *this; }
EarlyStopping& EarlyStopping::patience(int epochs) { return state_->patience = epochs, *this; }
EarlyStopping& EarlyStopping::mode(const std::string& mode) { return state_->set_mode(mode), *this; }
EarlyStopping& EarlyStopping::baseline(double value) { return state_->baseline = value, *this; }
EarlyStopping& EarlyStopping::restore_best_weights(bool yes) { return state_->restore = yes, *this; }
EarlyStopping& EarlyStopping::start_from_epoch(int epoch) { return state_->start_from_epoch = epoch, *this; }
int EarlyStopping::stopped_epoch() const { return state_->stopped_epoch; }
int EarlyStopping::best_epoch() const { return state_->best_epoch; }
double EarlyStopping::best() const { return state_->best; }

struct ReduceLROnPlateau::State : Watch {
  using Watch::Watch;
  float factor = 0.1F, min_lr = 0;
  int patience = 10, cooldown = 0;

  int wait = 0, cooling = 0;
  double best = 0;
};

ReduceLROnPlateau::ReduceLROnPlateau(const std::string& monitor, float factor, int patience) : state_(std::make_shared<State>(monitor)) {
  if (!(factor >= 0 && factor < 1)) throw Error("ReduceLROnPlateau: factor must be at least 0 and below 1");
  state_->factor = factor;
  state_->patience = patience;
  state_->min_delta = 1e-4;
  on_train_begin = [s = state_](TrainingEvent&) {
    s->wait = s->cooling = 0;
    s->best = s->worst();
  };
  on_epoch_end = [s = state_](TrainingEvent& event) {
    const std::optional<double> value = s->value(event, "ReduceLROnPlateau");
    if (!value) return;
    if (s->cooling > 0) {
      --s->cooling;
      s->wait = 0;
    }
    if (s->is_better(*value, s->best)) {
      s->best = *value;
      s->wait = 0;
    } else if (s->cooling == 0 && ++s->wait >= s->patience) {
      Optimizer optimizer = event.model->optimizer();
      if (optimizer.learning_rate() <= s->min_lr) return;
      optimizer.set_learning_rate(std::max(optimizer.learning_rate() * s->factor, s->min_lr));
      s->cooling = s->cooldown;
      s->wait = 0;
    }
  };
}
ReduceLROnPlateau& ReduceLROnPlateau::min_delta(double delta) { return state_->min_delta = delta, *this; }
ReduceLROnPlateau& ReduceLROnPlateau::mode(const std::string& mode) { return state_->set_mode(mode), *this; }
ReduceLROnPlateau& ReduceLROnPlateau::cooldown(int epochs) { return state_->cooldown = epochs, *this; }
ReduceLROnPlateau& ReduceLROnPlateau::min_lr(float rate) { return state_->min_lr = rate, *this; }

CSVLogger::CSVLogger(const std::string& filename, const std::string& separator, bool append) {
  auto file = std::make_shared<std::ofstream>();
  auto titled = std::make_shared<bool>(false);
  on_train_begin = [=](TrainingEvent& event) {
    if (event.model->strategy().worker() != 0) return;
    std::error_code ignored;
    *titled = append && std::filesystem::exists(filename, ignored) && std::filesystem::file_size(filename, ignored) > 0;
    file->close();
    file->clear();
    file->open(filename, append ? std::ios::app : std::ios::trunc);
    if (!*file) throw Error("CSVLogger: " + filename + " can't be written");
  };
  on_epoch_end = [=](TrainingEvent& event) {
    if (event.model->strategy().worker() != 0) return;
    std::string title = "epoch", line = std::to_string(event.epoch);
    for (const auto& [name, value] : *event.logs) {
      title += separator + name;
      line += separator + fmt::format("{}", value);
    }
    if (!*titled) *file << title << "\n";
    *titled = true;
    *file << line << "\n" << std::flush;
    if (!*file) throw Error("CSVLogger: " + filename + " can't be written");
  };
  on_train_end = [=](TrainingEvent&) { file->close(); };
}

}  // namespace lockstep
