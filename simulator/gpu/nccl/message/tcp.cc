#include "simulator/gpu/nccl/message/tcp.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "common/printable.h"
#include "simulator/gpu/nccl/message/event_loop.h"

namespace lockstep::sim::nccl {

namespace {

constexpr std::size_t kMostBody = kChunkBytes;

bool again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

std::size_t size_of(const FrameHeader& header) { return sizeof(header) + header.bytes + sizeof(std::uint64_t); }

std::uint64_t tag_of(const SipKey& key, std::uint64_t number, const FrameHeader& header, const Chunk& body) {
  SipHash hash(key);
  hash.words(&number, 1);
  hash.words(&header, sizeof(header) / 8);
  return body != nullptr ? hash.finish(body->data(), body->size()) : hash.finish(nullptr);
}

}  // namespace

void Tcp::start(const std::shared_ptr<Receiver>& receiver) {
  receiver_ = receiver.get();
  network().watch(socket_.get(), POLLIN, [self = shared_from_this(), receiver](short events) {
    if ((events & POLLOUT) != 0) self->write_some();
    if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && self->socket_) self->read_some();
  });
}

void Tcp::send(const Flow& flow, Chunk chunk) {
  FrameHeader header;
  header.bytes = static_cast<std::uint32_t>(chunk->size());
  header.flow_kind = static_cast<std::uint32_t>(flow.kind);
  header.from = flow.from;
  header.to = flow.to;
  put(header, std::move(chunk));
}

void Tcp::acknowledge(const Flow& flow, std::size_t bytes) {
  FrameHeader header;
  header.kind = FrameHeader::Kind::acknowledge;
  header.flow_kind = static_cast<std::uint32_t>(flow.kind);
  header.from = flow.from;
  header.to = flow.to;
  header.value = bytes;
  put(header, nullptr);
}

void Tcp::notify(const Notice& notice) {
  FrameHeader header;
  header.kind = notice.kind == Notice::Kind::failed ? FrameHeader::Kind::failed : FrameHeader::Kind::departed;
  header.from = notice.rank;
  header.code = static_cast<std::int32_t>(notice.code);
  const Chunk text = make_chunk(std::min(notice.text.size(), kMostBody));
  std::memcpy(text->data(), notice.text.data(), text->size());
  header.bytes = static_cast<std::uint32_t>(text->size());
  put(header, text);
}

void Tcp::put(const FrameHeader& header, Chunk body) {
  if (!socket_ || closing_) return;
  const std::uint64_t tag = tag_of(sends_, sent_++, header, body);
  outgoing_.push_back({header, std::move(body), tag});
  if (!writing_) write_some();
}

void Tcp::close() {
  closing_ = true;
  if (socket_ && outgoing_.empty()) end("");
}

void Tcp::watch_for_writing(bool yes) {
  if (writing_ == yes) return;
  writing_ = yes;
  network().change(socket_.get(), static_cast<short>(yes ? POLLIN | POLLOUT : POLLIN));
}

void Tcp::write_some() {
  while (!outgoing_.empty()) {
    std::array<iovec, 32> pieces{};
    std::size_t used = 0;
    std::size_t skip = written_;
    const auto add = [&](const void* data, std::size_t bytes) {
      const std::size_t skipped = std::min(skip, bytes);
      skip -= skipped;
      if (bytes > skipped) pieces[used++] = {const_cast<std::byte*>(static_cast<const std::byte*>(data)) + skipped, bytes - skipped};
    };
    for (auto frame = outgoing_.begin(); frame != outgoing_.end() && used + 3 <= pieces.size(); ++frame) {
      add(&frame->header, sizeof(frame->header));
      if (frame->body != nullptr) add(frame->body->data(), frame->body->size());
      add(&frame->tag, sizeof(frame->tag));
    }
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = used;
    const auto sent = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (again()) return watch_for_writing(true);
      // Reading finds the end of the connection, after what the other end has sent before it.
      outgoing_.clear();
      written_ = 0;
      return watch_for_writing(false);
    }
    written_ += static_cast<std::size_t>(sent);
    while (!outgoing_.empty() && written_ >= size_of(outgoing_.front().header)) {
      written_ -= size_of(outgoing_.front().header);
      outgoing_.pop_front();
    }
  }
  watch_for_writing(false);
  if (closing_) end("");
}

void Tcp::read_some() {
  const auto keep = shared_from_this();
  // A bounded share of the thread's time for each connection.
  for (int frames = 0; frames < 64 && socket_;) {
    std::byte* to = nullptr;
    std::size_t wanted = 0;
    if (read_ < sizeof(header_)) {
      to = reinterpret_cast<std::byte*>(&header_) + read_;
      wanted = sizeof(header_) - read_;
    } else if (const std::size_t of_body = read_ - sizeof(header_); of_body < header_.bytes) {
      to = body_->data() + of_body;
      wanted = header_.bytes - of_body;
    } else {
      to = reinterpret_cast<std::byte*>(&tag_) + (of_body - header_.bytes);
      wanted = size_of(header_) - read_;
    }
    if (wanted > 0) {
      const auto got = recv(socket_.get(), to, wanted, MSG_DONTWAIT);
      if (got == 0) return end("its connection has ended");
      if (got < 0) {
        if (errno == EINTR) continue;
        if (again()) return;
        return end(std::string("its connection has ended: ") + std::strerror(errno));
      }
      read_ += static_cast<std::size_t>(got);
    }
    if (read_ < sizeof(header_)) continue;
    if (read_ == sizeof(header_) && body_ == nullptr) {
      if (header_.bytes > kMostBody) return end("a message on its connection does not follow the protocol");
      body_ = make_chunk(header_.bytes);
    }
    if (read_ < size_of(header_)) continue;
    read_ = 0;
    ++frames;
    if (tag_ != tag_of(receives_, received_++, header_, body_)) return end("a message on its connection has a wrong authentication tag");
    if (!dispatch()) return end("a message on its connection does not follow the protocol");
  }
}

bool Tcp::dispatch() {
  const Chunk body = std::exchange(body_, nullptr);
  const auto is_rank = [this](std::int32_t rank) { return rank >= 0 && rank < ranks_; };
  if (header_.flow_kind > static_cast<std::uint32_t>(FlowKind::transfer) || !is_rank(header_.from) || !is_rank(header_.to)) return false;
  const Flow flow{static_cast<FlowKind>(header_.flow_kind), header_.from, header_.to};
  const auto text = [&body] { return printable({reinterpret_cast<const char*>(body->data()), body->size()}); };
  switch (header_.kind) {
    case FrameHeader::Kind::data:
      receiver_->deliver(flow, body);
      return true;
    case FrameHeader::Kind::acknowledge:
      receiver_->acknowledged(flow, header_.value);
      return true;
    case FrameHeader::Kind::failed:
      if (header_.code <= ncclSuccess || header_.code >= ncclNumResults) return false;
      receiver_->notified({Notice::Kind::failed, header_.from, static_cast<ncclResult_t>(header_.code), text()});
      return true;
    case FrameHeader::Kind::departed:
      receiver_->notified({Notice::Kind::departed, header_.from, ncclSuccess, text()});
      return true;
  }
  return false;
}

void Tcp::end(const std::string& why) {
  const auto keep = shared_from_this();
  Receiver* const receiver = std::exchange(receiver_, nullptr);
  network().unwatch(socket_.get());
  socket_.reset();
  outgoing_.clear();
  if (receiver != nullptr && !closing_) receiver->lost(endpoint_, why);
}

}  // namespace lockstep::sim::nccl
