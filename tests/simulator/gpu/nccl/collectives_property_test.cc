// Random collectives against an exact oracle: any number of ranks, count, type, operator, in place or not, however called, under
// random schedules, by each of the ways that ranks reach each other. Every rank must hold exactly the oracle's bytes and nothing beyond
// them, and must have sent exactly the messages and bytes of the closed form.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <string>

#include "simulator/gpu/nccl/statistics.h"
#include "simulator/gpu/runtime/control.h"
#include "tests/simulator/gpu/nccl/support/cluster.h"
#include "tests/simulator/gpu/nccl/support/values.h"

namespace lockstep::test {
namespace {

enum class Kind { all_reduce, reduce, broadcast, all_gather, reduce_scatter };

struct Draw {
  Kind kind;
  int ranks;
  std::size_t count;
  ncclDataType_t type;
  ncclRedOp_t op;
  int root;
  bool in_place;
  Calling how;
  std::uint64_t schedule;  // 0: free
};

constexpr ncclDataType_t kTypes[] = {ncclInt8,   ncclUint8,   ncclInt32,   ncclUint32,  ncclInt64,
                                     ncclUint64, ncclFloat16, ncclFloat32, ncclFloat64, ncclBfloat16};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
  bool one_in(std::size_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

Draw draw_one(Random& random) {
  Draw draw{};
  draw.kind = random.one_in(2) ? Kind::all_reduce : static_cast<Kind>(random.below(5));
  draw.ranks = 1 + static_cast<int>(random.below(kGpus));
  constexpr std::size_t kScales[] = {1, 8, 20, 300, 5000, 30001};
  draw.count = random.below(random.one_in(150) ? 1000001 : kScales[random.below(6)]);
  draw.type = kTypes[random.below(10)];
  draw.op = static_cast<ncclRedOp_t>(random.below(5));
  // 1/ranks is exact for powers of two only.
  if (draw.op == ncclAvg && is_floating(draw.type)) draw.ranks = 1 << random.below(5);
  draw.root = static_cast<int>(random.below(static_cast<std::size_t>(draw.ranks)));
  draw.in_place = random.one_in(2);
  draw.how = static_cast<Calling>(random.below(3));
  draw.schedule = random.one_in(2) ? 0 : 1 + random.below(1000000);
  return draw;
}

std::string text(const Draw& d) {
  return "kind " + std::to_string(static_cast<int>(d.kind)) + " ranks " + std::to_string(d.ranks) + " count " + std::to_string(d.count) +
         " type " + std::to_string(d.type) + " op " + std::to_string(d.op) + " root " + std::to_string(d.root) +
         (d.in_place ? " in place" : " out of place") + " called " + std::to_string(static_cast<int>(d.how)) + " schedule " +
         std::to_string(d.schedule);
}

double small_value(Random& random, const Draw& draw) {
  if (draw.op == ncclProd) return random.one_in(4) ? 2 : (is_unsigned(draw.type) || random.one_in(2) ? 1 : -1);
  const auto magnitude = static_cast<double>(random.below(6));
  return is_unsigned(draw.type) || random.one_in(2) ? magnitude : 0 - magnitude;  // no -0: the sign of a zero may depend on the order
}

double reduce(const Draw& draw, const std::vector<std::vector<double>>& inputs, std::size_t i) {
  double result = inputs[0][i];
  for (std::size_t r = 1; r < inputs.size(); ++r) {
    const double x = inputs[r][i];
    switch (draw.op) {
      case ncclProd:
        result *= x;
        break;
      case ncclMax:
        result = std::max(result, x);
        break;
      case ncclMin:
        result = std::min(result, x);
        break;
      default:
        result += x;
    }
  }
  if (draw.op == ncclProd && draw.type == ncclInt8) {  // two's complement, as the GPU wraps
    return static_cast<double>(static_cast<std::int8_t>(static_cast<int>(result)));
  }
  if (draw.op == ncclProd && draw.type == ncclUint8) return static_cast<double>(static_cast<int>(result) & 255);
  if (draw.op == ncclAvg) return is_floating(draw.type) ? result / draw.ranks : std::trunc(result / draw.ranks);
  return result;
}

// One collective on a cluster: buffers, calls, and what each rank must hold afterwards.
void run(const Draw& draw, Random& random, const Cluster& cluster) {
  const auto n = static_cast<std::size_t>(draw.ranks);
  const std::size_t element = bytes_of(draw.type);
  const std::size_t sent = draw.kind == Kind::reduce_scatter ? draw.count * n : draw.count;
  const std::size_t received = draw.kind == Kind::all_gather ? draw.count * n : draw.count;

  std::vector<std::vector<double>> inputs(n, std::vector<double>(sent));
  for (auto& input : inputs) std::generate(input.begin(), input.end(), [&] { return small_value(random, draw); });

  std::vector<double> reduced(sent);
  if (draw.kind == Kind::all_reduce || draw.kind == Kind::reduce || draw.kind == Kind::reduce_scatter) {
    for (std::size_t i = 0; i < sent; ++i) reduced[i] = reduce(draw, inputs, i);
  }
  const auto expected = [&](std::size_t rank) -> std::vector<double> {
    std::vector<double> all;
    switch (draw.kind) {
      case Kind::broadcast:
        return inputs[static_cast<std::size_t>(draw.root)];
      case Kind::all_gather:
        for (const auto& input : inputs) all.insert(all.end(), input.begin(), input.end());
        return all;
      case Kind::reduce_scatter:
        return {reduced.begin() + static_cast<std::ptrdiff_t>(rank * draw.count),
                reduced.begin() + static_cast<std::ptrdiff_t>((rank + 1) * draw.count)};
      default:
        return reduced;
    }
  };

  std::vector<std::unique_ptr<DeviceBytes>> send_buffers(n);
  std::vector<std::unique_ptr<DeviceBytes>> receive_buffers(n);
  std::vector<std::byte*> send(n);
  std::vector<std::byte*> receive(n);
  for (std::size_t r = 0; r < n; ++r) {
    const int rank = static_cast<int>(r);
    const std::vector<std::byte> bytes = encode(draw.type, inputs[r]);
    if (draw.in_place) {  // one buffer, as large as the larger end; the smaller end is this rank's block of it
      receive_buffers[r] = cluster.bytes(rank, std::max(sent, received) * element);
      std::byte* base = receive_buffers[r]->data();
      send[r] = draw.kind == Kind::all_gather ? base + r * draw.count * element : base;
      receive[r] = draw.kind == Kind::reduce_scatter ? base + r * draw.count * element : base;
    } else {
      send_buffers[r] = cluster.bytes(rank, sent * element);
      receive_buffers[r] = cluster.bytes(rank, received * element);
      send[r] = send_buffers[r]->data();
      receive[r] = receive_buffers[r]->data();
    }
    if (!bytes.empty()) {
      ASSERT_EQ(cudaMemcpyAsync(send[r], bytes.data(), bytes.size(), cudaMemcpyHostToDevice, cluster.streams[r]), cudaSuccess);
    }
  }

  const std::vector<ncclResult_t> results = call_all(draw.ranks, draw.how, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const ncclComm_t comm = cluster.comms[r];
    const cudaStream_t stream = cluster.streams[r];
    switch (draw.kind) {
      case Kind::all_reduce:
        return ncclAllReduce(send[r], receive[r], draw.count, draw.type, draw.op, comm, stream);
      case Kind::reduce:
        return ncclReduce(send[r], receive[r], draw.count, draw.type, draw.op, draw.root, comm, stream);
      case Kind::broadcast:
        return ncclBroadcast(send[r], receive[r], draw.count, draw.type, draw.root, comm, stream);
      case Kind::all_gather:
        return ncclAllGather(send[r], receive[r], draw.count, draw.type, comm, stream);
      default:
        return ncclReduceScatter(send[r], receive[r], draw.count, draw.type, draw.op, comm, stream);
    }
  });
  for (const ncclResult_t result : results) ASSERT_EQ(result, ncclSuccess) << ncclGetLastError(nullptr);

  for (std::size_t r = 0; r < n; ++r) {
    const bool gets = draw.kind != Kind::reduce || static_cast<int>(r) == draw.root;
    std::vector<std::byte> got(received * element);
    if (!got.empty()) {
      ASSERT_EQ(cudaMemcpyAsync(got.data(), receive[r], got.size(), cudaMemcpyDeviceToHost, cluster.streams[r]), cudaSuccess);
    }
    ASSERT_EQ(cudaStreamSynchronize(cluster.streams[r]), cudaSuccess);
    if (gets) {
      ASSERT_TRUE(got == encode(draw.type, expected(r))) << "rank " << r;
    }
    ASSERT_TRUE(receive_buffers[r]->canary_lives()) << "rank " << r;
    if (!draw.in_place) {
      ASSERT_TRUE(send_buffers[r]->read(cluster.streams[r]) == encode(draw.type, inputs[r])) << "inputs of rank " << r << " were changed";
    }
  }
}

std::uint64_t slice_bytes(const Draw& draw, int slice) {
  const auto n = static_cast<std::size_t>(draw.ranks);
  return bytes_of(draw.type) * (draw.count / n + (static_cast<std::size_t>(slice % draw.ranks) < draw.count % n ? 1 : 0));
}

// What a rank sends, by the textbook.
sim::nccl::Traffic closed_form(const Draw& draw, int rank) {
  if (draw.count == 0) return {};
  const auto n = static_cast<std::uint64_t>(draw.ranks);
  const std::uint64_t whole = draw.count * bytes_of(draw.type);
  if (n == 1) return {1, 0, 0};
  switch (draw.kind) {
    case Kind::all_reduce:  // everything twice, but its own slice when reducing and its successor's when gathering
      return {1, 2 * (n - 1), 2 * whole - slice_bytes(draw, rank) - slice_bytes(draw, rank + 1)};
    case Kind::reduce:
      return rank == draw.root ? sim::nccl::Traffic{1, 0, 0} : sim::nccl::Traffic{1, 1, whole};
    case Kind::broadcast:
      return (rank + 1) % draw.ranks == draw.root ? sim::nccl::Traffic{1, 0, 0} : sim::nccl::Traffic{1, 1, whole};
    default:
      return {1, n - 1, (n - 1) * whole};
  }
}

void check_traffic(const Draw& draw, const Cluster& cluster, bool tree) {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  for (int rank = 0; rank < draw.ranks; ++rank) {
    const sim::nccl::Traffic sent = sim::nccl::traffic(cluster.comms[static_cast<std::size_t>(rank)]);
    sim::nccl::reset_traffic(cluster.comms[static_cast<std::size_t>(rank)]);
    messages += sent.messages;
    bytes += sent.bytes;
    if (tree) continue;
    const sim::nccl::Traffic expected = closed_form(draw, rank);
    ASSERT_EQ(sent.collectives, expected.collectives) << "rank " << rank;
    ASSERT_EQ(sent.messages, expected.messages) << "rank " << rank;
    ASSERT_EQ(sent.bytes, expected.bytes) << "rank " << rank;
  }
  if (!tree) return;
  // Up and down each of the two trees, half of the elements each; an empty half is not sent.
  const std::uint64_t edges = 2 * static_cast<std::uint64_t>(draw.ranks - 1);
  ASSERT_EQ(messages, edges * std::min<std::uint64_t>(draw.count, 2));
  ASSERT_EQ(bytes, edges * draw.count * bytes_of(draw.type));
}

void run_draws(std::uint64_t seed, int draws, Way way, bool tree = false) {
  std::map<int, std::unique_ptr<Cluster>> clusters;  // communicators are reused: collectives of all kinds follow each other
  Random random(seed);
  for (int i = 0; i < draws && !::testing::Test::HasFatalFailure(); ++i) {
    Draw draw = draw_one(random);
    if (tree) draw.kind = Kind::all_reduce;
    SCOPED_TRACE("draw " + std::to_string(i) + ": " + text(draw));
    sim::set_schedule_seed(draw.schedule);
    auto& cluster = clusters[draw.ranks];
    if (cluster == nullptr) cluster = std::make_unique<Cluster>(draw.ranks, way);
    run(draw, random, *cluster);
    if (::testing::Test::HasFatalFailure()) break;
    check_traffic(draw, *cluster, tree);
    for (const ncclComm_t comm : cluster->comms) {
      ncclResult_t error = ncclInternalError;
      ASSERT_EQ(ncclCommGetAsyncError(comm, &error), ncclSuccess);
      ASSERT_EQ(error, ncclSuccess);
    }
  }
  sim::set_schedule_seed(0);
}

TEST(Collectives, AreExactOnRandomDraws) { run_draws(1, 400, Way::direct); }
TEST(Collectives, AreExactOnMoreRandomDraws) { run_draws(2, 400, Way::direct); }
TEST(Collectives, AreExactByMessagesThroughSharedMemory) { run_draws(4, 500, Way::shared_memory); }
TEST(Collectives, AreExactByMessagesOverTcp) { run_draws(5, 400, Way::tcp); }

void run_tree_draws(std::uint64_t seed, int draws, Way way) {
  setenv("NCCL_ALGO", "Tree", 1);
  run_draws(seed, draws, way, true);
  unsetenv("NCCL_ALGO");
}

TEST(Collectives, TreeAllReduceIsExactOnRandomDraws) { run_tree_draws(3, 150, Way::direct); }
TEST(Collectives, TreeAllReduceIsExactByMessagesThroughSharedMemory) { run_tree_draws(6, 100, Way::shared_memory); }
TEST(Collectives, TreeAllReduceIsExactByMessagesOverTcp) { run_tree_draws(7, 100, Way::tcp); }

}  // namespace
}  // namespace lockstep::test
