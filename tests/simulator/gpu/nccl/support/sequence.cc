#include "tests/simulator/gpu/nccl/support/sequence.h"

#include <csignal>
#include <cstddef>
#include <random>

namespace lockstep::test {

namespace {

struct Step {
  int kind;  // all-reduce, reduce, broadcast, all-gather, reduce-scatter, send and receive round the ring
  std::size_t count;
  ncclDataType_t type;
  ncclRedOp_t op;
};

constexpr Step kSteps[kSequenceSteps] = {
    {0, 1000003, ncclFloat32, ncclSum}, {0, 1, ncclFloat32, ncclSum},       {2, 300001, ncclFloat32, ncclSum},
    {0, 5000, ncclFloat64, ncclAvg},    {1, 70001, ncclFloat32, ncclSum},   {3, 33333, ncclInt32, ncclSum},
    {4, 20011, ncclFloat32, ncclSum},   {5, 123457, ncclFloat32, ncclSum},  {0, 0, ncclFloat32, ncclSum},
    {0, 40001, ncclBfloat16, ncclSum},  {0, 9999, ncclFloat16, ncclMax},    {4, 17, ncclInt64, ncclProd},
    {5, 1, ncclInt8, ncclSum},          {0, 2000000, ncclFloat32, ncclSum},
};

std::size_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclFloat64:
    case ncclInt64:
      return 8;
    default:
      return 4;
  }
}

// Any bits are values: what counts is that all ranks get the same ones. Without NaNs, whose payloads are not defined.
std::vector<std::byte> input(int step, int rank, std::size_t count, ncclDataType_t type) {
  std::mt19937 random(static_cast<unsigned>(1000 * step + rank));
  std::vector<std::byte> bytes(count * bytes_of(type));
  const auto put = [&](std::size_t i, auto value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    std::copy(from, from + sizeof(value), bytes.begin() + static_cast<std::ptrdiff_t>(i * sizeof(value)));
  };
  for (std::size_t i = 0; i < count; ++i) {
    const auto drawn = static_cast<std::uint32_t>(random());
    const double value = static_cast<double>(drawn) / 4294967296.0 - 0.5;
    switch (type) {
      case ncclFloat32:
        put(i, static_cast<float>(value));
        break;
      case ncclFloat64:
        put(i, value);
        break;
      case ncclFloat16:
      case ncclBfloat16:
        put(i, static_cast<std::uint16_t>(0x3c00U + (drawn & 0x3ffU)));
        break;
      case ncclInt8:
        put(i, static_cast<std::int8_t>(drawn));
        break;
      case ncclInt64:
        put(i, static_cast<std::int64_t>(drawn % 7));
        break;
      default:
        put(i, drawn);
    }
  }
  return bytes;
}

void add_to(std::uint64_t& hash, const std::vector<std::byte>& bytes) {
  for (const std::byte b : bytes) hash = (hash ^ static_cast<std::uint64_t>(b)) * 0x100000001b3ULL;
}

ncclResult_t call(const Step& step, int ranks, int rank, const void* send, void* receive, ncclComm_t comm, cudaStream_t stream) {
  switch (step.kind) {
    case 0:
      return ncclAllReduce(send, receive, step.count, step.type, step.op, comm, stream);
    case 1:
      return ncclReduce(send, receive, step.count, step.type, step.op, ranks - 1, comm, stream);
    case 2:
      return ncclBroadcast(send, receive, step.count, step.type, 0, comm, stream);
    case 3:
      return ncclAllGather(send, receive, step.count, step.type, comm, stream);
    case 4:
      return ncclReduceScatter(send, receive, step.count, step.type, step.op, comm, stream);
    default: {
      const ncclResult_t sent = ncclSend(send, step.count, step.type, (rank + 1) % ranks, comm, stream);
      const ncclResult_t received = ncclRecv(receive, step.count, step.type, (rank + ranks - 1) % ranks, comm, stream);
      return sent != ncclSuccess ? sent : received;
    }
  }
}

}  // namespace

SequenceResult run_sequence(const LocalRanks& here, int steps, int die_at) {
  SequenceResult result;
  result.hashes.assign(here.comms.size(), 0xcbf29ce484222325ULL);
  for (int s = 0; s < steps; ++s) {
    if (s == die_at) std::raise(SIGKILL);
    const Step& step = kSteps[s % kSequenceSteps];
    const std::size_t element = bytes_of(step.type);
    const auto n = static_cast<std::size_t>(here.ranks);
    const std::size_t sent = step.count * (step.kind == 4 ? n : 1);
    const std::size_t received = step.count * (step.kind == 3 ? n : 1) * element;
    std::vector<void*> send(here.comms.size());
    std::vector<void*> receive(here.comms.size());
    ncclGroupStart();
    for (std::size_t i = 0; i < here.comms.size(); ++i) {
      const int rank = here.first_rank + static_cast<int>(i);
      const auto bytes = input(s, rank, sent, step.type);
      cudaSetDevice(static_cast<int>(i));
      cudaMalloc(&send[i], bytes.size() + 1);
      cudaMalloc(&receive[i], received + 1);
      cudaMemcpy(send[i], bytes.data(), bytes.size(), cudaMemcpyHostToDevice);
      cudaMemset(receive[i], 0, received + 1);
      cudaDeviceSynchronize();
      call(step, here.ranks, rank, send[i], receive[i], here.comms[i], here.streams[i]);
    }
    result.code = ncclGroupEnd();
    for (std::size_t i = 0; i < here.comms.size(); ++i) {
      std::vector<std::byte> got(received);
      cudaStreamSynchronize(here.streams[i]);
      cudaMemcpy(got.data(), receive[i], received, cudaMemcpyDeviceToHost);
      add_to(result.hashes[i], got);
      cudaFree(send[i]);
      cudaFree(receive[i]);
      ncclResult_t error = ncclSuccess;
      ncclCommGetAsyncError(here.comms[i], &error);
      if (result.code == ncclSuccess) result.code = error;
    }
    if (result.code != ncclSuccess) return result;
  }
  return result;
}

}  // namespace lockstep::test
