// Memory: exact accounting, and copies that keep CUDA's promises about the host's side.
#include <cstring>
#include <numeric>
#include <random>

#include "tests/simulator/gpu/runtime/support/gpu_test.h"

namespace lockstep::test {
namespace {

class MemoryTest : public GpuTest {};

std::vector<int> counting(std::size_t n, int from = 0) {
  std::vector<int> values(n);
  std::iota(values.begin(), values.end(), from);
  return values;
}

TEST_F(MemoryTest, BlocksAreAlignedAndDistinct) {
  std::vector<char*> blocks;
  for (std::size_t bytes : {1U, 255U, 256U, 257U, 5000U}) {
    char* block = nullptr;
    ASSERT_CUDA(cudaMalloc(&block, bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 256, 0U);
    EXPECT_EQ(sim::device_of_address(block), 0);
    for (char* other : blocks) EXPECT_NE(block, other);
    blocks.push_back(block);
  }
  for (char* block : blocks) EXPECT_CUDA(cudaFree(block));
}

TEST_F(MemoryTest, EveryByteIsCounted) {
  std::size_t free_before = 0, total = 0, free_after = 0;
  ASSERT_CUDA(cudaMemGetInfo(&free_before, &total));
  EXPECT_EQ(total, std::size_t{15} << 30);
  void* block = nullptr;
  ASSERT_CUDA(cudaMalloc(&block, 1000));
  ASSERT_CUDA(cudaMemGetInfo(&free_after, &total));
  EXPECT_EQ(free_before - free_after, 1024U);
  ASSERT_CUDA(cudaFree(block));
  ASSERT_CUDA(cudaMemGetInfo(&free_after, &total));
  EXPECT_EQ(free_before, free_after);
}

TEST_F(MemoryTest, PastItsSizeTheDeviceRefuses) {
  std::size_t free = 0, total = 0;
  ASSERT_CUDA(cudaMemGetInfo(&free, &total));
  char *most = nullptr, *rest = nullptr, *more = nullptr;
  EXPECT_EQ(cudaMalloc(&more, free + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(more, nullptr);
  ASSERT_CUDA(cudaMalloc(&most, free - 256));
  ASSERT_CUDA(cudaMalloc(&rest, 256));
  EXPECT_EQ(cudaMalloc(&more, 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&more, ~std::size_t{0}), cudaErrorMemoryAllocation);
  ASSERT_CUDA(cudaSetDevice(1));  // the neighbour has room
  EXPECT_CUDA(cudaMalloc(&more, 1));
  EXPECT_EQ(sim::device_of_address(more), 1);
  EXPECT_CUDA(cudaFree(more));
  ASSERT_CUDA(cudaSetDevice(0));
  ASSERT_CUDA(cudaFree(rest));
  EXPECT_CUDA(cudaMalloc(&more, 1));
  EXPECT_CUDA(cudaFree(more));
  EXPECT_CUDA(cudaFree(most));
}

TEST_F(MemoryTest, RandomAllocationsNeverOverlapAndAllComeBack) {
  const sim::Counters before = sim::counters();
  std::mt19937 random(3);
  std::vector<std::pair<char*, std::size_t>> live;
  for (int i = 0; i < 2000; ++i) {
    if (live.empty() || random() % 3 != 0) {
      const std::size_t bytes = 1 + random() % 100000;
      char* block = nullptr;
      ASSERT_CUDA(cudaMalloc(&block, bytes));
      for (const auto& [other, size] : live) EXPECT_TRUE(block + bytes <= other || other + size <= block);
      live.emplace_back(block, bytes);
    } else {
      std::swap(live[random() % live.size()], live.back());
      ASSERT_CUDA(cudaFree(live.back().first));
      live.pop_back();
    }
  }
  for (const auto& [block, size] : live) ASSERT_CUDA(cudaFree(block));
  EXPECT_EQ(sim::counters().live_allocations, before.live_allocations);
  EXPECT_EQ(sim::counters().live_device_bytes, before.live_device_bytes);
}

TEST_F(MemoryTest, NothingAskedForIsNull) {
  void* block = &block;
  EXPECT_CUDA(cudaMalloc(&block, 0));
  EXPECT_EQ(block, nullptr);
  EXPECT_CUDA(cudaFree(nullptr));
  EXPECT_CUDA(cudaFreeHost(nullptr));
}

TEST_F(MemoryTest, OnlyTheBeginningOfALiveBlockCanBeFreed) {
  char* block = nullptr;
  ASSERT_CUDA(cudaMalloc(&block, 1000));
  EXPECT_EQ(cudaFree(block + 256), cudaErrorInvalidValue);
  char host = 0;
  EXPECT_EQ(cudaFree(&host), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(&host), cudaErrorInvalidValue);
  EXPECT_CUDA(cudaFree(block));
  EXPECT_EQ(cudaFree(block), cudaErrorInvalidValue);
}

TEST_F(MemoryTest, CopiesGoThereAndBack) {
  for (std::size_t n : {1U, 63U, 1000U, 1000003U}) {
    const std::vector<int> values = counting(n, 5);
    const DeviceArray<int> first(values), second(n);
    ASSERT_CUDA(cudaMemcpy(second.data(), first.data(), first.bytes(), cudaMemcpyDeviceToDevice));
    EXPECT_EQ(second.get(), values);
    ASSERT_CUDA(cudaSetDevice(1));
    const DeviceArray<int> far(n);
    ASSERT_CUDA(cudaMemcpyPeer(far.data(), 1, first.data(), 0, first.bytes()));
    EXPECT_EQ(far.get(), values);
    ASSERT_CUDA(cudaSetDevice(0));
  }
}

TEST_F(MemoryTest, AsynchronousCopyHappensLater) {
  const TestStream stream;
  int* host = nullptr;
  ASSERT_CUDA(cudaMallocHost(&host, sizeof(int)));
  *host = 1;
  const DeviceArray<int> device(1);
  Hold hold(stream);
  ASSERT_CUDA(cudaMemcpyAsync(device.data(), host, sizeof(int), cudaMemcpyHostToDevice, stream));
  *host = 2;  // page-locked memory is read when the copy runs, so this is what arrives
  hold.release();
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(device.get().at(0), 2);

  Hold again(stream);
  *host = 0;
  ASSERT_CUDA(cudaMemcpyAsync(host, device.data(), sizeof(int), cudaMemcpyDeviceToHost, stream));
  EXPECT_EQ(*host, 0);
  again.release();
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(*host, 2);
  EXPECT_CUDA(cudaFreeHost(host));
}

TEST_F(MemoryTest, PageableSourceMayBeReusedAtOnce) {
  const TestStream stream;
  for (std::size_t n : {16U, 1000000U}) {
    std::vector<int> host = counting(n);
    const std::vector<int> expected = host;
    const DeviceArray<int> device(n);
    std::unique_ptr<Hold> hold;
    if (n == 16U) hold = std::make_unique<Hold>(stream);  // a large one is waited for
    ASSERT_CUDA(cudaMemcpyAsync(device.data(), host.data(), n * sizeof(int), cudaMemcpyHostToDevice, stream));
    std::fill(host.begin(), host.end(), -1);
    hold.reset();
    ASSERT_CUDA(cudaStreamSynchronize(stream));
    EXPECT_EQ(device.get(), expected);
  }
}

TEST_F(MemoryTest, CopyToPageableMemoryIsDoneWhenTheCallReturns) {
  const TestStream stream;
  const DeviceArray<int> device(counting(1000));
  std::vector<int> host(1000);
  ASSERT_CUDA(cudaMemcpyAsync(host.data(), device.data(), device.bytes(), cudaMemcpyDeviceToHost, stream));
  EXPECT_EQ(host, counting(1000));
}

TEST_F(MemoryTest, DefaultDirectionFollowsFromTheAddresses) {
  const std::vector<int> values = counting(100);
  const DeviceArray<int> device(100);
  std::vector<int> back(100);
  ASSERT_CUDA(cudaMemcpy(device.data(), values.data(), 400, cudaMemcpyDefault));
  ASSERT_CUDA(cudaMemcpy(back.data(), device.data(), 400, cudaMemcpyDefault));
  EXPECT_EQ(back, values);
}

TEST_F(MemoryTest, CopiesThatCannotBeAreRefused) {
  const DeviceArray<int> device(10);
  std::vector<int> host(100);
  EXPECT_EQ(cudaMemcpy(device.data(), host.data(), 400, cudaMemcpyHostToDevice), cudaErrorInvalidValue);  // beyond the end
  EXPECT_EQ(cudaMemcpy(device.data() + 5, host.data(), 24, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), device.data(), 40, cudaMemcpyHostToDevice), cudaErrorInvalidValue);  // wrong way
  EXPECT_EQ(cudaMemcpy(host.data(), device.data(), 40, static_cast<cudaMemcpyKind>(7)), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpy(nullptr, device.data(), 40, cudaMemcpyDefault), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(host.data(), 0, 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(device.data(), 0, 41), cudaErrorInvalidValue);
  EXPECT_CUDA(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDefault));
}

TEST_F(MemoryTest, FillSetsEveryByteAndNoMore) {
  const DeviceArray<unsigned char> device(std::vector<unsigned char>(1000003, 1));
  ASSERT_CUDA(cudaMemset(device.data() + 1, 0xab, 1000001));
  const std::vector<unsigned char> values = device.get();
  EXPECT_EQ(values.front(), 1);
  EXPECT_EQ(values.back(), 1);
  for (std::size_t i = 1; i + 1 < values.size(); ++i) ASSERT_EQ(values[i], 0xab);
}

TEST_F(MemoryTest, FreeWaitsForTheDevice) {
  const TestStream stream;
  int* device = nullptr;
  ASSERT_CUDA(cudaMalloc(&device, 4));
  RunLog ran;
  for (int i = 0; i < 100; ++i) ran.note(stream, "x");
  ASSERT_CUDA(cudaFree(device));
  EXPECT_EQ(ran.entries().size(), 100U);
}

TEST_F(MemoryTest, OrderedFreeHappensInTheStream) {
  const TestStream stream;
  const std::uint64_t before = sim::counters().live_allocations;
  int* device = nullptr;
  ASSERT_CUDA(cudaMallocAsync(&device, 4096, stream));
  ASSERT_CUDA(cudaMemsetAsync(device, 0, 4096, stream));
  Hold hold(stream);
  ASSERT_CUDA(cudaFreeAsync(device, stream));
  EXPECT_EQ(sim::counters().live_allocations, before + 1);
  hold.release();
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(sim::counters().live_allocations, before);
}

TEST_F(MemoryTest, OrderedAllocationUsesWhatTheStreamIsAboutToFree) {
  const TestStream stream;
  std::size_t free = 0, total = 0;
  ASSERT_CUDA(cudaMemGetInfo(&free, &total));
  char *first = nullptr, *second = nullptr;
  ASSERT_CUDA(cudaMallocAsync(&first, free, stream));
  ASSERT_CUDA(cudaFreeAsync(first, stream));
  ASSERT_CUDA(cudaMallocAsync(&second, free, stream));
  ASSERT_CUDA(cudaFreeAsync(second, stream));
  ASSERT_CUDA(cudaStreamSynchronize(stream));
}

TEST_F(MemoryTest, AttributesTellWhereAnAddressIs) {
  const DeviceArray<int> device(10);
  int *pinned = nullptr, pageable = 0;
  ASSERT_CUDA(cudaHostAlloc(&pinned, 4, cudaHostAllocPortable));
  cudaPointerAttributes attributes{};
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, device.data() + 3));
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 0);
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, pinned));
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, &pageable));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  EXPECT_CUDA(cudaFreeHost(pinned));
}

TEST_F(MemoryTest, ManagedMemoryIsOnEitherSideOfACopy) {
  int* shared = nullptr;
  ASSERT_CUDA(cudaMallocManaged(reinterpret_cast<void**>(&shared), 4 * sizeof(int), cudaMemAttachGlobal));
  const std::vector<int> values = counting(4, 7);
  for (const cudaMemcpyKind kind : {cudaMemcpyHostToDevice, cudaMemcpyHostToHost, cudaMemcpyDefault}) {
    std::fill_n(shared, 4, 0);  // the host writes it without a copy
    ASSERT_CUDA(cudaMemcpy(shared, values.data(), 4 * sizeof(int), kind));
    EXPECT_EQ(shared[3], 10);
  }
  std::vector<int> back(4);
  EXPECT_CUDA(cudaMemcpy(back.data(), shared, 4 * sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT_EQ(back, values);
  cudaPointerAttributes attributes;
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, shared + 1));
  EXPECT_EQ(attributes.type, cudaMemoryTypeManaged);
  EXPECT_EQ(cudaMallocManaged(reinterpret_cast<void**>(&shared), 0, cudaMemAttachGlobal), cudaErrorInvalidValue);
  EXPECT_CUDA(cudaFree(shared));
  EXPECT_EQ(cudaFree(shared), cudaErrorInvalidValue);
}

TEST_F(MemoryTest, RegisteredMemoryStaysTheProgramsOwn) {
  std::vector<int> mine(100);
  const std::size_t bytes = mine.size() * sizeof(int);
  ASSERT_CUDA(cudaHostRegister(mine.data(), bytes, 0));
  EXPECT_EQ(cudaHostRegister(mine.data() + 50, bytes, 0), cudaErrorHostMemoryAlreadyRegistered);
  cudaPointerAttributes attributes;
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, mine.data()));
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(cudaFreeHost(mine.data()), cudaErrorInvalidValue) << "it was not allocated here";
  EXPECT_EQ(cudaHostUnregister(mine.data() + 1), cudaErrorHostMemoryNotRegistered);
  ASSERT_CUDA(cudaHostUnregister(mine.data()));
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, mine.data()));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
}

}  // namespace
}  // namespace lockstep::test
