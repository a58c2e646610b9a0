#include "engine/distribute/workers/worker_meeting.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <thread>

#include "common/printable.h"
#include "engine/device/check.h"
#include "engine/distribute/workers/worker_address.h"
#include "engine/distribute/workers/worker_words.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLook = std::chrono::milliseconds(200);        // how often a wait looks at what it does not poll
constexpr auto kRetry = std::chrono::milliseconds(50);        // worker 0 may still be on its way
constexpr auto kGreetingPatience = std::chrono::seconds(10);  // of an open connection
constexpr std::size_t kMostSilent = 128;                      // connections at once that have not greeted

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

std::string name_of(std::size_t worker) { return "worker " + std::to_string(worker); }
std::string before_the_deadline(const std::string& where) {
  return " at LOCKSTEP_ADDRESS=" + where + " before the deadline (LOCKSTEP_DEADLINE).";
}

void check_launcher() {
  if (const std::string words = words_of_launcher(); !words.empty()) throw Error("The workers can't meet: " + words + ".");
}

bool again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

// Reads on where it stopped. 1: all of it is there; 0: not yet; -1: the connection has ended.
int read_on(const Connection& from, void* data, std::size_t bytes, std::size_t* read) {
  while (*read < bytes) {
    const auto got = recv(from.get(), static_cast<char*>(data) + *read, bytes - *read, MSG_DONTWAIT);
    if (got > 0) {
      *read += static_cast<std::size_t>(got);
    } else {
      return got < 0 && again() ? 0 : -1;
    }
  }
  return 1;
}

bool send_whole(const Connection& to, const void* data, std::size_t bytes) {  // small: it fits the socket's buffer
  return send(to.get(), data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(bytes);
}

// Polls for a while that is short enough to look at the deadline again; what the launcher says ends every wait.
void poll_a_while(std::vector<pollfd>& descriptors) {
  descriptors.push_back({launcher_descriptor(), POLLIN, 0});
  poll(descriptors.data(), descriptors.size(), static_cast<int>(kLook.count()));
  descriptors.pop_back();
  check_launcher();
}

class Lines : public MeetingLines {
 public:
  explicit Lines(std::vector<Connection> to) : to_(std::move(to)) {}
  void require_all() override {
    check_launcher();
    for (std::size_t w = 0; w < to_.size(); ++w) {
      char word = 0;
      std::size_t read = 0;
      if (!to_[w]) continue;
      const int state = read_on(to_[w], &word, 1, &read);
      if (state == 0) continue;
      to_[w] = Connection();
      if (state == 1 && word == kConnected) continue;
      if (w == 0) throw Error("Worker 0 has gone or given up while the workers were connecting; what it says itself tells why.");
      throw Error("Worker " + std::to_string(w) + " has gone while the workers were connecting.");
    }
  }
  void connected() override {
    for (const Connection& line : to_)
      if (line) send_whole(line, &kConnected, 1);
    to_.clear();
  }

 private:
  std::vector<Connection> to_;  // by worker; those that are not connected to this one, or are done, are empty
};

// Worker 0's side.
class FirstWorker {
 public:
  explicit FirstWorker(const MeetingWords& words) : words_(words), deadline_(after(words.deadline_seconds)) {
    const WorkerAddress address = parse_worker_address(words.where);
    listener_ = address.new_socket();
    const int yes = 1;
    setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(listener_.get(), address.get(), address.size) != 0 || listen(listener_.get(), SOMAXCONN) != 0)
      throw Error("Worker 0 can't listen at LOCKSTEP_ADDRESS=" + words.where + ": " + std::strerror(errno) + ".");
    admitted_.resize(static_cast<std::size_t>(words.place.workers));
    admitted_[0].greeting.replicas = words.place.replicas;
    admitted_[0].greeting.facts = words.facts;
  }

  Agreement run() {
    try {
      while (!all_are_here()) {
        if (Clock::now() >= deadline_) throw Error(who_is_missing());
        wait();
        accept_all();
        for (std::size_t i = 0; i < silent_.size();)
          if (read_greeting(silent_[i]))
            ++i;
          else
            silent_.erase(silent_.begin() + static_cast<std::ptrdiff_t>(i));
        require_admitted();
      }
      return agree();
    } catch (const Error& error) {
      answer_all({Answer::Kind::refused}, error.what());
      throw;
    }
  }

 private:
  struct Peer {
    Connection connection;
    Challenge challenge;
    Greeting greeting;
    std::size_t read = 0;
    Clock::time_point until;
  };

  bool all_are_here() const {
    return std::all_of(admitted_.begin() + 1, admitted_.end(), [](const Peer& peer) { return static_cast<bool>(peer.connection); });
  }

  std::string who_is_missing() const {
    std::string who;
    for (std::size_t w = 1; w < admitted_.size(); ++w)
      if (!admitted_[w].connection) who += (who.empty() ? "" : ", ") + name_of(w);
    who[0] = 'W';
    return who + " did not come to meet worker 0" + before_the_deadline(words_.where) +
           (strangers_ > 0 ? " " + std::to_string(strangers_) + " greetings did not prove that they know the secret (LOCKSTEP_SECRET)."
                           : "");
  }

  void wait() {
    std::vector<pollfd> descriptors{{full_ ? -1 : listener_.get(), POLLIN, 0}};
    for (const Peer& peer : silent_) descriptors.push_back({peer.connection.get(), POLLIN, 0});
    for (const Peer& peer : admitted_) descriptors.push_back({peer.connection.get(), POLLIN, 0});
    poll_a_while(descriptors);
    full_ = false;
  }

  void accept_all() {
    while (true) {
      Peer peer;
      peer.connection = Connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!peer.connection) {
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (again()) return;
        full_ = silent_.empty();  // no descriptor is free: the oldest connection is closed, or the listener is not polled for a while
        if (full_) return;
        silent_.pop_front();
        continue;
      }
      peer.challenge.nonce = new_nonce();
      peer.until = Clock::now() + kGreetingPatience;
      send_whole(peer.connection, &peer.challenge, sizeof(peer.challenge));
      if (silent_.size() >= kMostSilent) silent_.pop_front();
      silent_.push_back(std::move(peer));
    }
  }

  // Whether its greeting is still incomplete.
  bool read_greeting(Peer& peer) {
    const int state = read_on(peer.connection, &peer.greeting, sizeof(peer.greeting), &peer.read);
    if (state == 0) return Clock::now() < peer.until;
    if (state < 0) return false;
    const Greeting& greeting = peer.greeting;
    if (greeting.magic != Greeting{}.magic || !same(greeting.proof, proof_of(words_.secret, peer.challenge, greeting))) {
      ++strangers_;
      Answer answer;
      answer.kind = Answer::Kind::unknown_secret;
      send_whole(peer.connection, &answer, sizeof(answer));
      return false;
    }
    admit(peer);
    return false;
  }

  void admit(Peer& peer) {
    const Greeting& greeting = peer.greeting;
    const std::string who = std::to_string(greeting.worker);
    if (greeting.workers != words_.place.workers || greeting.worker < 1 || greeting.worker >= greeting.workers || greeting.replicas < 1) {
      throw Error("Worker " + who + " counts " + std::to_string(greeting.workers) + " workers, worker 0 counts " +
                  std::to_string(words_.place.workers) + ": LOCKSTEP_WORKERS must be the same for all.");
    }
    Peer& seat = admitted_[static_cast<std::size_t>(greeting.worker)];
    if (seat.connection) throw Error("Two workers say that they are worker " + who + " (LOCKSTEP_WORKER).");
    seat = std::move(peer);
    send_answer(seat, {Answer::Kind::admitted}, "");
  }

  // An admitted worker sends nothing: what can be read is the end of its connection.
  void require_admitted() {
    for (std::size_t w = 1; w < admitted_.size(); ++w) {
      char word = 0;
      std::size_t read = 0;
      if (!admitted_[w].connection || read_on(admitted_[w].connection, &word, 1, &read) == 0) continue;
      admitted_[w].connection = Connection();
      throw Error("Worker " + std::to_string(w) + " has gone while the workers were meeting.");
    }
  }

  Agreement agree() {
    std::vector<RunFactsText> facts;
    std::vector<int> replicas_of;
    for (const Peer& peer : admitted_) {
      facts.push_back(peer.greeting.facts);
      replicas_of.push_back(peer.greeting.replicas);
    }
    if (const std::string other = first_difference(facts); !other.empty()) throw Error(other);
    Agreement agreement;
    agreement.place = words_.place;
    const std::vector<int> first = first_replicas(replicas_of, &agreement.place.replicas);
    agreement.place.first_replica = 0;
    LOCKSTEP_CHECK(ncclGetUniqueId(&agreement.id));
    std::vector<Connection> lines(admitted_.size());
    for (std::size_t w = 1; w < admitted_.size(); ++w) {
      Answer answer;
      answer.kind = Answer::Kind::agreed;
      answer.first_replica = first[w];
      answer.replicas = agreement.place.replicas;
      std::copy(std::begin(agreement.id.internal), std::end(agreement.id.internal), answer.id.begin());
      pad(words_.secret, admitted_[w].challenge, admitted_[w].greeting, answer.id);
      if (!send_answer(admitted_[w], answer, "")) throw Error("Worker " + std::to_string(w) + " has gone while the workers were meeting.");
      lines[w] = std::move(admitted_[w].connection);
    }
    agreement.lines = std::make_shared<Lines>(std::move(lines));
    return agreement;
  }

  bool send_answer(const Peer& peer, Answer answer, const std::string& text) const {
    text.copy(answer.text.data(), answer.text.size() - 1);
    answer.proof = proof_of(words_.secret, peer.challenge, peer.greeting, answer);
    return send_whole(peer.connection, &answer, sizeof(answer));
  }
  void answer_all(const Answer& answer, const std::string& text) const {
    for (const Peer& peer : admitted_)
      if (peer.connection) send_answer(peer, answer, text);
  }

  const MeetingWords& words_;
  const Clock::time_point deadline_;
  Connection listener_;
  std::deque<Peer> silent_;     // oldest first
  std::vector<Peer> admitted_;  // by worker
  int strangers_ = 0;
  bool full_ = false;  // no descriptor is left
};

// The side of another worker.
class OtherWorker {
 public:
  explicit OtherWorker(const MeetingWords& words)
      : words_(words), address_(parse_worker_address(words.where)), deadline_(after(words.deadline_seconds)) {}

  Agreement run() {
    while (true) {
      if (std::optional<Agreement> agreement = try_once()) return std::move(*agreement);
      std::this_thread::sleep_for(kRetry);
    }
  }

 private:
  [[noreturn]] void too_late() const { throw Error("Worker 0 did not answer" + before_the_deadline(words_.where)); }

  // Until all bytes are there; false when the connection ends before.
  bool receive(void* data, std::size_t bytes) {
    std::size_t read = 0;
    while (true) {
      if (Clock::now() >= deadline_) too_late();
      const int state = read_on(line_, data, bytes, &read);
      if (state != 0) return state > 0;
      std::vector<pollfd> one{{line_.get(), POLLIN, 0}};
      poll_a_while(one);
    }
  }

  bool connect() {
    check_launcher();
    if (Clock::now() >= deadline_) too_late();
    line_ = Connection();
    line_ = address_.new_socket();
    if (!line_) return false;
    if (::connect(line_.get(), address_.get(), address_.size) == 0) return true;
    if (errno != EINPROGRESS && errno != EINTR) return false;
    int error = ETIMEDOUT;
    for (std::vector<pollfd> one{{line_.get(), POLLOUT, 0}}; Clock::now() < deadline_;) {
      poll_a_while(one);
      if (one[0].revents == 0) continue;
      socklen_t size = sizeof(error);
      getsockopt(line_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      break;
    }
    return error == 0;
  }

  // Nothing where worker 0 is not there yet, or had no room.
  std::optional<Agreement> try_once() {
    if (!connect() || !receive(&challenge_, sizeof(challenge_))) return std::nullopt;
    if (challenge_.magic != Challenge{}.magic)
      throw Error("What listens at LOCKSTEP_ADDRESS=" + words_.where + " is not worker 0 of a program of this version.");
    greeting_ = {};
    greeting_.worker = words_.place.worker;
    greeting_.workers = words_.place.workers;
    greeting_.replicas = words_.place.replicas;
    greeting_.facts = words_.facts;
    greeting_.nonce = new_nonce();
    greeting_.proof = proof_of(words_.secret, challenge_, greeting_);
    Answer answer;
    if (!send_whole(line_, &greeting_, sizeof(greeting_)) || !receive(&answer, sizeof(answer))) return std::nullopt;
    require_known(answer);
    if (answer.kind == Answer::Kind::admitted) {
      if (!receive(&answer, sizeof(answer))) throw Error("Worker 0 has gone while the workers were meeting.");
      require_known(answer);
    }
    if (answer.kind != Answer::Kind::agreed) throw Error(printable({answer.text.data(), strnlen(answer.text.data(), answer.text.size())}));
    Agreement agreement;
    agreement.place = {words_.place.worker, words_.place.workers, answer.first_replica, answer.replicas};
    pad(words_.secret, challenge_, greeting_, answer.id);
    std::copy(answer.id.begin(), answer.id.end(), std::begin(agreement.id.internal));
    std::vector<Connection> lines(1);
    lines[0] = std::move(line_);
    agreement.lines = std::make_shared<Lines>(std::move(lines));
    return agreement;
  }

  void require_known(const Answer& answer) const {
    if (answer.kind == Answer::Kind::unknown_secret)
      throw Error("Worker 0 at LOCKSTEP_ADDRESS=" + words_.where +
                  " has another secret: LOCKSTEP_SECRET must be the same for all workers.");
    if (!same(answer.proof, proof_of(words_.secret, challenge_, greeting_, answer)))
      throw Error("What answers at LOCKSTEP_ADDRESS=" + words_.where + " does not know the secret of this run (LOCKSTEP_SECRET).");
  }

  const MeetingWords& words_;
  const WorkerAddress address_;
  const Clock::time_point deadline_;
  Connection line_;
  Challenge challenge_;
  Greeting greeting_;
};

}  // namespace

int launcher_descriptor() {
  const char* text = std::getenv("LOCKSTEP_LAUNCHER");
  return text != nullptr && *text != '\0' ? std::atoi(text) : -1;
}

std::string words_of_launcher() {
  const int descriptor = launcher_descriptor();
  if (descriptor < 0) return "";
  std::array<char, 200> words{};  // left where they are: all who ask see them
  const auto got = recv(descriptor, words.data(), words.size(), MSG_PEEK | MSG_DONTWAIT);
  return got > 0 ? printable({words.data(), static_cast<std::size_t>(got)}) : "";
}

std::vector<int> first_replicas(const std::vector<int>& replicas_of, int* total) {
  std::vector<int> first;
  *total = 0;
  for (const int replicas : replicas_of) {
    first.push_back(*total);
    *total += replicas;
  }
  return first;
}

Agreement meet_as_first(const MeetingWords& words) { return FirstWorker(words).run(); }
Agreement meet_as_other(const MeetingWords& words) { return OtherWorker(words).run(); }

}  // namespace lockstep
