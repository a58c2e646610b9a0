// Ranks for tests: communicators over the first n virtual GPUs, a stream each, and buffers that notice writes past their end.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include <nccl.h>

namespace lockstep::test {

inline constexpr int kGpus = 16;  // of the machine that tests run on; see cluster.cc

// Device memory of one rank with a canary behind it.
class DeviceBytes {
 public:
  DeviceBytes(int device, std::size_t bytes);
  ~DeviceBytes();
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;

  std::byte* data() const { return data_; }
  void write(const std::vector<std::byte>& bytes, cudaStream_t stream);
  std::vector<std::byte> read(cudaStream_t stream) const;  // waits for the stream
  bool canary_lives() const;

 private:
  int device_ = 0;
  std::size_t bytes_ = 0;
  std::byte* data_ = nullptr;
};

// How ranks of one process reach each other: each other's memory, messages through shared memory, messages over TCP. Chosen as NCCL has it,
// by NCCL_P2P_DISABLE and NCCL_SHM_DISABLE.
enum class Way { direct, shared_memory, tcp };
const char* name_of(Way way);

// Sets the two variables; restores them when it goes.
class UseWay {
 public:
  explicit UseWay(Way way);
  ~UseWay();
  UseWay(const UseWay&) = delete;
  UseWay& operator=(const UseWay&) = delete;
};

class Cluster {
 public:
  explicit Cluster(int ranks, Way way = Way::direct);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  int size() const { return static_cast<int>(comms.size()); }
  std::unique_ptr<DeviceBytes> bytes(int rank, std::size_t count) const { return std::make_unique<DeviceBytes>(rank, count); }
  template <typename T>
  std::unique_ptr<DeviceBytes> upload(int rank, const std::vector<T>& values) const {
    auto buffer = bytes(rank, values.size() * sizeof(T));
    const auto* first = reinterpret_cast<const std::byte*>(values.data());
    buffer->write({first, first + values.size() * sizeof(T)}, streams[static_cast<std::size_t>(rank)]);
    return buffer;
  }
  template <typename T>
  std::vector<T> download(int rank, const DeviceBytes& buffer) const {
    const std::vector<std::byte> raw = buffer.read(streams[static_cast<std::size_t>(rank)]);
    const auto* first = reinterpret_cast<const T*>(raw.data());
    return {first, first + raw.size() / sizeof(T)};
  }
  void synchronize() const;

  std::vector<ncclComm_t> comms;  // a test that destroys one sets it to null
  std::vector<cudaStream_t> streams;
};

// Three ranks that sum and broadcast what their buffers hold: rank r's is full of r.
struct ThreeRanks {
  explicit ThreeRanks(Way way);

  ncclResult_t sum(int rank, std::size_t count = 100, ncclDataType_t type = ncclFloat32, ncclRedOp_t op = ncclSum) const;
  ncclResult_t broadcast(int rank, int root = 0) const;

  Cluster cluster;
  std::vector<std::unique_ptr<DeviceBytes>> buffers;
};

// How the calls of all ranks are made.
enum class Calling { one_thread, one_group, a_thread_each };
std::vector<ncclResult_t> call_all(int ranks, Calling how, const std::function<ncclResult_t(int rank)>& call);

}  // namespace lockstep::test
