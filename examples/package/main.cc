// Which half of a square does a point lie in? Two logical GPUs learn it together.
#include <lockstep/lockstep.h>

#include <cmath>
#include <cstdio>

using namespace lockstep;

int main() {
  constexpr std::int64_t kPoints = 512;
  Array x(Shape{kPoints, 2});
  Array y(Shape{kPoints}, DType::int32);
  for (std::int64_t i = 0; i < kPoints; ++i) {
    const auto a = static_cast<float>(std::fmod(0.7548777 * static_cast<double>(i), 1.0));  // evenly spread, without a random generator
    const auto b = static_cast<float>(std::fmod(0.5698403 * static_cast<double>(i), 1.0));
    x.data<float>()[2 * i] = a;
    x.data<float>()[2 * i + 1] = b;
    y.data<std::int32_t>()[i] = a > b ? 1 : 0;
  }

  const MirroredStrategy strategy(split_gpu(0, {64, 64}));
  Model model = strategy.scope([] {
    Sequential m({Dense(16, "relu"), Dense(2)});
    m.compile(Adam(1e-2F), SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
    return m;
  });
  model.fit(x, y, FitOptions().epochs(20).batch_size(64).verbose(Verbose::silent));
  const double accuracy = model.evaluate(x, y).at("accuracy");
  std::printf("accuracy %.3f on %d replicas\n", accuracy, strategy.num_replicas_in_sync());
  return accuracy > 0.95 ? 0 : 1;
}
