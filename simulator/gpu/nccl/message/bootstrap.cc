#include "simulator/gpu/nccl/message/bootstrap.h"

#include <algorithm>
#include <cstring>

#include "common/printable.h"
#include "simulator/gpu/nccl/message/listener.h"

namespace lockstep::sim::nccl {

namespace {

constexpr auto kAnswerTime = std::chrono::seconds(60);  // for a process that is running

// The root's reply; then the text, then the peers, then a proof.
struct Reply {
  std::uint32_t magic = 0x4c53'5201;
  std::int32_t code = 0;
  std::uint32_t text = 0;
  std::uint32_t ranks = 0;
  std::uint8_t ring = 0, tree = 0, direct = 0, shared_memory = 0;
  std::uint32_t unused = 0;
};
struct WirePeer {
  std::uint64_t process = 0;
  std::uint32_t ip = 0;
  std::uint32_t port = 0;
  std::int64_t device = 0;
};

}  // namespace

Result unknown_id() {
  return {ncclInvalidArgument, "the ncclUniqueId is unknown: it did not come from ncclGetUniqueId, or its ranks have met already"};
}

std::string reply_text(const Result& result, const PeerTable& table) {
  Reply reply;
  reply.code = static_cast<std::int32_t>(result.code);
  reply.text = static_cast<std::uint32_t>(result.text.size());
  reply.ranks = result.ok() ? static_cast<std::uint32_t>(table.peers.size()) : 0;
  reply.ring = table.allowed.ring;
  reply.tree = table.allowed.tree;
  reply.direct = table.direct;
  reply.shared_memory = table.shared_memory;
  std::string bytes = raw_bytes(reply) + result.text;
  for (std::uint32_t r = 0; r < reply.ranks; ++r) {
    const PeerInfo& peer = table.peers[r];
    bytes += raw_bytes(WirePeer{peer.process, peer.address.ip, peer.address.port, peer.device});
  }
  return bytes;
}

Result new_unique_id(bool listening, ncclUniqueId* id) {
  UniqueId content{own_process(), 0, {}, new_key()};
  if (listening) {
    if (Result opened = listener().open(&content.address); !opened.ok()) return opened;
  }
  content.serial = new_root();
  if (listening) listener().add_key(content.process, content.serial, content.key);
  *id = write_id(content);
  return {};
}

namespace {

Result read_reply(const Socket& socket, const std::string& key, const Hello& hello, const Deadline& deadline, PeerTable* table) {
  Reply reply;
  if (Result got = receive_all(socket, &reply, sizeof(reply), deadline); !got.ok()) return got;
  if (reply.magic != Reply{}.magic || reply.ranks > kMostRanks || reply.text > (1U << 20) || reply.code < 0 ||
      reply.code >= ncclNumResults) {
    return {ncclInternalError, "its reply does not follow the protocol"};
  }
  std::string bytes(sizeof(reply) + reply.text + reply.ranks * sizeof(WirePeer), '\0');
  std::memcpy(bytes.data(), &reply, sizeof(reply));
  if (Result got = receive_all(socket, bytes.data() + sizeof(reply), bytes.size() - sizeof(reply), deadline); !got.ok()) return got;
  Digest proof{};
  if (Result got = receive_all(socket, proof.data(), proof.size(), deadline); !got.ok()) return got;
  if (!same(proof, proof_of_reply(key, hello, bytes))) return unknown_id();  // the sender does not know the id, whatever the reply says
  if (reply.code != ncclSuccess) return {static_cast<ncclResult_t>(reply.code), printable({bytes.data() + sizeof(reply), reply.text})};
  table->allowed = {reply.ring != 0, reply.tree != 0};
  table->direct = reply.direct != 0;
  table->shared_memory = reply.shared_memory != 0;
  table->peers.clear();
  for (std::size_t r = 0; r < reply.ranks; ++r) {
    WirePeer peer;
    std::memcpy(&peer, bytes.data() + sizeof(reply) + reply.text + r * sizeof(peer), sizeof(peer));
    table->peers.push_back({peer.process, {peer.ip, static_cast<std::uint16_t>(peer.port)}, static_cast<int>(peer.device)});
  }
  return {};
}

}  // namespace

Bootstrap::Bootstrap(const ncclUniqueId& id) {
  if (!read_id(id, &id_)) {
    result_ = unknown_id();
  } else if (id_.process == own_process()) {
    root_ = find_root(id_.serial);
    if (root_ == nullptr) result_ = unknown_id();
  } else if (id_.address.port == 0) {
    result_ = {ncclInvalidArgument, "the ncclUniqueId was made by another process, which could not listen for connections"};
  } else {
    listener().add_key(id_.process, id_.serial, id_.key);
  }
}

void Bootstrap::join(int ranks, int rank, int device, const Deadline& deadline) {
  if (!result_.ok()) return;
  PeerInfo peer{own_process(), {}, device};
  const bool alone = root_ != nullptr && id_.address.port == 0;
  if (!alone) result_ = listener().open(&peer.address);
  if (!result_.ok()) return;
  if (root_ != nullptr) return root_->join(ranks, rank, peer);
  hello_.ranks = ranks;
  hello_.process = id_.process;
  hello_.serial = id_.serial;
  hello_.from = rank;
  hello_.joiner_process = peer.process;
  hello_.joiner_ip = peer.address.ip;
  hello_.joiner_port = peer.address.port;
  hello_.joiner_device = device;
  const Deadline soon{std::min(deadline.until, Clock::now() + kAnswerTime), deadline.cancelled};
  result_ = connect_with_hello(id_.address, id_.key, soon, &hello_, &connection_);
  if (!result_.ok()) result_.text = "the process that made the ncclUniqueId can't be reached: " + result_.text;
}

Result Bootstrap::wait(PeerTable* table, const Deadline& deadline) {
  if (!result_.ok()) return result_;
  if (root_ != nullptr) return root_->wait(table, deadline);
  Result result = read_reply(connection_.socket, id_.key, hello_, deadline, table);
  if (result.code == ncclRemoteError && table->peers.empty() && result.text.find("rank ") == std::string::npos) {
    result.text = "the process that made the ncclUniqueId has gone: " + result.text;
  }
  return result;
}

}  // namespace lockstep::sim::nccl
