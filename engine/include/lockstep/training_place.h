// Where training stands, and on which samples: kept with a saved model and in a backup, so that going on with others is noticed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lockstep/array.h"

namespace lockstep {

// What is not known is empty or 0: files of Keras and of older versions say nothing.
struct TrainingPlace {
  int epoch = 0;                      // to go on with, from 0
  std::int64_t batch = 0;             // so many of its batches are done
  std::int64_t samples = 0;           // of an epoch
  std::int64_t batch_size = 0;        // global
  std::optional<std::uint64_t> seed;  // of the order of samples
  std::string data;                   // a name for the samples: FitOptions::data_name, or data_name of the arrays
  std::int64_t iterations = 0;        // optimizer steps taken by then
};

// What differs in samples, batches, seed or data, in words: "batches of 128 samples (now 126)". Empty where nothing does.
std::string difference(const TrainingPlace& saved, const TrainingPlace& now);

// A name that follows from shapes, labels and a thousand of the samples: cheap enough for every fit, and other data have another one.
std::string data_name(const Array& x, const Array& y);

}  // namespace lockstep
