// Workers meet: here each is a thread. A worker that knows the secret and runs the same gets a place; other connections change nothing.
#include "engine/distribute/workers/worker_meeting.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <future>
#include <string>
#include <vector>

#include "engine/distribute/workers/worker_address.h"
#include "engine/distribute/workers/worker_words.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

const std::string kSecret = "known to this test only";

int free_port() {
  const Connection listener(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

MeetingWords words(int worker, int workers, const std::string& where, const RunFacts& facts = {{"seed", "3"}}) {
  MeetingWords result;
  result.place = {worker, workers, 0, worker + 1};
  result.where = where;
  result.secret = kSecret;
  result.facts = text_of(facts);
  result.deadline_seconds = 30;
  return result;
}

struct Outcome {
  Agreement agreement;
  std::string error;
};

Outcome meet(const MeetingWords& words) {
  try {
    return {words.place.worker == 0 ? meet_as_first(words) : meet_as_other(words), ""};
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

std::vector<Outcome> meet_all(const std::vector<MeetingWords>& all) {
  std::vector<std::future<Outcome>> threads;
  for (const MeetingWords& one : all) threads.push_back(std::async(std::launch::async, [&one] { return meet(one); }));
  std::vector<Outcome> outcomes;
  for (auto& thread : threads) outcomes.push_back(thread.get());
  return outcomes;
}

std::string local_address() { return "127.0.0.1:" + std::to_string(free_port()); }

// A connection to worker 0 once it listens, with the challenge it got.
Connection knock(const std::string& where, Challenge* challenge) {
  const WorkerAddress address = parse_worker_address(where);
  for (int attempt = 0; attempt < 500; ++attempt) {
    Connection line(socket(AF_INET, SOCK_STREAM, 0));
    if (connect(line.get(), address.get(), address.size) == 0) {
      if (challenge != nullptr) {
        EXPECT_EQ(recv(line.get(), challenge, sizeof(*challenge), MSG_WAITALL), static_cast<ssize_t>(sizeof(*challenge)));
      }
      return line;
    }
    usleep(10000);
  }
  ADD_FAILURE() << "worker 0 does not listen";
  return Connection();
}

Greeting greeting_of(int worker, int workers, const std::string& secret, const Challenge& challenge) {
  Greeting greeting;
  greeting.worker = worker;
  greeting.workers = workers;
  greeting.replicas = worker + 1;
  greeting.facts = text_of({{"seed", "3"}});
  greeting.nonce = new_nonce();
  greeting.proof = proof_of(secret, challenge, greeting);
  return greeting;
}

TEST(WorkerMeeting, GivesEveryWorkerItsPlaceAndTheSameId) {
  const std::string where = local_address();
  const auto outcomes = meet_all({words(0, 3, where), words(1, 3, where), words(2, 3, where)});
  for (std::size_t w = 0; w < 3; ++w) {
    EXPECT_EQ(outcomes[w].error, "");
    EXPECT_EQ(outcomes[w].agreement.place.replicas, 6);
    EXPECT_EQ(outcomes[w].agreement.place.first_replica, (std::vector<int>{0, 1, 3})[w]);
    EXPECT_EQ(std::memcmp(&outcomes[w].agreement.id, &outcomes[0].agreement.id, sizeof(ncclUniqueId)), 0);
    EXPECT_NE(outcomes[w].agreement.id.internal[0], 0);
  }
}

TEST(WorkerMeeting, AllSayWhatDiffers) {
  const std::string where = local_address();
  const auto outcomes = meet_all({words(0, 3, where), words(1, 3, where), words(2, 3, where, {{"seed", "4"}})});
  for (const Outcome& outcome : outcomes) {
    EXPECT_NE(outcome.error.find("Worker 2 does not run what worker 0 runs: its seed is 4, worker 0's is 3."), std::string::npos)
        << outcome.error;
  }
}

TEST(WorkerMeeting, AnotherSecretIsRefusedAndCounted) {
  const std::string where = local_address();
  MeetingWords first = words(0, 2, where);
  first.deadline_seconds = 2;
  MeetingWords second = words(1, 2, where);
  second.secret = "known to another test only";
  const auto outcomes = meet_all({first, second});
  EXPECT_NE(outcomes[0].error.find("Worker 1 did not come"), std::string::npos) << outcomes[0].error;
  EXPECT_NE(outcomes[0].error.find("1 greetings did not prove"), std::string::npos) << outcomes[0].error;
  EXPECT_NE(outcomes[1].error.find("has another secret"), std::string::npos) << outcomes[1].error;
}

TEST(WorkerMeeting, AGreetingIsWorthNothingOnAnotherConnection) {
  const std::string where = local_address();
  auto first = std::async(std::launch::async, [where] { return meet(words(0, 2, where)); });
  Challenge one, other;
  const Connection line = knock(where, &one), again = knock(where, &other);
  const Greeting greeting = greeting_of(1, 2, kSecret, one);
  send(again.get(), &greeting, sizeof(greeting), MSG_NOSIGNAL);
  Answer answer;
  ASSERT_EQ(recv(again.get(), &answer, sizeof(answer), MSG_WAITALL), static_cast<ssize_t>(sizeof(answer)));
  EXPECT_EQ(answer.kind, Answer::Kind::unknown_secret);
  EXPECT_EQ(meet(words(1, 2, where)).error, "");
  EXPECT_EQ(first.get().error, "");
}

TEST(WorkerMeeting, SilenceAndGarbageCostNoTime) {
  const std::string where = local_address();
  auto first = std::async(std::launch::async, [where] { return meet(words(0, 2, where)); });
  std::vector<Connection> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(knock(where, nullptr));
  const std::string garbage(10000, 'x');
  send(silent.back().get(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(meet(words(1, 2, where)).error, "");
  EXPECT_EQ(first.get().error, "");
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_LT(took, std::chrono::seconds(9)) << "less than the patience with one of them: they are read at the same time";
}

TEST(WorkerMeeting, AWorkerThatHasGoneIsNamedLongBeforeTheDeadline) {
  const std::string where = local_address();
  MeetingWords patient = words(0, 4, where);
  patient.deadline_seconds = 600;
  auto first = std::async(std::launch::async, [patient] { return meet(patient); });
  MeetingWords other = words(2, 4, where);
  other.deadline_seconds = 600;
  auto second = std::async(std::launch::async, [other] { return meet(other); });
  {
    Challenge challenge;
    const Connection line = knock(where, &challenge);
    const Greeting greeting = greeting_of(1, 4, kSecret, challenge);
    send(line.get(), &greeting, sizeof(greeting), MSG_NOSIGNAL);
    Answer answer;
    ASSERT_EQ(recv(line.get(), &answer, sizeof(answer), MSG_WAITALL), static_cast<ssize_t>(sizeof(answer)));
    EXPECT_EQ(answer.kind, Answer::Kind::admitted);
    usleep(300000);  // worker 2 is admitted as well, most of the time; worker 3 never comes
  }
  EXPECT_NE(first.get().error.find("Worker 1 has gone"), std::string::npos);
  EXPECT_NE(second.wait_for(std::chrono::seconds(60)), std::future_status::timeout);
  EXPECT_NE(second.get().error.find("Worker 1 has gone"), std::string::npos);
}

TEST(WorkerMeeting, UntilNcclHasConnectedThemLinesTellWhoHasGone) {
  const std::string where = local_address();
  auto outcomes = meet_all({words(0, 3, where), words(1, 3, where), words(2, 3, where)});
  EXPECT_NO_THROW(outcomes[0].agreement.lines->require_all());
  outcomes[1].agreement.lines->connected();
  EXPECT_NO_THROW(outcomes[0].agreement.lines->require_all()) << "one that is connected may end its line";
  outcomes[2].agreement.lines.reset();
  try {
    outcomes[0].agreement.lines->require_all();
    FAIL() << "worker 2 is not missed";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "Worker 2 has gone while the workers were connecting.");
  }
}

TEST(WorkerMeeting, WithoutADescriptorItRestsAndDoesNotSpin) {
  const std::string where = local_address();
  MeetingWords patient = words(0, 2, where);
  patient.deadline_seconds = 3;
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  auto first = std::async(std::launch::async, [patient] { return meet(patient); });
  Challenge challenge;
  const Connection known = knock(where, &challenge);
  std::vector<Connection> waiting;
  for (int i = 0; i < 4; ++i) waiting.emplace_back(socket(AF_INET, SOCK_STREAM, 0));
  const int top = dup(0);
  close(top);
  const rlimit none{static_cast<rlim_t>(top), before.rlim_max};  // those that are open stay
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const WorkerAddress address = parse_worker_address("127.0.0.1" + where.substr(where.rfind(':')));
  timespec began{}, ended{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &began);
  for (const Connection& one : waiting) connect(one.get(), address.get(), address.size);
  const Outcome outcome = first.get();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_NE(outcome.error.find("did not come"), std::string::npos) << outcome.error;
  const double used = static_cast<double>(ended.tv_sec - began.tv_sec) + 1e-9 * static_cast<double>(ended.tv_nsec - began.tv_nsec);
  EXPECT_LT(used, 1) << "of the three seconds that it waited";
}

TEST(WorkerAddress, TakesBothKindsAndRefusesWhatIsNone) {
  EXPECT_EQ(parse_worker_address("127.0.0.1:4000").bytes.ss_family, AF_INET);
  EXPECT_EQ(parse_worker_address("[::1]:65535").bytes.ss_family, AF_INET6);
  for (const char* text : {"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:99999", "127.0.0.1:-1",
                           "127.0.0.1:40 0", "::1:4000", "[::1]", "[]:4000", ":4000", "127.0.0.1:0x10"}) {
    EXPECT_THROW(parse_worker_address(text), Error) << text;
  }
}

TEST(RunFacts, DifferByNameAndValueAndAreFitForATerminal) {
  const RunFacts facts{{"--seed", "3"}, {"data", "abc"}};
  EXPECT_EQ(first_difference({text_of(facts), text_of(facts)}), "");
  EXPECT_NE(first_difference({text_of(facts), text_of({{"--seed", "3"}})}).find("its data is not given, worker 0's is abc"),
            std::string::npos);
  const std::string other = first_difference({text_of(facts), text_of({{"--seed", "\x1b[2J"}, {"data", "abc"}})});
  EXPECT_NE(other.find("its --seed is ?[2J"), std::string::npos) << other;
  EXPECT_EQ(text_of({{"long", std::string(100000, 'x')}}).back(), '\0') << "what does not fit is cut";
}

}  // namespace
}  // namespace lockstep
