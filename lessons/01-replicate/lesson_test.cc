// The tests of lesson 1. Your file is included before this one.
#include "lesson_test.h"
#include "work_graph.h"

namespace lesson {

float weight(std::int64_t i) { return 0.5F + 0.25F * static_cast<float>(i); }

void expect_copies(Replicas& replicas, int n, std::int64_t count) {
  if (check_mode_complained()) return;
  const std::vector<float> source = replicas.read(0);
  for (int r = 1; r < n; ++r) {
    const std::vector<float> copy = replicas.read(r);
    const std::int64_t i = first_difference(copy, source);
    EXPECT(i < 0) << "Replica " << r << " of " << n << " differs from replica 0: number " << i << " of " << count << " is "
                  << number(copy[static_cast<std::size_t>(i)]) << ", on replica 0 it is " << number(source[static_cast<std::size_t>(i)])
                  << ".\nreplica 0: " << list(source) << "\nreplica " << r << ": " << list(copy);
  }
}

TEST(Replicate, EveryReplicaGetsTheWeightsOfReplica0) {
  for (const int n : {2, 4}) {
    Replicas replicas(n, 10, [](int r, std::int64_t i) { return r == 0 ? weight(i) : -100.0F * static_cast<float>(r); });
    replicate(replicas.all());
    replicas.wait();
    expect_copies(replicas, n, 10);
  }
}

TEST(Replicate, OneReplicaHasNothingToDo) {
  passes_without_code();
  Replicas replicas(1, 10, [](int, std::int64_t i) { return weight(i); });
  replicate(replicas.all());
  EXPECT(messages().empty()) << "A single replica has no other to copy to, but these messages were sent:\n" << picture(messages());
}

TEST(Replicate, CopiesWaitForTheWeightsToBeWritten) {
  Replicas replicas(3, 1000, [](int, std::int64_t) { return 0.0F; });
  replicas.write_later(0, [](std::int64_t i) { return weight(i); });
  replicate(replicas.all());
  replicas.wait();
  expect_copies(replicas, 3, 1000);
}

TEST(Replicate, Replica0MayChangeItsWeightsRightAfter) {
  passes_without_code();
  Replicas replicas(3, 1000, [](int, std::int64_t i) { return weight(i); });
  replicate(replicas.all());
  touch(replicas[0], replicas[0].buffer, 1000, "the next step");
  replicas.wait();
  expect_copies(replicas, 3, 1000);
}

TEST(Replicate, EachCopyIsInTheStreamOfTheReplicaThatGetsIt) {
  Replicas replicas(3, 10, [](int, std::int64_t i) { return weight(i); });
  WorkGraph graph;
  replicate(replicas.all());
  graph.stop();
  int copies = 0;
  for (const Work& work : graph.work()) {
    if (!work.is_message()) continue;
    ++copies;
    REQUIRE(work.stream == replicas[work.writes].stream) << "The copy to replica " << work.writes << " is not in replica " << work.writes
                                                         << "'s own stream. Then that stream does not know about it: its next kernel may "
                                                            "read the weights before they have come, and copies in "
                                                            "one stream run one after another.";
  }
  EXPECT(copies == 2) << "3 replicas need 2 copies; " << copies << " were made.";
}

TEST(Replicate, TheHostDoesNotWait) {
  Replicas replicas(4, 10, [](int, std::int64_t i) { return weight(i); });
  replicate(replicas.all());
  EXPECT(host_waits() == 0) << "replicate() made the host wait " << host_waits()
                            << " times (a ...Synchronize call). Streams can wait for each other with events while the host continues.";
  EXPECT(messages().size() == 3) << "4 replicas need 3 messages, one to each replica but the first; " << messages().size()
                                 << " were sent:\n"
                                 << picture(messages());
}

TEST(SameBits, EqualBytesAreEqual) {
  EXPECT(same_bits_on_host({1, 2, 3}, {1, 2, 3})) << "{1, 2, 3} and {1, 2, 3} have the same bits, but you say they differ.";
  EXPECT(!same_bits_on_host({1, 2, 3}, {1, 2, 4})) << "{1, 2, 3} and {1, 2, 4} differ in the last number, but you say they are the same.";
  EXPECT(!same_bits_on_host({1, 2}, {1, 2, 3})) << "{1, 2} and {1, 2, 3} differ in length, but you say they are the same.";
}

TEST(SameBits, NanEqualsItself) {
  passes_without_code();
  const float nan = std::nanf("");
  EXPECT(same_bits_on_host({nan}, {nan})) << "{NaN} and {NaN} have the same bits here, but you say they differ: NaN == NaN is false.";
}

TEST(SameBits, MinusZeroIsNotZero) {
  EXPECT(!same_bits_on_host({0.0F}, {-0.0F})) << "{0.0} and {-0.0} differ in the bit of the sign, but you say they are the same: "
                                                 "0.0 == -0.0 is true.";
}

}  // namespace lesson
