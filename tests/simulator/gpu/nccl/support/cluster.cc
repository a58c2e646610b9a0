// See cluster.h.
#include "tests/simulator/gpu/nccl/support/cluster.h"

#include <cstdlib>
#include <thread>

namespace lockstep::test {

namespace {

// Read when the virtual GPU is first used, which is after static initialisation.
[[maybe_unused]] const int kMachine = setenv("LOCKSTEP_SIM_GPUS", "16", 1);

constexpr std::size_t kCanaryBytes = 64;
constexpr int kCanary = 0x5a;

void expect_ok(cudaError_t status) { EXPECT_EQ(status, cudaSuccess) << cudaGetErrorString(status); }

}  // namespace

DeviceBytes::DeviceBytes(int device, std::size_t bytes) : device_(device), bytes_(bytes) {
  expect_ok(cudaSetDevice(device));
  expect_ok(cudaMalloc(&data_, bytes + kCanaryBytes));
  expect_ok(cudaMemset(data_, kCanary, bytes + kCanaryBytes));
  expect_ok(cudaDeviceSynchronize());
}

DeviceBytes::~DeviceBytes() {
  expect_ok(cudaSetDevice(device_));
  expect_ok(cudaFree(data_));
}

void DeviceBytes::write(const std::vector<std::byte>& bytes, cudaStream_t stream) {
  ASSERT_LE(bytes.size(), bytes_);
  if (!bytes.empty()) expect_ok(cudaMemcpyAsync(data_, bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream));
}

std::vector<std::byte> DeviceBytes::read(cudaStream_t stream) const {
  std::vector<std::byte> bytes(bytes_);
  if (bytes_ > 0) expect_ok(cudaMemcpyAsync(bytes.data(), data_, bytes_, cudaMemcpyDeviceToHost, stream));
  expect_ok(cudaStreamSynchronize(stream));
  return bytes;
}

bool DeviceBytes::canary_lives() const {
  std::vector<std::byte> canary(kCanaryBytes);
  expect_ok(cudaMemcpy(canary.data(), data_ + bytes_, kCanaryBytes, cudaMemcpyDeviceToHost));
  for (const std::byte b : canary) {
    if (b != std::byte{kCanary}) return false;
  }
  return true;
}

const char* name_of(Way way) {
  constexpr const char* kNames[] = {"direct", "shared memory", "TCP"};
  return kNames[static_cast<int>(way)];
}

UseWay::UseWay(Way way) {
  if (way != Way::direct) setenv("NCCL_P2P_DISABLE", "1", 1);
  if (way == Way::tcp) setenv("NCCL_SHM_DISABLE", "1", 1);
}

UseWay::~UseWay() {
  unsetenv("NCCL_P2P_DISABLE");
  unsetenv("NCCL_SHM_DISABLE");
}

Cluster::Cluster(int ranks, Way way) : comms(static_cast<std::size_t>(ranks)), streams(static_cast<std::size_t>(ranks)) {
  const UseWay use(way);
  EXPECT_EQ(ncclCommInitAll(comms.data(), ranks, nullptr), ncclSuccess) << ncclGetLastError(nullptr);
  for (int rank = 0; rank < ranks; ++rank) {
    expect_ok(cudaSetDevice(rank));
    expect_ok(cudaStreamCreateWithFlags(&streams[static_cast<std::size_t>(rank)], cudaStreamNonBlocking));
  }
}

Cluster::~Cluster() {
  for (const ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  for (const cudaStream_t stream : streams) expect_ok(cudaStreamDestroy(stream));
}

void Cluster::synchronize() const {
  for (const cudaStream_t stream : streams) expect_ok(cudaStreamSynchronize(stream));
}

ThreeRanks::ThreeRanks(Way way) : cluster(3, way) {
  for (int r = 0; r < 3; ++r) buffers.push_back(cluster.upload(r, std::vector<float>(3000, static_cast<float>(r))));
  cluster.synchronize();  // tests use them on other streams too
}

ncclResult_t ThreeRanks::sum(int rank, std::size_t count, ncclDataType_t type, ncclRedOp_t op) const {
  const auto r = static_cast<std::size_t>(rank);
  return ncclAllReduce(buffers[r]->data(), buffers[r]->data(), count, type, op, cluster.comms[r], cluster.streams[r]);
}

ncclResult_t ThreeRanks::broadcast(int rank, int root) const {
  const auto r = static_cast<std::size_t>(rank);
  return ncclBroadcast(buffers[r]->data(), buffers[r]->data(), 100, ncclFloat32, root, cluster.comms[r], cluster.streams[r]);
}

std::vector<ncclResult_t> call_all(int ranks, Calling how, const std::function<ncclResult_t(int rank)>& call) {
  std::vector<ncclResult_t> results(static_cast<std::size_t>(ranks), ncclInternalError);
  const auto one = [&](int rank) { results[static_cast<std::size_t>(rank)] = call(rank); };
  if (how == Calling::a_thread_each) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(one, rank);
    for (std::thread& thread : threads) thread.join();
    return results;
  }
  if (how == Calling::one_group) {
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  }
  for (int rank = 0; rank < ranks; ++rank) one(rank);
  if (how == Calling::one_group) {
    const ncclResult_t end = ncclGroupEnd();
    if (end != ncclSuccess) results.assign(results.size(), end);
  }
  return results;
}

}  // namespace lockstep::test
