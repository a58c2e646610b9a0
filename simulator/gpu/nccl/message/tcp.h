// Messages between processes: frames on one TCP connection for each pair of endpoints. When a process ends, so do its connections.
// Each frame ends with a tag of its number and bytes under the connection's key (handshake.h): a frame that another process put into the
// connection, or that came twice, ends it.
#pragma once

#include <deque>
#include <memory>

#include "simulator/gpu/nccl/message/handshake.h"
#include "simulator/gpu/nccl/message/transport.h"

namespace lockstep::sim::nccl {

// What precedes the bytes of a frame. Both ends are x86-64 Linux, so the byte order is the same.
struct FrameHeader {
  enum class Kind : std::uint32_t { data = 0x4c53'0001, acknowledge, failed, departed };
  Kind kind = Kind::data;
  std::uint32_t bytes = 0;  // that follow
  std::uint32_t flow_kind = 0;
  std::int32_t from = 0;  // departed: the rank
  std::int32_t to = 0;
  std::int32_t code = 0;
  std::uint64_t value = 0;  // acknowledge: how many bytes
};
static_assert(sizeof(FrameHeader) == 32);

class Tcp : public Transport, public std::enable_shared_from_this<Tcp> {
 public:
  // `ranks` of the communicator; `endpoint` is the other end.
  Tcp(Connection connection, int ranks, int endpoint)
      : socket_(std::move(connection.socket)),
        sends_(connection.sends),
        receives_(connection.receives),
        ranks_(ranks),
        endpoint_(endpoint) {}

  // Frames go to the receiver from now on, until the connection ends; it is kept alive until then.
  void start(const std::shared_ptr<Receiver>& receiver);

  void send(const Flow& flow, Chunk chunk) override;
  void acknowledge(const Flow& flow, std::size_t bytes) override;
  void notify(const Notice& notice) override;
  void close() override;

 private:
  struct Frame {
    FrameHeader header;
    Chunk body;
    std::uint64_t tag = 0;
  };
  void put(const FrameHeader& header, Chunk body);
  void write_some();
  void read_some();
  bool dispatch();  // the frame that has come; false: it is not valid
  void end(const std::string& why);
  void watch_for_writing(bool yes);

  Socket socket_;
  const SipKey sends_, receives_;
  std::uint64_t sent_ = 0, received_ = 0;  // frames
  const int ranks_;
  const int endpoint_;
  Receiver* receiver_ = nullptr;  // kept by the watch on the socket

  std::deque<Frame> outgoing_;
  std::size_t written_ = 0;  // of the first frame, header included
  bool writing_ = false;     // whether the loop watches for room
  bool closing_ = false;

  FrameHeader header_;
  std::size_t read_ = 0;  // of the frame that is coming
  Chunk body_;
  std::uint64_t tag_ = 0;
};

}  // namespace lockstep::sim::nccl
