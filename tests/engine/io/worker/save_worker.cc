// Saves a model over and over until it is killed, which the test of killed saves does at random moments.
//
// save_worker FILE FIRST: with all weights FIRST, then FIRST + 1, ...; one byte on stdout after each save.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "lockstep/lockstep.h"

using namespace lockstep;

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Model model = OneDeviceStrategy().scope([] {
    Sequential m({Dense(256, "relu"), Dense(10)});
    m.compile(Adam(), SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
    return m;
  });
  model.build(Shape{64});
  for (int value = std::atoi(argv[2]);; ++value) {
    std::vector<NamedArray> weights = model.get_weights();
    for (NamedArray& w : weights) std::fill_n(w.values.data<float>(), w.values.size(), static_cast<float>(value));
    model.set_weights(weights);
    model.save(argv[1]);
    if (write(STDOUT_FILENO, "s", 1) != 1) return 1;
  }
}
