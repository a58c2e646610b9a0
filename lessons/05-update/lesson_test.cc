// The tests of lesson 5. Your file is included before this one.
#include "lesson_test.h"

namespace lesson {

TEST(Sgd, WithoutMomentumGoesDownTheSlope) {
  float w = 1, velocity = 0;
  sgd_update(w, velocity, 2.0F, 0.25F, 0);
  EXPECT(w == 0.5F) << "w = 1, g = 2, learning rate 0.25: the new weight should be 1 - 0.25 * 2 = 0.5 and is " << number(w) << ".";
}

TEST(Sgd, MomentumKeepsItGoing) {
  float w = 0, velocity = 0;
  const float wanted[] = {-0.5F, -1.25F, -2.125F};
  for (int step = 0; step < 3; ++step) {
    sgd_update(w, velocity, 1.0F, 0.5F, 0.5F);
    REQUIRE(w == wanted[step]) << "g = 1 in every step, learning rate 0.5, momentum 0.5, from w = 0: after step " << step + 1
                               << " the weight should be " << number(wanted[step]) << " and is " << number(w) << " (velocity "
                               << number(velocity) << ").";
  }
}

TEST(Adam, FirstStepMovesByTheLearningRate) {
  for (const float g : {0.001F, -30.0F}) {
    float w = 5, m = 0, v = 0;
    adam_update(w, m, v, g, 0, 0.1F, 0.9F, 0.999F, 1e-7F);
    const float wanted = g > 0 ? 4.9F : 5.1F;
    EXPECT(std::abs(w - wanted) < 1e-3F) << "The first step with g = " << number(g) << " and learning rate 0.1 should bring w from 5 to "
                                         << number(wanted) << ", however large g is; it is " << number(w)
                                         << ". Is t = 1 in the first step (iteration 0)?";
  }
}

TEST(Adam, FollowsTheFormulaForManySteps) {
  float w = 0.3F, m = 0, v = 0;
  double dw = w, dm = 0, dv = 0;
  for (int step = 0; step < 50; ++step) {
    const float g = std::sin(static_cast<float>(step)) + 0.2F;
    adam_update(w, m, v, g, step, 0.01F, 0.9F, 0.999F, 1e-7F);
    dm = 0.9 * dm + 0.1 * g;
    dv = 0.999 * dv + 0.001 * static_cast<double>(g) * g;
    dw -= 0.01 * std::sqrt(1 - std::pow(0.999, step + 1)) / (1 - std::pow(0.9, step + 1)) * dm / (std::sqrt(dv) + 1e-7);
    REQUIRE(std::abs(m - dm) < 1e-4) << "After step " << step + 1 << " m should be " << number(dm) << " and is " << number(m) << ".";
    REQUIRE(std::abs(v - dv) < 1e-4) << "After step " << step + 1 << " v should be " << number(dv) << " and is " << number(v) << ".";
    REQUIRE(std::abs(w - dw) < 1e-3) << "After step " << step + 1 << " m and v are right, but w should be " << number(dw) << " and is "
                                     << number(w) << ".";
  }
}

struct Step {
  explicit Step(int n) : replicas(n, 100, [](int, std::int64_t i) { return 0.01F * static_cast<float>(i); }) {
    for (int r = 0; r < n; ++r) {
      cudaSetDevice(r);
      UpdateWork one;
      one.replica = replicas[r];
      float *sum = nullptr, *pinned = nullptr;
      CHECK_CUDA(cudaMalloc(&sum, 400));
      CHECK_CUDA(cudaMalloc(&one.velocity, 400));
      CHECK_CUDA(cudaMemset(one.velocity, 0, 400));
      CHECK_CUDA((cudaDeviceSynchronize)());
      CHECK_CUDA(cudaStreamCreateWithFlags(&one.communication, cudaStreamNonBlocking));
      name_stream(one.communication, "replica " + std::to_string(r) + "'s communication stream");
      name_memory(sum, "replica " + std::to_string(r) + "'s sum");
      CHECK_CUDA(cudaEventCreateWithFlags(&one.reduced, cudaEventDisableTiming));
      CHECK_CUDA(cudaMallocHost(&pinned, 400));
      for (int i = 0; i < 100; ++i) pinned[i] = static_cast<float>(i % 7);
      // The communication stream writes the sum later.
      CHECK_CUDA(cudaMemcpyAsync(sum, pinned, 400, cudaMemcpyHostToDevice, one.communication));
      one.sum = sum;
      host.push_back(pinned);
      work.push_back(one);
    }
    cudaSetDevice(0);
    forget_notes();
  }
  ~Step() {
    replicas.wait();
    for (const UpdateWork& one : work) {
      cudaSetDevice(one.replica.device);
      cudaStreamDestroy(one.communication);
      cudaEventDestroy(one.reduced);
      cudaFree(one.velocity);
      cudaFree(const_cast<float*>(one.sum));
    }
    for (float* pinned : host) cudaFreeHost(pinned);
    cudaSetDevice(0);
  }
  Replicas replicas;
  std::vector<UpdateWork> work;
  std::vector<float*> host;
};

TEST(UpdateAll, EveryReplicaIsUpdatedByTheWholeSum) {
  Step step(4);
  update_all(step.work, 0.5F, 0.9F);
  EXPECT(host_waits() == 0) << "The host waited " << host_waits() << " times. The compute stream can wait for the communication stream.";
  step.replicas.wait();
  if (check_mode_complained()) return;
  for (int r = 0; r < 4; ++r) {
    const std::vector<float> w = step.replicas.read(r);
    for (int i = 0; i < 100; ++i) {
      const float before = 0.01F * static_cast<float>(i), wanted = before - 0.5F * static_cast<float>(i % 7);
      const float is = w[static_cast<std::size_t>(i)];
      REQUIRE(std::abs(is - wanted) < 1e-5F)
          << "Replica " << r << ", weight " << i << ": it was " << number(before) << ", the sum is " << i % 7
          << " and the learning rate 0.5. It should be " << number(wanted) << " and is " << number(is)
          << (is == before ? ": not updated" : "")
          << (std::abs(is - before + 0.125F * static_cast<float>(i % 7)) < 1e-4F
                  ? ". Your step is 4 times too small: the sum is already divided by the global batch (lesson 3)"
                  : "")
          << ".";
    }
  }
}

TEST(UpdateAll, ReplicasStayBitIdentical) {
  Step step(3);
  for (int i = 0; i < 5; ++i) update_all(step.work, 0.01F, 0.9F);
  step.replicas.wait();
  if (check_mode_complained()) return;
  const std::vector<float> first = step.replicas.read(0);
  EXPECT(std::abs(first[1] - 0.01F) > 1e-3F) << "After five updates weight 1 is still " << number(first[1]) << ".";
  for (int r = 1; r < 3; ++r) {
    const std::vector<float> other = step.replicas.read(r);
    const std::int64_t i = first_difference(other, first);
    EXPECT(same_bits(first, other)) << "After five updates replica " << r << " differs from replica 0: weight " << i << " is "
                                    << number(other[static_cast<std::size_t>(std::max<std::int64_t>(i, 0))]) << " there.";
  }
}

}  // namespace lesson
