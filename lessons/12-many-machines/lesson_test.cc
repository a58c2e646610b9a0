// The tests of lesson 12. Your file is included before this one.
#include <cstdlib>

#include "lesson_test.h"

namespace lesson {

const bool kOverTcp = setenv("NCCL_P2P_DISABLE", "1", 1) + setenv("NCCL_SHM_DISABLE", "1", 1) + setenv("NCCL_SOCKET_IFNAME", "lo", 1) == 0;

TEST(Ranks, AreCountedOverAllMachines) {
  for (const auto& [machine, local, gpus, wanted] :
       {std::tuple{0, 0, 4, 0}, std::tuple{0, 3, 4, 3}, std::tuple{1, 0, 4, 4}, std::tuple{1, 3, 4, 7}, std::tuple{5, 1, 2, 11}}) {
    const int is = rank_of(machine, local, gpus);
    EXPECT(is == wanted) << "GPU " << local << " of machine " << machine << ", with " << gpus << " GPUs a machine, is rank " << wanted
                         << "; you say " << is << ".";
  }
}

TEST(Ranks, EveryReplicaOfAllMachinesHasItsOwnSamples) {
  for (const std::int64_t samples : {64, 10, 3}) {
    std::int64_t next = 0;
    for (int machine = 0; machine < 2; ++machine) {
      for (int local = 0; local < 2; ++local) {
        World world;
        world.machines = 2;
        world.gpus_per_machine = 2;
        world.machine = machine;
        world.local = local;
        const Range shard = shard_of(world, samples);
        const std::int64_t rank = machine * 2 + local, wanted = samples / 4 + (rank < samples % 4);
        REQUIRE(shard.count == wanted) << samples << " samples on 2 machines with 2 GPUs each: GPU " << local << " of machine " << machine
                                       << " should get " << wanted << " samples and gets " << shard.count << ".";
        REQUIRE(shard.count == 0 || shard.first == next)
            << samples << " samples on 2 machines with 2 GPUs each: the samples of GPU " << local << " of machine " << machine
            << " should begin with " << next << "; yours begin with " << shard.first
            << (shard.first < next ? ", which another GPU has already." : ".");
        next += shard.count;
      }
    }
  }
}

// Calls `work` for every GPU of every machine, each in its own thread; returns the first error.
std::string play(int machines, int gpus, const std::function<void(World&)>& work) {
  auto meeting = std::make_shared<Meeting>();
  meeting->size = machines * gpus;
  std::vector<std::string> problems(static_cast<std::size_t>(meeting->size));
  std::vector<std::thread> threads;
  for (int machine = 0; machine < machines; ++machine) {
    for (int local = 0; local < gpus; ++local) {
      const int device = machine * gpus + local;
      threads.emplace_back([&, machine, local, device] {
        World world;
        world.machines = machines;
        world.gpus_per_machine = gpus;
        world.machine = machine;
        world.local = local;
        world.device = device;
        world.meeting = meeting;
        this_world = &world;
        try {
          work(world);
        } catch (const std::exception& error) {
          problems[static_cast<std::size_t>(device)] = error.what();
        }
        const std::lock_guard lock(meeting->mutex);
        ++meeting->ended;
        meeting->changed.notify_all();
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  // The most specific error: "N..." only says that a rank is missing, which follows from another error.
  std::string first;
  for (const std::string& problem : problems) {
    const bool vague = problem.rfind("N", 0) == 0;
    if (!problem.empty() && (first.empty() || !vague)) first = problem;
    if (!first.empty() && first.rfind("N", 0) != 0) break;
  }
  return first;
}

TEST(Join, TwoMachinesMeet) {
  std::vector<int> ranks(4, -1), counts(4, -1);
  const std::string problem = play(2, 2, [&](World& world) {
    ncclComm_t comm = join(world);
    if (comm == nullptr) throw std::runtime_error("join() gave no communicator.");
    const auto at = static_cast<std::size_t>(world.device);
    CHECK_NCCL(ncclCommUserRank(comm, &ranks[at]));
    CHECK_NCCL(ncclCommCount(comm, &counts[at]));
    CHECK_NCCL(ncclCommDestroy(comm));
  });
  REQUIRE(problem.empty()) << problem;
  for (int r = 0; r < 4; ++r) {
    EXPECT(ranks[static_cast<std::size_t>(r)] == r && counts[static_cast<std::size_t>(r)] == 4)
        << "GPU " << r % 2 << " of machine " << r / 2 << " should be rank " << r << " of 4 and is rank "
        << ranks[static_cast<std::size_t>(r)] << " of " << counts[static_cast<std::size_t>(r)] << ".";
  }
}

TEST(Sum, GradientsOfAllMachinesAreAdded) {
  constexpr std::int64_t kCount = 1000;
  Replicas replicas(4, kCount, [](int r, std::int64_t i) { return static_cast<float>((r + 1) * 100 + i % 7); });
  const std::string problem = play(2, 2, [&](World& world) {
    ncclComm_t comm = join(world);
    if (comm == nullptr) throw std::runtime_error("join() gave no communicator.");
    const Replica& replica = replicas[world.device];
    sum_gradients(comm, replica.buffer, kCount, replica.stream);
    CHECK_CUDA((cudaStreamSynchronize)(replica.stream));
    CHECK_NCCL(ncclCommDestroy(comm));
  });
  REQUIRE(problem.empty()) << problem;
  if (check_mode_complained()) return;
  for (int r = 0; r < 4; ++r) {
    const std::vector<float> got = replicas.read(r);
    for (std::int64_t i = 0; i < kCount; ++i) {
      const float wanted = 1000 + 4 * static_cast<float>(i % 7), is = got[static_cast<std::size_t>(i)];
      REQUIRE(is == wanted) << "Number " << i << " on rank " << r << " should be " << number(wanted) << " (the sum over 4 ranks) and is "
                            << number(is)
                            << (is == wanted / 4 ? ": the mean. Gradients are already divided by the global batch (lesson 3)."
                                : is == static_cast<float>((r + 1) * 100 + i % 7) ? ": its own value, nothing was added."
                                                                                  : ".");
    }
  }
}

void expect_links(const std::vector<int>& machines, int wanted) {
  std::string order;
  for (const int machine : machines) order += (order.empty() ? "" : " ") + std::to_string(machine);
  const int is = network_links(machines);
  EXPECT(is == wanted) << "Ranks on machines " << order << ": " << wanted << " links of the ring go from one machine to another; you say "
                       << is << ". Do not forget the last one, back to rank 0.";
}
TEST(Links, NeighboursStayInTheirMachine) {
  expect_links({0, 0, 0, 0, 1, 1, 1, 1}, 2);
  expect_links({0, 0, 1, 1, 2, 2}, 3);
}
TEST(Links, TakingTurnsIsCostly) {
  expect_links({0, 1, 0, 1, 0, 1, 0, 1}, 8);
  expect_links({0, 0, 0}, 0);
}

}  // namespace lesson
