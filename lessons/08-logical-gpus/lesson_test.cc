// The tests of lesson 8. Your file is included before this one.
#include "lesson_test.h"

namespace lesson {

TEST(Allocate, GivesMemoryOnTheGPU) {
  Arena arena(3, 8192);
  void* memory = arena.allocate(1000, "replica 0: weights");
  REQUIRE(memory != nullptr) << "allocate(1000, ...) gave no memory.";
  cudaPointerAttributes attributes{};
  CHECK_CUDA(cudaPointerGetAttributes(&attributes, memory));
  EXPECT(attributes.type == cudaMemoryTypeDevice && attributes.device == 3)
      << "The arena is on GPU 3, but the memory is on "
      << (attributes.type == cudaMemoryTypeDevice ? "GPU " + std::to_string(attributes.device) : "the host")
      << ". Which device is current when you call cudaMalloc?";
  EXPECT(arena.used() == 1024) << "1000 bytes take 4 steps of 256 = 1024 bytes; used() says " << arena.used() << ".";
}

TEST(Allocate, ExactlyTheLimitIsFine) {
  Arena arena(0, 1024);
  try {
    arena.allocate(512, "a");
    arena.allocate(512, "b");
  } catch (const OutOfMemory& error) {
    FAIL() << "Twice 512 bytes fit into a limit of 1024 exactly, but you refused: " << error.what();
  }
  EXPECT(arena.used() == 1024) << "After twice 512 bytes used() should be 1024 and is " << arena.used() << ".";
}

std::string refusal(Arena& arena, std::size_t bytes, const std::string& owner) {
  try {
    arena.allocate(bytes, owner);
  } catch (const OutOfMemory& error) {
    return error.what();
  }
  return "";
}

TEST(Allocate, PastTheLimitIsRefused) {
  Arena arena(0, 1024);
  arena.allocate(700, "a");  // takes 768
  EXPECT(!refusal(arena, 400, "b").empty()) << "Limit 1024, used " << arena.used()
                                            << ": 400 more bytes should be refused, but were allocated.";
  EXPECT(refusal(arena, 200, "c").empty()) << "Limit 1024, used 768: 200 bytes take 256 and fit, but were refused.";
}

TEST(Allocate, VeryLargeRequestsAreRefused) {
  Arena arena(0, 1024);
  for (const std::size_t bytes : {std::size_t{1} << 32, (std::size_t{1} << 40) + 1, std::size_t{0} - 200}) {
    EXPECT(!refusal(arena, bytes, "a").empty()) << "Limit 1024: " << bytes << " bytes should be refused, but were allocated; used() says "
                                                << arena.used() << ". Does a sum or a rounded size overflow?";
  }
}

TEST(Allocate, EveryAllocationTakesWholeSteps) {
  Arena arena(0, 1024);
  for (int i = 0; i < 4; ++i) {
    EXPECT(refusal(arena, 1, "one byte").empty())
        << "Four allocations of 1 byte take 4 * 256 = 1024 bytes and fit into 1024; number " << i + 1 << " was refused.";
  }
  EXPECT(!refusal(arena, 1, "one byte").empty()) << "Five allocations of 1 byte take 5 * 256 = 1280 bytes. The fifth should be refused "
                                                    "with a limit of 1024, but was given; used() says "
                                                 << arena.used() << ".";
}

TEST(Allocate, TheRefusalSaysWhoWantedWhatAndWhoHoldsIt) {
  Arena arena(0, 8192);
  arena.allocate(4096, "replica 1: weights");
  arena.allocate(2048, "replica 1: gradients");
  const std::string text = refusal(arena, 3072, "replica 1: activations");
  for (const char* word : {"replica 1: activations", "3072", "8192", "replica 1: weights", "4096", "replica 1: gradients", "2048"}) {
    REQUIRE(text.find(word) != std::string::npos) << "The refusal should name \"" << word << "\". It says: \"" << text << "\"";
  }
  EXPECT(arena.used() == 6144) << "A refusal changes nothing: used() should still be 6144 and is " << arena.used() << ".";
}

TEST(Release, GivesRoomForOthers) {
  Arena arena(0, 1024);
  void* memory = arena.allocate(1024, "a");
  arena.release(memory);
  EXPECT(arena.used() == 0) << "After everything is released used() should be 0 and is " << arena.used() << ".";
  EXPECT(refusal(arena, 1024, "b").empty()) << "Everything was released, but 1024 bytes of 1024 were refused.";
  EXPECT(arena.holders() == "b 1024") << "Only b holds memory now; holders() says: " << arena.holders() << ".";
}

TEST(Release, TheMemoryGoesBackToTheGPU) {
  passes_without_code();
  Arena arena(0, 1024);
  void* memory = arena.allocate(512, "a");
  arena.release(memory);
  cudaPointerAttributes attributes{};
  const bool known = cudaPointerGetAttributes(&attributes, memory) == cudaSuccess && attributes.type == cudaMemoryTypeDevice;
  cudaGetLastError();
  EXPECT(!known) << "release() gives the room in the arena back, but the memory is still allocated on the GPU: a leak. Who calls cudaFree?";
}

TEST(Release, TwiceIsAnError) {
  Arena arena(0, 1024);
  void* memory = arena.allocate(512, "a");
  arena.release(memory);
  bool refused = false;
  try {
    arena.release(memory);
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  EXPECT(refused)
      << "The same memory was released twice; the second time the arena does not hold it any more, so std::invalid_argument should "
         "be thrown.";
  EXPECT(arena.used() == 0) << "After that used() should be 0 and is " << arena.used() << ".";
}

TEST(Release, AStrangeAddressIsAnError) {
  Arena arena(0, 1024);
  int here = 0;
  bool refused = false;
  try {
    arena.release(&here);
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  EXPECT(refused) << "release() of an address that was never allocated should throw std::invalid_argument.";
}

void expect_batch(std::int64_t limit, std::int64_t parameters, int slots, std::int64_t activations, std::int64_t wanted) {
  const std::int64_t is = largest_batch(limit, parameters, slots, activations);
  EXPECT(is == wanted) << "Limit " << limit << " bytes, " << parameters << " parameters, " << slots << " slots, " << activations
                       << " activations a sample: " << wanted << " samples fit (" << 4 * parameters * (2 + slots) << " + "
                       << 4 * activations * wanted << " bytes); you say " << is << ".";
}
TEST(LargestBatch, FollowsTheFormula) {
  expect_batch(1000000, 10000, 0, 1000, 230);
  expect_batch(1000000, 10000, 2, 1000, 210);
  expect_batch(64 << 20, 346, 2, 30000, 559);
  expect_batch(16 << 20, 693962, 2, 13200, 107);  // the MNIST program with a limit of 16 MiB
}
TEST(LargestBatch, WorksForLargeModels) { expect_batch(std::int64_t{16} << 30, 500000000, 2, 1000000, 2294); }
TEST(LargestBatch, IsZeroWhenNotEvenTheWeightsFit) {
  passes_without_code();
  expect_batch(1000, 10000, 2, 10, 0);
}

}  // namespace lesson
