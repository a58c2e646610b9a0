// The tests of lesson 13. Your file is included before this one.
#include "lesson_test.h"

namespace lesson {

// An image network of 25 million weights on machines with 8 GPUs: NVLink inside, a network of 100 Gbit/s between.
const Work kWork{1.0, 0.6, 96, 0.5};
const Cluster kCluster{8, {0.005, 0.005}, {0.02, 0.08}};

bool near(double a, double b) { return std::abs(a - b) <= 1e-6 * std::max(1.0, std::abs(b)); }

TEST(Ring, OneGPUSendsNothing) {
  passes_without_code();
  EXPECT(ring_ms(1, 96, kCluster.network) == 0)
      << "One GPU has no other to send to: 0 ms; you say " << number(ring_ms(1, 96, kCluster.network)) << ".";
}
TEST(Ring, LatencyAndBytes) {
  for (const auto& [n, latency, per_mib, mib, wanted] :
       {std::tuple{4, 1.0, 0.0, 8.0, 6.0}, std::tuple{4, 0.0, 1.0, 8.0, 12.0}, std::tuple{2, 0.5, 0.25, 4.0, 2.0}}) {
    const double is = ring_ms(n, mib, {latency, per_mib});
    EXPECT(near(is, wanted)) << n << " GPUs, latency " << number(latency) << " ms, " << number(per_mib) << " ms a MiB, " << number(mib)
                             << " MiB: 2(n-1) = " << 2 * (n - 1) << " messages of mib/n = " << number(mib / n)
                             << " MiB one after another take " << number(wanted) << " ms; you say " << number(is) << ".";
  }
}

TEST(Step, ComputeAloneOnOneGPU) {
  const double is = step_ms(kWork, kCluster, 1, 32);
  EXPECT(near(is, 20.2)) << "One GPU, 32 samples of 0.6 ms and 1 ms fixed: 20.2 ms; you say " << number(is) << ".";
}
TEST(Step, OverlapHidesWhatItCan) {
  const double is = step_ms(kWork, kCluster, 8, 32);
  EXPECT(near(is, 20.2))
      << "8 GPUs in one machine: the ring takes 2 * 7 * (0.005 + 96/8 * 0.005) = 0.91 ms and hides under half of the compute (10.1 ms). "
      << "The step takes 20.2 ms; you say " << number(is) << ".";
}
TEST(Step, BeyondOneMachineTheNetworkDecides) {
  const double is = step_ms(kWork, kCluster, 16, 32);
  EXPECT(near(is, 25.1))
      << "16 GPUs on two machines: the ring runs at the network's pace, 2 * 15 * (0.02 + 96/16 * 0.08) = 15 ms. 10.1 ms of it hide, "
      << "4.9 ms come on top: 25.1 ms; you say " << number(is) << ".";
}

TEST(Efficiency, IsOneForOneGPUAndFalls) {
  EXPECT(near(efficiency(kWork, kCluster, 1, 32), 1))
      << "One GPU has an efficiency of 1; you say " << number(efficiency(kWork, kCluster, 1, 32)) << ".";
  const double is = efficiency(kWork, kCluster, 16, 32);
  EXPECT(near(is, 20.2 / 25.1)) << "16 GPUs: 20.2 ms alone, 25.1 ms together, efficiency " << number(20.2 / 25.1) << "; you say "
                                << number(is)
                                << (near(is, 25.1 / 20.2) ? ". It is the other way round: an efficiency above 1 is impossible here." : ".");
}

// Without your functions.
double flat_step(int n, double batch) {
  const double compute = 1 + 0.6 * batch;
  const Link& link = n <= 8 ? kCluster.inside : kCluster.network;
  return compute + std::max(0.0, 2 * (n - 1) * (link.latency_ms + 96.0 / n * link.ms_per_mib) - 0.5 * compute);
}
std::string curve(double batch) {
  std::string text;
  for (int n = 1; n <= 256; n *= 2)
    text += (n == 1 ? "" : ", ") + std::to_string(n) + ": " + number(std::round(100 * flat_step(1, batch) / flat_step(n, batch)) / 100);
  return text;
}
TEST(Knee, IsTheLastOneThatIsGoodEnough) {
  for (const auto& [batch, wanted] : {std::pair{32.0, 0.8}, std::pair{32.0, 0.7}, std::pair{64.0, 0.95}, std::pair{8.0, 0.9}}) {
    const int is = knee(kWork, kCluster, batch, wanted);
    int reference = 1;
    for (int n = 2; n <= 1024 && flat_step(1, batch) / flat_step(n, batch) >= wanted; n *= 2) reference = n;
    EXPECT(is == reference) << "Batch " << number(batch) << ", at least " << number(wanted)
                            << ". Efficiency by number of GPUs: " << curve(batch) << ". The knee is " << reference << "; you say " << is
                            << ".";
  }
}

TEST(TwoLevels, AddUp) {
  const double wanted = 2 * 7 * (0.005 + 96.0 / 8 * 0.005) + 2 * 7 * (0.02 + 96.0 / 64 * 0.08), is = two_level_ms(8, 8, 96, kCluster);
  EXPECT(near(is, wanted)) << "8 machines with 8 GPUs: 2 * 7 * (0.005 + 96/8 * 0.005) inside and 2 * 7 * (0.02 + 96/64 * 0.08) between are "
                           << number(wanted) << " ms; you say " << number(is) << ".";
  const double alone = two_level_ms(1, 8, 96, kCluster);
  EXPECT(near(alone, 0.91)) << "One machine with 8 GPUs has no network: 0.91 ms; you say " << number(alone) << ".";
}
TEST(TwoLevels, MoveTheKnee) {
  for (const int machines : {2, 8, 64}) {
    const double flat = 2 * (8 * machines - 1) * (0.02 + 96.0 / (8 * machines) * 0.08), is = two_level_ms(machines, 8, 96, kCluster);
    EXPECT(is > 0 && is < flat / 3) << machines << " machines with 8 GPUs: a flat ring takes " << number(flat)
                                    << " ms. Two levels take less than a third of that; you say " << number(is) << " ms.";
  }
}

TEST(BatchFor, IsTheSmallestThatIsEnough) {
  for (const auto& [n, wanted] : {std::pair{8, 0.9}, std::pair{64, 0.9}, std::pair{256, 0.8}}) {
    int reference = 0;
    for (int batch = 256; batch >= 1; --batch) {
      if (flat_step(1, batch) / flat_step(n, batch) >= wanted) reference = batch;
    }
    const int is = batch_for(kWork, kCluster, n, wanted, 256);
    EXPECT(is == reference) << n << " GPUs with an efficiency of " << number(wanted) << " need a batch of " << reference
                            << " per GPU; you say " << is
                            << (is > 0 ? " (efficiency " + number(flat_step(1, is) / flat_step(n, is)) + ")" : "") << ".";
  }
  const int none = batch_for(kWork, kCluster, 1024, 0.9, 4);
  EXPECT(none == 0) << "No batch up to 4 gives 1024 GPUs an efficiency of 0.9: 0 is wanted; you say " << none << ".";
}

}  // namespace lesson
