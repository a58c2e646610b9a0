// Communicators across processes: the same bits as within one, and a process that dies is named by those that live.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/simulator/gpu/nccl/support/cluster.h"
#include "tests/simulator/gpu/nccl/support/sequence.h"

namespace lockstep::test {
namespace {

std::string hexadecimal(const ncclUniqueId& id) {
  std::string text;
  for (const char c : id.internal) {
    std::array<char, 3> two{};
    std::snprintf(two.data(), two.size(), "%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    text += two.data();
  }
  return text;
}

// A running nccl_worker and what it prints.
class Worker {
 public:
  explicit Worker(const std::vector<std::string>& words) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return;
    std::vector<char*> arguments{const_cast<char*>(LOCKSTEP_NCCL_WORKER)};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], 1);
      close(ends[0]);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    close(ends[1]);
    output_ = ends[0];
  }
  ~Worker() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    finish();
    if (output_ >= 0) close(output_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Waits for its end.
  const std::string& finish() {
    std::array<char, 4096> block{};
    for (ssize_t got = 0; pid_ > 0 && (got = read(output_, block.data(), block.size())) > 0;) {
      text_.append(block.data(), static_cast<std::size_t>(got));
    }
    if (pid_ > 0) waitpid(pid_, &status_, 0);
    pid_ = -1;
    return text_;
  }
  int exit_code() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_); }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  int status_ = 0;
  std::string text_;
};

// Starts processes with so many ranks each; `last` are the last one's extra words.
std::vector<std::unique_ptr<Worker>> start(const ncclUniqueId& id, const std::vector<int>& ranks_of, int steps,
                                           const std::vector<std::string>& last = {}) {
  int total = 0;
  for (const int ranks : ranks_of) total += ranks;
  std::vector<std::unique_ptr<Worker>> workers;
  int first = 0;
  for (std::size_t i = 0; i < ranks_of.size(); ++i) {
    std::vector<std::string> words{hexadecimal(id), std::to_string(total), std::to_string(first), std::to_string(ranks_of[i]),
                                   std::to_string(steps)};
    if (i + 1 == ranks_of.size()) words.insert(words.end(), last.begin(), last.end());
    workers.push_back(std::make_unique<Worker>(words));
    first += ranks_of[i];
  }
  return workers;
}

ncclUniqueId new_id() {
  ncclUniqueId id{};
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  return id;
}

// What one process with all ranks gets, in the same words.
std::string in_one_process(int ranks) {
  const Cluster cluster(ranks);
  const SequenceResult result = run_sequence({ranks, 0, cluster.comms, cluster.streams}, kSequenceSteps);
  EXPECT_EQ(result.code, ncclSuccess) << ncclGetLastError(nullptr);
  std::string text;
  for (int rank = 0; rank < ranks; ++rank) {
    std::array<char, 64> line{};
    std::snprintf(line.data(), line.size(), "rank %d hash %016" PRIx64 "\n", rank, result.hashes[static_cast<std::size_t>(rank)]);
    text += line.data();
  }
  return text;
}

TEST(Processes, GetTheSameBitsAsOneProcess) {
  for (const std::vector<int>& ranks_of : {std::vector<int>{1, 1}, {2, 2}, {1, 1, 1}, {1, 3}}) {
    int total = 0;
    for (const int ranks : ranks_of) total += ranks;
    const auto workers = start(new_id(), ranks_of, kSequenceSteps);
    std::string text;
    for (const auto& worker : workers) {
      text += worker->finish();
      EXPECT_EQ(worker->exit_code(), 0);
    }
    EXPECT_EQ(text, in_one_process(total)) << ranks_of.size() << " processes";
  }
}

TEST(Processes, GetTheSameBitsByTree) {
  setenv("NCCL_ALGO", "Tree", 1);  // the process that makes the id chooses for all
  const ncclUniqueId id = new_id();
  const std::string expected = in_one_process(3);
  const auto workers = start(id, {2, 1}, kSequenceSteps);
  std::string text;
  for (const auto& worker : workers) text += worker->finish();
  unsetenv("NCCL_ALGO");
  EXPECT_EQ(text, expected);
}

// SIGKILL in the middle of the sequence; the other processes end by themselves, with an error that names the rank.
TEST(Processes, ThatDieAreNamed) {
  for (const int die_at : {0, 1, 5}) {
    const auto workers = start(new_id(), {1, 2, 1}, 10000, {"die-at", std::to_string(die_at)});
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string text = workers[i]->finish();
      EXPECT_EQ(workers[i]->exit_code(), 1);
      EXPECT_EQ(text.rfind("error 6 ", 0), 0U) << text;
      EXPECT_NE(text.find("rank 3 has gone"), std::string::npos) << text;
    }
    workers[2]->finish();
    EXPECT_EQ(workers[2]->exit_code(), -SIGKILL);
  }
}

TEST(Processes, ThatLeaveAreNamed) {
  const auto workers = start(new_id(), {1, 1, 1}, kSequenceSteps, {"leave"});
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string text = workers[i]->finish();
    EXPECT_EQ(workers[i]->exit_code(), 1);
    EXPECT_NE(text.find("rank 2 has destroyed its communicator"), std::string::npos) << text;
  }
}

// A process that dies before all have come: those that wait get an error.
TEST(Processes, ThatDieWhileMeetingAreNamed) {
  const ncclUniqueId id = new_id();
  Worker waits({hexadecimal(id), "3", "0", "1", "1"});
  auto dies = std::make_unique<Worker>(std::vector<std::string>{hexadecimal(id), "3", "1", "1", "1"});
  usleep(500000);
  dies.reset();  // killed while it waits for the third
  const std::string text = waits.finish();
  EXPECT_EQ(waits.exit_code(), 1);
  EXPECT_NE(text.find("rank 1"), std::string::npos) << text;
}

TEST(Processes, RefuseAnIdThatWasNeverMade) {
  ncclUniqueId id = new_id();
  std::string text(id.internal);
  text[10] = text[10] == 'a' ? 'b' : 'a';  // another process' number at the right address
  std::copy(text.begin(), text.end(), id.internal);
  Worker worker({hexadecimal(id), "2", "0", "1", "1"});
  EXPECT_NE(worker.finish().find("error 4 the ncclUniqueId is unknown"), std::string::npos) << worker.finish();
}

TEST(Processes, RefuseWhatDoesNotFit) {
  const ncclUniqueId id = new_id();
  Worker one({hexadecimal(id), "2", "0", "1", "1"});
  Worker other({hexadecimal(id), "3", "1", "1", "1"});
  for (Worker* worker : {&one, &other}) {
    EXPECT_NE(worker->finish().find("error 5 ranks disagree about their number"), std::string::npos) << worker->finish();
  }
}

}  // namespace
}  // namespace lockstep::test
