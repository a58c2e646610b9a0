// Traces for the browser's test, with the engine's own figures of every step, which the page must show.
//
//   make_traces FOLDER    writes engine.json, and as .html and .json: pictures (ring), texts (tree), graphs (one device, CUDA graphs) and
//                         shared (one copy)
//
// Names of layers, classes, words and the title look like markup on purpose.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "lockstep/lockstep.h"

namespace {

using namespace lockstep;  // NOLINT(google-build-using-namespace): a program like a user's

const std::string kMarkup = "<script>window.hacked = 1</script>";

std::string quoted(std::uint64_t word) {
  char text[32];
  std::snprintf(text, sizeof text, "\"0x%016llx\"", static_cast<unsigned long long>(word));
  return text;
}

// A line for every step: the mean loss of its batch, and each replica's checksum, asked for from outside.
class Witness {
 public:
  Callback callback() {
    Callback callback;
    callback.on_batch_end = [this](TrainingEvent& event) {
      std::string sums;
      for (const std::uint64_t sum : event.model->checksums()) sums += (sums.empty() ? "" : ",") + quoted(sum);
      const double mean = event.logs->at("loss");  // of all batches so far, equally large
      const double steps = static_cast<double>(event.batch + 1);
      char loss[40];
      std::snprintf(loss, sizeof loss, "%.17g", mean * steps - before_);
      before_ = mean * steps;
      text_ += (text_.empty() ? "" : ",\n") + std::string("{\"step\":") + std::to_string(event.batch + 1) + ",\"loss\":" + loss +
               ",\"checksums\":[" + sums + "]}";
    };
    return callback;
  }
  std::string json() const { return "[" + text_ + "]"; }

 private:
  std::string text_;
  double before_ = 0;
};

Array random_floats(Shape shape, std::mt19937& random) {
  Array array(std::move(shape));
  for (std::int64_t i = 0; i < array.size(); ++i) array.data<float>()[i] = static_cast<float>(random() % 256) / 255;
  return array;
}

Array random_ints(Shape shape, unsigned below, std::mt19937& random) {
  Array array(std::move(shape), DType::int32);
  for (std::int64_t i = 0; i < array.size(); ++i) array.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % below);
  return array;
}

std::string fit(Model model, const Array& x, const Array& y, const std::string& path, const TraceOptions& options, std::int64_t batch) {
  Witness witness;
  model.fit(x, y,
            FitOptions()
                .batch_size(batch)
                .verbose(Verbose::silent)
                .trace(path + ".html", options)
                .trace(path + ".json", options)
                .callback(witness.callback()));
  return witness.json();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "make_traces FOLDER\n";
    return 2;
  }
  const std::string folder = std::string(argv[1]) + "/";
  std::mt19937 random(7);
  const std::vector<GpuId> gpus = split_gpu(0, {64, 64, 64, 64});

  const MirroredStrategy three({gpus[0], gpus[1], gpus[2]}, RingAllReduce());
  const Model pictures = three.scope([] {
    Sequential model({Conv2D(8, 3, "relu").name(kMarkup), MaxPooling2D(2), Flatten(), Dense(32, "relu"), Dense(3)});
    model.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits());
    return model;
  });
  TraceOptions options;
  options.steps(6).inspect(3).title(kMarkup).class_names({"plain", kMarkup, "a & b"});
  const std::string first =
      fit(pictures, random_floats({168, 16, 16, 3}, random), random_ints({168}, 3, random), folder + "pictures", options, 28);

  const MirroredStrategy four(gpus, TreeAllReduce());
  const Model texts = four.scope([] {
    Sequential model({Embedding(50, 4), Flatten(), Dense(16, "relu"), Dense(3)});
    model.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits());
    return model;
  });
  std::vector<std::string> words(50, kMarkup);
  words[7] = "seven";
  options = TraceOptions().steps(4).inspect(4).title("texts").words(words);
  const std::string second = fit(texts, random_ints({40, 12}, 50, random), random_ints({40}, 3, random), folder + "texts", options, 10);

  // Small pictures once more, as CUDA graphs and on one shared copy.
  const Array x = random_floats({64, 12, 12, 1}, random), y = random_ints({64}, 3, random);
  const auto small = [&](const CrossDeviceOpsName& how, const std::string& name, bool graphs) {
    const MirroredStrategy strategy(gpus, how);
    StepOptions step_options;
    step_options.graphs = graphs;
    strategy.set_step_options(step_options);
    const Model model = strategy.scope([] {
      Sequential layers({Conv2D(8, 3, "relu"), MaxPooling2D(2), Flatten(), Dropout(0.2F), Dense(32, "relu"), Dense(3)});
      layers.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits());
      return layers;
    });
    fit(model, x, y, folder + name, TraceOptions().steps(4).inspect(3).title(name), 16);
  };
  small(ReductionToOneDevice(), "graphs", true);
  small(OneCopy(), "shared", false);
  std::ofstream(folder + "engine.json") << "{\"pictures\":" << first << ",\n\"texts\":" << second << "}\n";
}
