// Strangers at the port where ranks meet, a rank that never comes, and messages that are not the rank's own.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "simulator/gpu/nccl/message/event_loop.h"
#include "simulator/gpu/nccl/message/handshake.h"
#include "simulator/gpu/nccl/message/tcp.h"
#include "simulator/gpu/nccl/message/unique_id.h"
#include "tests/simulator/gpu/nccl/support/cluster.h"

namespace lockstep::test {
namespace {

using namespace lockstep::sim::nccl;

ncclUniqueId new_id() {
  ncclUniqueId id{};
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  return id;
}

UniqueId content_of(const ncclUniqueId& id) {
  UniqueId content;
  EXPECT_TRUE(read_id(id, &content));
  return content;
}

Deadline a_while() { return Clock::now() + std::chrono::seconds(30); }

Socket connect_to_listener(const UniqueId& id, Challenge* challenge) {
  Socket line;
  EXPECT_TRUE(connect_to(id.address, a_while(), &line).ok());
  if (challenge != nullptr) {
    EXPECT_TRUE(receive_all(line, challenge, sizeof(*challenge), a_while()).ok());
  }
  return line;
}

// Whether the other end closes the connection without a word of success.
bool is_refused(const Socket& line) {
  std::string all;
  std::array<char, 4096> block{};
  pollfd one{line.get(), POLLIN, 0};
  while (poll(&one, 1, 20000) > 0) {
    const auto got = recv(line.get(), block.data(), block.size(), 0);
    if (got <= 0) break;
    all.append(block.data(), static_cast<std::size_t>(got));
  }
  std::int32_t code = -1;
  if (all.size() >= 8) std::memcpy(&code, all.data() + 4, sizeof(code));
  return all.empty() || code != ncclSuccess;
}

// Both ranks of the id in this process, from two threads.
void expect_ranks_meet(const ncclUniqueId& id) {
  std::vector<std::future<ncclResult_t>> threads;
  std::vector<ncclComm_t> comms(2);
  for (int rank = 0; rank < 2; ++rank) {
    threads.push_back(std::async(std::launch::async, [&comms, &id, rank] {
      cudaSetDevice(rank);
      return ncclCommInitRank(&comms[static_cast<std::size_t>(rank)], 2, id, rank);
    }));
  }
  for (auto& thread : threads) EXPECT_EQ(thread.get(), ncclSuccess) << ncclGetLastError(nullptr);
  for (const ncclComm_t comm : comms) ncclCommDestroy(comm);
}

Hello hello_for(const UniqueId& id, int rank) {
  Hello hello;
  hello.ranks = 2;
  hello.process = id.process;
  hello.serial = id.serial;
  hello.from = rank;
  hello.joiner_process = 77;
  hello.nonce = new_nonce();
  return hello;
}

TEST(Strangers, DoNotTakeTheSeatOfARank) {
  const ncclUniqueId id = new_id();
  const UniqueId content = content_of(id);
  std::vector<Socket> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(connect_to_listener(content, nullptr));
  {
    Challenge challenge;  // they know which id it is, and not its key
    const Socket line = connect_to_listener(content, &challenge);
    Hello hello = hello_for(content, 1);
    hello.proof = proof_of("not the key", challenge, hello);
    EXPECT_TRUE(send_all(line, &hello, sizeof(hello), a_while()).ok());
    EXPECT_TRUE(is_refused(line));
  }
  {
    Challenge challenge;
    const Socket line = connect_to_listener(content, &challenge);
    Hello hello = hello_for(content, 1);
    hello.serial = 1000000;  // an unknown id: its key is not the empty one
    hello.proof = proof_of("", challenge, hello);
    EXPECT_TRUE(send_all(line, &hello, sizeof(hello), a_while()).ok());
    EXPECT_TRUE(is_refused(line));
  }
  {
    Challenge challenge;
    const Socket line = connect_to_listener(content, &challenge);
    const std::string garbage(100000, '\xff');
    send(line.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    EXPECT_TRUE(is_refused(line));
  }
  expect_ranks_meet(id);
}

TEST(Strangers, GainNothingFromAHelloTheyHaveHeard) {
  const ncclUniqueId id = new_id();
  const UniqueId content = content_of(id);
  Challenge of_another;
  of_another.nonce = new_nonce();
  Hello hello = hello_for(content, 1);
  hello.proof = proof_of(content.key, of_another, hello);
  Challenge challenge;
  const Socket line = connect_to_listener(content, &challenge);
  EXPECT_TRUE(send_all(line, &hello, sizeof(hello), a_while()).ok());
  EXPECT_TRUE(is_refused(line));
  expect_ranks_meet(id);
}

TEST(Strangers, CostNoProcessorTimeWhenDescriptorsHaveRunOut) {
  const UniqueId content = content_of(new_id());
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_addr.s_addr = htonl(content.address.ip);
  there.sin_port = htons(content.address.port);
  std::vector<Socket> waiting;
  for (int i = 0; i < 3; ++i) waiting.emplace_back(socket(AF_INET, SOCK_STREAM, 0));
  const int top = dup(0);
  close(top);
  const rlimit none{static_cast<rlim_t>(top), before.rlim_max};  // those that are open stay
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  timespec began{}, ended{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &began);
  for (const Socket& one : waiting) EXPECT_EQ(connect(one.get(), reinterpret_cast<const sockaddr*>(&there), sizeof(there)), 0);
  std::this_thread::sleep_for(std::chrono::seconds(2));
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
  setrlimit(RLIMIT_NOFILE, &before);
  const double used = static_cast<double>(ended.tv_sec - began.tv_sec) + 1e-9 * static_cast<double>(ended.tv_nsec - began.tv_nsec);
  EXPECT_LT(used, 0.5) << "of two seconds in which nothing could be done";
  Challenge challenge;
  const Socket line = connect_to_listener(content, &challenge);  // and it listens again
  EXPECT_EQ(challenge.magic, Challenge{}.magic);
}

TEST(WithoutBlocking, RanksMeetAndReduce) {
  const ncclUniqueId id = new_id();
  std::vector<ncclComm_t> comms(2);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclGroupStart();
  for (int rank = 0; rank < 2; ++rank) {
    cudaSetDevice(rank);
    ncclCommInitRankConfig(&comms[static_cast<std::size_t>(rank)], 2, id, rank, &config);
  }
  EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
  for (const ncclComm_t comm : comms) {
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress) ASSERT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
    EXPECT_EQ(state, ncclSuccess);
  }
  for (const ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(WithoutBlocking, ARankThatNeverComesIsNamedWhenTheOthersGiveUp) {
  ncclComm_t comm = nullptr;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  cudaSetDevice(0);
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 3, new_id(), 1, &config), ncclInProgress);
  ncclResult_t state = ncclSuccess;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
  EXPECT_EQ(state, ncclInProgress);
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  EXPECT_STREQ(ncclGetLastError(nullptr), "rank 0, rank 2 did not come to meet the others in time");
}

TEST(WithoutBlocking, AConfigThatWasNotInitialisedIsRefused) {
  ncclComm_t comm = nullptr;
  ncclConfig_t config{};
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, new_id(), 0, &config), ncclInvalidArgument);
  config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 7;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, new_id(), 0, &config), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, new_id(), 0, nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

// What a connection hands on, for a test to wait for.
class Received : public Receiver {
 public:
  void deliver(const Flow& /*flow*/, Chunk chunk) override { delivered += chunk->size(); }
  void acknowledged(const Flow& /*flow*/, std::size_t /*bytes*/) override {}
  void notified(const Notice& notice) override { text = notice.text; }
  void lost(int /*endpoint*/, const std::string& why) override { end.set_value(why); }

  std::size_t delivered = 0;
  std::string text;
  std::promise<std::string> end;
};

struct Pair {
  Pair() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    to = Socket(ends[0]);
    connection.socket = Socket(ends[1]);
    connection.sends = {1, 2};
    connection.receives = {3, 4};
  }
  Socket to;
  Connection connection;
};

std::string frame(const FrameHeader& header, const std::string& body, const SipKey& key, std::uint64_t number) {
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  SipHash hash(key);
  hash.words(&number, 1);
  hash.words(&header, sizeof(header) / 8);
  const std::uint64_t tag = hash.finish(body.data(), body.size());
  return bytes + body + std::string(reinterpret_cast<const char*>(&tag), sizeof(tag));
}

FrameHeader data_header(std::size_t bytes) {
  FrameHeader header;
  header.bytes = static_cast<std::uint32_t>(bytes);
  header.to = 1;
  return header;
}

// Sends the bytes into a connection; returns how it ended and what was received before.
std::string send_into_connection(const std::string& bytes, Received** received_by) {
  static std::vector<std::shared_ptr<Received>> kept;
  Pair pair;
  const auto received = std::make_shared<Received>();
  kept.push_back(received);
  *received_by = received.get();
  const auto tcp = std::make_shared<Tcp>(std::move(pair.connection), 2, 0);
  network().post([tcp, received] { tcp->start(received); });
  EXPECT_EQ(send(pair.to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  shutdown(pair.to.get(), SHUT_WR);
  return received->end.get_future().get();
}

TEST(Messages, WithoutTheKeyOfTheConnectionAreNotDelivered) {
  const SipKey right{3, 4}, wrong{3, 5};
  Received* received = nullptr;
  EXPECT_EQ(send_into_connection(frame(data_header(5), "bytes", right, 0) + frame(data_header(4), "more", right, 1), &received),
            "its connection has ended");
  EXPECT_EQ(received->delivered, 9U);
  const std::string wrong_tag = "a message on its connection has a wrong authentication tag";
  EXPECT_EQ(send_into_connection(frame(data_header(5), "bytes", wrong, 0), &received), wrong_tag);
  EXPECT_EQ(received->delivered, 0U);
  std::string changed = frame(data_header(5), "bytes", right, 0);
  changed[sizeof(FrameHeader)] = 'B';
  EXPECT_EQ(send_into_connection(changed, &received), wrong_tag);
  EXPECT_EQ(received->delivered, 0U);
  const std::string once = frame(data_header(5), "bytes", right, 0);
  EXPECT_EQ(send_into_connection(once + once, &received), wrong_tag) << "the same message twice";
  EXPECT_EQ(received->delivered, 5U);
}

TEST(Messages, TextsOfAPeerAreFitForATerminal) {
  FrameHeader header;
  header.kind = FrameHeader::Kind::failed;
  header.code = ncclInvalidUsage;
  const std::string text = "\x1b[2Jgone\x07";
  header.bytes = static_cast<std::uint32_t>(text.size());
  Received* received = nullptr;
  send_into_connection(frame(header, text, {3, 4}, 0), &received);
  EXPECT_EQ(received->text, "?[2Jgone?");
}

}  // namespace
}  // namespace lockstep::test
