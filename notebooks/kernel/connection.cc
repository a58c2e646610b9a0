#include "notebooks/kernel/connection.h"

#include <zmq.h>

#include <fstream>
#include <stdexcept>
#include <thread>

namespace lockstep::kernel {

Socket::Socket(void* context, int type, const std::string& address) : socket_(zmq_socket(context, type)) {
  const int none = 0;
  const int wait = 1000;
  zmq_setsockopt(socket_, ZMQ_SNDHWM, &none, sizeof none);  // what is published is not dropped
  zmq_setsockopt(socket_, ZMQ_RCVHWM, &none, sizeof none);
  zmq_setsockopt(socket_, ZMQ_LINGER, &wait, sizeof wait);
  if (type == ZMQ_ROUTER) {
    const int yes = 1;
    zmq_setsockopt(socket_, ZMQ_ROUTER_HANDOVER, &yes, sizeof yes);  // a client that comes back
  }
  if (zmq_bind(socket_, address.c_str()) != 0) throw std::runtime_error("no socket at " + address + ": " + zmq_strerror(zmq_errno()));
}

Socket::~Socket() { zmq_close(socket_); }

void Socket::send(const Parts& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const int more = i + 1 < parts.size() ? ZMQ_SNDMORE : 0;
    while (zmq_send(socket_, parts[i].data(), parts[i].size(), more) < 0 && zmq_errno() == EINTR) {
    }
  }
}

std::optional<Parts> Socket::receive(int milliseconds) {
  zmq_pollitem_t wait{socket_, 0, ZMQ_POLLIN, 0};
  if (zmq_poll(&wait, 1, milliseconds) <= 0) return std::nullopt;
  Parts parts;
  for (bool more = true; more;) {
    zmq_msg_t part;
    zmq_msg_init(&part);
    if (zmq_msg_recv(&part, socket_, 0) >= 0) {
      parts.emplace_back(static_cast<const char*>(zmq_msg_data(&part)), zmq_msg_size(&part));
      more = zmq_msg_more(&part) != 0;
    } else if (zmq_errno() != EINTR) {
      more = false;
    }
    zmq_msg_close(&part);
  }
  return parts;
}

Connection::Connection(const std::string& file) : context_(zmq_ctx_new()) {
  std::ifstream stream(file);
  const nlohmann::json given = nlohmann::json::parse(stream, nullptr, false);
  if (!given.is_object()) throw std::runtime_error(file + " is not a connection file of Jupyter");
  const std::string scheme = given.value("signature_scheme", "hmac-sha256");
  if (scheme != "hmac-sha256") throw std::runtime_error("messages signed by " + scheme + " are not supported; hmac-sha256 is");
  wire_ = std::make_unique<Wire>(given.value("key", ""));
  const auto make = [&](int type, const char* port) {
    const std::string transport = given.at("transport"), ip = given.at("ip");
    const std::string number = std::to_string(given.at(port).get<int>());
    return std::make_unique<Socket>(context_, type, transport + "://" + ip + (transport == "ipc" ? "-" : ":") + number);
  };
  shell_ = make(ZMQ_ROUTER, "shell_port");
  control_ = make(ZMQ_ROUTER, "control_port");
  input_ = make(ZMQ_ROUTER, "stdin_port");
  published_ = make(ZMQ_PUB, "iopub_port");
  heartbeat_ = make(ZMQ_REP, "hb_port");
  std::thread([this] { answer_heartbeats(); }).detach();
}

// The heartbeat's thread never returns from its socket, so the process ends with _exit, after all messages are sent.
Connection::~Connection() {
  for (auto* one : {&shell_, &control_, &input_, &published_}) one->reset();
}

void Connection::answer_heartbeats() {
  for (;;) {
    if (const std::optional<Parts> beat = heartbeat_->receive(-1)) heartbeat_->send(*beat);
  }
}

Socket& Connection::socket(Channel channel) {
  return channel == Channel::shell ? *shell_ : channel == Channel::control ? *control_ : *input_;
}

std::optional<Message> Connection::receive(Channel channel, int milliseconds) {
  const std::optional<Parts> parts = socket(channel).receive(milliseconds);
  return parts ? wire_->decode(*parts) : std::nullopt;
}

void Connection::reply(Channel channel, const Message& request, const std::string& type, nlohmann::json content) {
  socket(channel).send(wire_->encode(wire_->make(type, request, std::move(content))));
}

void Connection::publish(const Message& parent, const std::string& type, nlohmann::json content) {
  Message message = wire_->make(type, parent, std::move(content));
  message.identities = {type};  // the topic
  const Parts parts = wire_->encode(message);
  const std::lock_guard hold(publishing_);
  published_->send(parts);
}

}  // namespace lockstep::kernel
