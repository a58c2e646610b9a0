// Watching changes nothing: a step that is traced, checked or reported on gives every stream the operations of a plain step, in the same
// order, and what watching adds is tagged and writes no memory of the step.
//
// The virtual GPU records what its streams are given. Of each run the tagged operations are taken away, and the rest becomes a text: for
// each stream its operations, each with kind, kernel, cost, grid and the places in memory that it touches (a buffer, by the order in which
// buffers are first seen, and the offset in it); waits name the operation that they wait for. Equal texts: equal steps.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "engine/distribute/step/mirrored_step.h"
#include "engine/optim/adam.h"
#include "lockstep/lockstep.h"
#include "simulator/gpu/runtime/recorder.h"
#include "simulator/trace/trace.h"
#include "tests/engine/distribute/support/gpus.h"
#include "tests/engine/distribute/support/model.h"

namespace lockstep {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): GPUs and models made for these tests

struct Case {
  std::string algorithm;
  bool cards = false;  // each replica has one of its own
  int replicas = 2;
  bool overlap = true;
  bool graphs = false;
  bool words = false;  // an embedding, whose rows in use are exchanged

  std::string name() const {
    return algorithm + (cards ? " on " : " on one card, ") + std::to_string(replicas) + (cards ? " cards" : " replicas") +
           (overlap ? "" : ", no overlap") + (graphs ? ", graphs" : "") + (words ? ", sparse rows" : "");
  }
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::string& algorithm : cross_device_ops_names())
    for (const bool cards : {false, true})
      for (int replicas = 2; replicas <= 8; ++replicas)
        for (const bool overlap : {true, false})
          for (const bool graphs : {false, true})
            for (const bool words : {false, true})
              if (cards ? algorithm != "one-copy" : algorithm != "nccl")
                cases.push_back({algorithm, cards, replicas, overlap, graphs, words});
  return cases;
}

struct Watch {
  const char* name;
  bool traced, checked, verbose;
};
constexpr Watch kPlain{"plain", false, false, false};
constexpr std::array<Watch, 4> kWatched = {
    {{"traced", true, false, false}, {"checked", false, true, false}, {"verbose", false, false, true}, {"all of these", true, true, true}}};

Graph graph_of(const Case& what) {
  const std::vector<Layer> layers =
      what.words ? std::vector<Layer>{Embedding(50, 7), Flatten(), Dense(5)}
                 : std::vector<Layer>{Conv2D(8, 3, "relu"), MaxPooling2D(2), BatchNormalization(), Flatten(), Dropout(0.3F), Dense(5)};
  std::vector<std::shared_ptr<LayerImpl>> implementations;
  for (const Layer& layer : layers) implementations.push_back(layer.impl());
  return Graph::chain(implementations, what.words ? Shape{6} : Shape{6, 6, 1});
}

Array samples_of(const Case& what, std::int64_t n, std::uint32_t seed) {
  if (!what.words) return random_samples({6, 6, 1}, n, seed);
  Array x(Shape{n, 6}, DType::int32);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<std::int32_t>()[i] = static_cast<std::int32_t>((i * 7 + seed) % 50);
  return x;
}

struct Run {
  std::string steps;               // the operations of the steps, as a text
  std::vector<std::string> added;  // operations that watching added, by name
  std::size_t operations = 0;      // of the steps
  std::string written;             // what watching wrote in the steps' memory: nothing
  std::vector<float> weights;      // of all replicas
};

using Names = std::map<const void*, std::string>;  // of streams

// Which bytes the steps touch.
class Ranges {
 public:
  void add(const sim::Touch& touch) {
    const auto begin = reinterpret_cast<std::uintptr_t>(touch.begin);
    std::uintptr_t& end = ends_[begin];
    end = std::max(end, begin + touch.bytes);
  }
  bool meet(const sim::Touch& touch) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(touch.begin), end = begin + touch.bytes;
    for (const auto& [from, to] : ends_)
      if (from < end && begin < to) return true;
    return false;
  }

 private:
  std::map<std::uintptr_t, std::uintptr_t> ends_;
};

Run made_of(const std::vector<sim::RecordedOperation>& operations, const Names& names) {
  Run run;
  Ranges touched;
  std::map<const void*, std::vector<const sim::RecordedOperation*>> streams;
  std::map<std::pair<const void*, std::uint64_t>, std::string> places;  // of operations of the steps
  for (const sim::RecordedOperation& one : operations) {
    if (one.watching) continue;
    ++run.operations;
    for (const sim::RecordedTouch& touch : one.touches) touched.add(touch.touch);
    auto& stream = streams[one.stream];
    const auto name = names.find(one.stream);
    places[{one.stream, one.sequence}] = (name == names.end() ? "?" : name->second) + " " + std::to_string(stream.size());
    stream.push_back(&one);
  }
  for (const sim::RecordedOperation& one : operations) {
    if (!one.watching) continue;
    run.added.push_back(one.name.empty() ? (one.kind == sim::NodeKind::record ? "event" : "wait") : one.name);
    for (const sim::RecordedTouch& touch : one.touches)
      if (touch.touch.write && touch.touch.bytes > 0 && touched.meet(touch.touch)) run.written += one.name + " ";
  }
  std::map<std::string, const void*> in_order;
  for (const auto& [stream, list] : streams) in_order[names.count(stream) ? names.at(stream) : "?"] = stream;
  std::map<const void*, std::size_t> buffers;
  std::ostringstream text;
  for (const auto& [name, stream] : in_order) {
    text << name << "\n";
    for (const sim::RecordedOperation* one : streams[stream]) {
      text << "  " << static_cast<int>(one->kind) << " " << static_cast<int>(one->operation) << " " << one->name << " " << one->cost.flops
           << " " << one->cost.bytes << " " << one->grid.x << "x" << one->block.x;
      for (const sim::RecordedTouch& touch : one->touches) {
        const void* const block = touch.block != nullptr ? touch.block : touch.touch.begin;
        const std::size_t buffer = buffers.try_emplace(block, buffers.size()).first->second;
        text << (touch.touch.write ? " writes " : " reads ") << buffer << "+"
             << static_cast<const char*>(touch.touch.begin) - static_cast<const char*>(block) << ":" << touch.touch.bytes;
      }
      if (one->waits_for.stream != nullptr) {
        const auto awaited = places.find({one->waits_for.stream, one->waits_for.sequence});
        text << " waits for " << (awaited == places.end() ? "something else" : awaited->second);
      }
      text << "\n";
    }
  }
  run.steps = text.str();
  return run;
}

Run run_of(const Case& what, const Watch& watch) {
  const Gpus gpus = what.cards ? whole_cards(what.replicas) : logical_gpus(what.replicas);
  Names names;
  for (std::size_t r = 0; r < gpus.pointers.size(); ++r) {
    names[gpus.pointers[r]->compute().get()] = "replica " + std::to_string(r) + " compute";
    names[gpus.pointers[r]->communication().get()] = "replica " + std::to_string(r) + " communication";
  }
  StepOptions options;
  options.first_bucket_bytes = 64;
  options.bucket_bytes = 256;
  options.graphs = what.graphs;
  options.overlap = what.overlap;
  options.check_mirrored = watch.checked && what.algorithm != "one-copy";  // which has no copies to compare, and refuses
  options.sparse_gradients = SparseGradients::gathered;
  Tracer tracer;
  constexpr std::int64_t kInspected = 3;
  tracer.set_inspected_steps(kInspected);
  tracer.set_samples_to_keep(2);
  MirroredStep step(graph_of(what), gpus.pointers, make_cross_device_ops(what.algorithm), options, watch.traced ? &tracer : nullptr);
  step.set_training(make_loss("sparse_categorical_crossentropy"), std::make_shared<AdamImpl>(1e-2F, 0.9F, 0.999F, 1e-7F),
                    {make_metric("accuracy")});
  initialize(step.replica(0), 3);
  sim::recorder().start();
  // Graphs are captured in the second step and launched from then on: in steps that are looked into, and in one that is not. In the last
  // step some replica has no samples.
  for (const std::int64_t samples :
       {2 * what.replicas + 1, 2 * what.replicas + 1, 2 * what.replicas + 1, 2 * what.replicas + 1, what.replicas - 1}) {
    step.train(samples_of(what, samples, 1), labels(samples, 5, 1));
    if (!watch.verbose) continue;
    EXPECT_EQ(step.totals().sums.size(), 2U);
    EXPECT_FALSE(step.checksums().empty());
    EXPECT_FALSE(step.times().empty());
  }
  Run run = made_of(sim::recorder().take(), names);
  for (int r = 0; r < what.replicas; ++r) {
    for (const float weight : download(step.replica(r), step.replica(r).variables().weights())) run.weights.push_back(weight);
  }
  if (watch.traced) {
    EXPECT_FALSE(tracer.spans().empty());
  }
  return run;
}

// The first line that differs.
std::string difference(const std::string& plain, const std::string& watched) {
  std::istringstream a(plain), b(watched);
  std::string one, other, stream;
  for (int line = 0;; ++line) {
    const bool more = static_cast<bool>(std::getline(a, one)), rest = static_cast<bool>(std::getline(b, other));
    if (!more && !rest) return "";
    if (more && one.rfind("replica", 0) == 0) stream = one;
    if (!more || !rest || one != other) return stream + ", line " + std::to_string(line) + ":\n  plain   " + one + "\n  watched " + other;
  }
}

struct Count {
  std::size_t cases = 0, runs = 0, operations = 0, added = 0;
};

std::uint64_t hash_of(const Run& run) {
  std::string bytes = run.steps;
  bytes.append(reinterpret_cast<const char*>(run.weights.data()), run.weights.size() * sizeof(float));
  return std::hash<std::string>()(bytes);
}

// Every mode against the plain one; what the plain ones were is kept.
template <typename Watches>
std::map<std::string, std::uint64_t> compare(const std::vector<Case>& cases, const Watches& watches, Count& count) {
  std::map<std::string, std::uint64_t> plain_runs;
  for (const Case& what : cases) {
    const Run plain = run_of(what, kPlain);
    plain_runs[what.name()] = hash_of(plain);
    ++count.cases;
    ++count.runs;
    EXPECT_GT(plain.operations, 100U);
    EXPECT_EQ(plain.steps.find('?'), std::string::npos) << what.name() << ": an operation on a stream of no replica";
    for (const Watch& watch : watches) {
      if (what.algorithm == "one-copy" && watch.checked && !watch.traced) continue;
      const Run watched = run_of(what, watch);
      ++count.runs;
      count.operations += watched.operations;
      count.added += watched.added.size();
      EXPECT_EQ(difference(plain.steps, watched.steps), "") << what.name() << ", " << watch.name;
      EXPECT_EQ(watched.weights, plain.weights) << what.name() << ", " << watch.name;
      EXPECT_EQ(watched.written, "") << what.name() << ", " << watch.name << ": watching wrote in memory of the step";
      EXPECT_GT(watched.added.size(), plain.added.size()) << what.name() << ", " << watch.name << ": nothing was added";
      if (::testing::Test::HasFailure()) return plain_runs;
    }
  }
  return plain_runs;
}

TEST(Watching, LeavesEveryStreamTheOperationsOfAPlainStep) {
  if (whole_cards(kCards).pointers.empty()) GTEST_SKIP() << "fewer cards here";
  Count count;
  compare(all_cases(), kWatched, count);
  std::printf("%zu runs of %zu cases compared: %zu operations of steps each way, %zu added by watching\n", count.runs, count.cases,
              count.operations, count.added);
}

// The check mode of the virtual GPU is chosen when a process begins: so it is another process that runs these cases again, compares them
// among themselves, and leaves what it found in a file.
TEST(Watching, ChangesNothingInCheckModeEither) {
  if (whole_cards(kCards).pointers.empty()) GTEST_SKIP() << "fewer cards here";
  std::vector<Case> cases;
  for (const Case& what : all_cases())
    if (what.replicas == 2 || what.replicas == 5) cases.push_back(what);
  const char* const output = std::getenv("LOCKSTEP_WATCHING_FOUND");
  const std::vector<Watch> watches = output != nullptr ? std::vector<Watch>{kWatched.back()} : std::vector<Watch>{};
  Count count;
  const std::map<std::string, std::uint64_t> here = compare(cases, watches, count);
  if (output != nullptr) {
    std::ofstream file(output);
    for (const auto& [name, hash] : here) file << hash << " " << name << "\n";
    file << "operations " << count.operations << " " << count.added << " " << count.runs << "\n";
    return;
  }
  std::string found = ::testing::TempDir() + "watching.XXXXXX";
  const int descriptor = ::mkstemp(found.data());
  ASSERT_GE(descriptor, 0);
  ::close(descriptor);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("LOCKSTEP_SIM_CHECK", "memory,race,deadlock", 1);
    ::setenv("LOCKSTEP_WATCHING_FOUND", found.c_str(), 1);
    ::execl("/proc/self/exe", "test_distribute", "--gtest_filter=Watching.ChangesNothingInCheckModeEither", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the process in check mode failed";
  std::ifstream file(found);
  std::map<std::string, std::uint64_t> there;
  std::uint64_t hash = 0, operations = 0, added = 0, runs = 0;
  std::string name;
  while (file >> hash && file.get() && std::getline(file, name)) there[name] = hash;
  file.clear();
  file >> name >> operations >> added >> runs;
  std::remove(found.c_str());
  EXPECT_EQ(here, there) << "the operations of steps in check mode";
  std::printf("%zu runs and %zu in check mode, of %zu cases: %zu operations of steps there, %zu added by watching\n", count.runs,
              static_cast<std::size_t>(runs), count.cases, static_cast<std::size_t>(operations), static_cast<std::size_t>(added));
}

}  // namespace
}  // namespace lockstep
