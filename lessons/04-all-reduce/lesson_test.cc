// The tests of lesson 4. Your file is included before this one.
#include "lesson_test.h"
#include "work_graph.h"

namespace lesson {

using AllReduce = void (*)(const std::vector<Replica>&);

// Whole numbers, so that the sum is exact in any order.
float value(int replica, std::int64_t i) { return static_cast<float>((replica + 1) * 1000 + i % 97); }

void run(AllReduce all_reduce, int n, std::int64_t count) {
  Replicas replicas(n, count, [](int, std::int64_t) { return 0.0F; });
  for (int r = 0; r < n; ++r) replicas.write_later(r, [r](std::int64_t i) { return value(r, i); });
  all_reduce(replicas.all());
  for (int r = 0; r < n; ++r) touch(replicas[r], replicas[r].buffer, count, "the next step");
  EXPECT(host_waits() == 0) << "The host waited " << host_waits() << " times. Streams can wait for each other with events.";
  replicas.wait();
  if (check_mode_complained()) return;
  for (int r = 0; r < n; ++r) {
    const std::vector<float> sum = replicas.read(r);
    for (std::int64_t i = 0; i < count; ++i) {
      float wanted = 0;
      for (int s = 0; s < n; ++s) wanted += value(s, i);
      const float got = sum[static_cast<std::size_t>(i)];
      REQUIRE(got == wanted) << n << " replicas, " << count << " numbers each: number " << i << " on replica " << r << " should be "
                             << wanted << " (the sum of all) and is " << got
                             << (got == value(r, i) ? ", its own value: nothing was added" : "")
                             << ".\nMessages, in the order you sent them:\n"
                             << picture(messages());
    }
  }
}

std::int64_t bytes_into(int gpu) {
  std::int64_t bytes = 0;
  for (const Message& message : messages()) bytes += message.to == gpu ? message.bytes : 0;
  return bytes;
}

void expect_messages(std::size_t wanted, const std::string& formula) {
  EXPECT(messages().size() == wanted) << formula << " = " << wanted << " messages are enough; you sent " << messages().size() << ":\n"
                                      << picture(messages());
}

// Numbers whose sum depends on the order, in the last bits.
float rough(int replica, std::int64_t i) {
  return 1.0F / static_cast<float>(3 + (replica * 7 + i * 13) % 31) * static_cast<float>(1 << (replica % 4 * 3));
}

// `wanted(i)` is number i of the sum, added in the order of the page.
void expect_order(AllReduce all_reduce, int n, std::int64_t count, const std::function<float(std::int64_t)>& wanted,
                  const std::string& order) {
  Replicas replicas(n, count, [](int r, std::int64_t i) { return rough(r, i); });
  all_reduce(replicas.all());
  replicas.wait();
  if (check_mode_complained()) return;
  for (int r = 0; r < n; ++r) {
    const std::vector<float> sum = replicas.read(r);
    for (std::int64_t i = 0; i < count; ++i) {
      const float is = sum[static_cast<std::size_t>(i)];
      REQUIRE(is == wanted(i)) << n << " replicas, " << count << " numbers: number " << i << " on replica " << r
                               << " differs from the sum in the order "
                               << "of the page by " << number(static_cast<double>(is) - static_cast<double>(wanted(i))) << ". " << order
                               << " Floats are rounded after every addition, so another order gives other bits.";
    }
  }
}

// How many messages follow one another, each waiting for the one before.
void expect_rounds(AllReduce all_reduce, int n, int wanted, const std::string& formula) {
  Replicas replicas(n, 100, [](int r, std::int64_t i) { return value(r, i); });
  WorkGraph graph;
  all_reduce(replicas.all());
  graph.stop();
  replicas.wait();
  EXPECT(graph.rounds() == wanted) << formula << " = " << wanted << " messages follow one another; in yours a chain of " << graph.rounds()
                                   << " messages waits for each other"
                                   << (graph.rounds() > wanted ? ", so it takes longer. Which wait is not needed?" : ".");
}

TEST(OneDevice, SumsTwoReplicas) { run(reduce_to_one_device, 2, 10); }
TEST(OneDevice, SumsFourReplicas) { run(reduce_to_one_device, 4, 1000); }
TEST(OneDevice, SendsTwoMessagesForEveryOtherReplica) {
  run(reduce_to_one_device, 4, 100);
  expect_messages(6, "4 replicas: 2(n-1)");
}
TEST(OneDevice, AddsInTheOrderOfReplicas) {
  expect_order(
      reduce_to_one_device, 4, 50, [](std::int64_t i) { return rough(0, i) + rough(1, i) + rough(2, i) + rough(3, i); },
      "Replica 0 adds the buffers of 1, 2 and 3 in this order.");
}

TEST(Ring, SumsTwoReplicas) { run(ring_all_reduce, 2, 10); }
TEST(Ring, SumsThreeReplicas) { run(ring_all_reduce, 3, 12); }
TEST(Ring, SumsEightReplicasWithUnevenChunks) { run(ring_all_reduce, 8, 1003); }
TEST(Ring, WorksWithFewerNumbersThanReplicas) { run(ring_all_reduce, 5, 3); }
TEST(Ring, TakesOnlyFromTheLeftNeighbour) {
  run(ring_all_reduce, 4, 100);
  for (const Message& message : messages()) {
    REQUIRE(message.to == (message.from + 1) % 4)
        << "A message went from GPU " << message.from << " to GPU " << message.to
        << ". In the ring every replica takes from its left neighbour only: 0 -> 1 -> 2 -> 3 -> 0.";
  }
}
TEST(Ring, SendsTheLeastThatIsPossible) {
  run(ring_all_reduce, 4, 100);
  expect_messages(24, "4 replicas: 2n(n-1)");
  for (int r = 0; r < 4; ++r) {
    EXPECT(bytes_into(r) == 600) << "Into GPU " << r << " go " << bytes_into(r) << " bytes. With chunks it should be 2 S (n-1)/n = "
                                 << "2 * 400 * 3/4 = 600.";
  }
}
TEST(Ring, AddsAroundTheRing) {
  const std::vector<Range> chunks = cut(50, 4);
  expect_order(
      ring_all_reduce, 4, 50,
      [&](std::int64_t i) {
        int chunk = 0;
        while (i >= chunks[static_cast<std::size_t>(chunk)].first + chunks[static_cast<std::size_t>(chunk)].count) ++chunk;
        float sum = rough(chunk, i);
        for (int k = 1; k < 4; ++k) sum += rough((chunk + k) % 4, i);
        return sum;
      },
      "The sum of chunk c begins on replica c and goes around the ring.");
}
TEST(Ring, AllReplicasWorkAtTheSameTime) { expect_rounds(ring_all_reduce, 4, 6, "A ring of 4 replicas: 2(n-1)"); }

TEST(Tree, SumsTwoReplicas) { run(tree_all_reduce, 2, 10); }
TEST(Tree, SumsEightReplicas) { run(tree_all_reduce, 8, 1000); }
TEST(Tree, SumsAnyNumberOfReplicas) {
  for (const int n : {3, 5, 6, 7}) run(tree_all_reduce, n, 20);
}
TEST(Tree, HasFewRounds) {
  run(tree_all_reduce, 8, 100);
  expect_messages(14, "8 replicas: 2(n-1)");
  EXPECT(bytes_into(0) == 3 * 400) << "GPU 0 should get one message a round, log2(8) = 3 of 400 bytes. It gets " << bytes_into(0)
                                   << " bytes:\n"
                                   << picture(messages());
}
TEST(Tree, AddsNeighboursFirst) {
  expect_order(
      tree_all_reduce, 4, 50, [](std::int64_t i) { return (rough(0, i) + rough(1, i)) + (rough(2, i) + rough(3, i)); },
      "In the round with distance 1 replica 0 adds 1, and 2 adds 3; then 0 adds 2.");
}
TEST(Tree, PairsWorkAtTheSameTime) { expect_rounds(tree_all_reduce, 8, 6, "A tree of 8 replicas: 2 log2(n)"); }

}  // namespace lesson
