// Jupyter's messages as they travel: identities, a delimiter, a signature, and four parts of JSON (header, parent header, metadata,
// content).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::kernel {

using Parts = std::vector<std::string>;

struct Message {
  Parts identities;  // of the client, for the answer
  nlohmann::json header = nlohmann::json::object();
  nlohmann::json parent = nlohmann::json::object();
  nlohmann::json metadata = nlohmann::json::object();
  nlohmann::json content = nlohmann::json::object();

  std::string type() const { return header.value("msg_type", ""); }
};

class Wire {
 public:
  explicit Wire(std::string key) : key_(std::move(key)), session_(new_id()) {}

  Parts encode(const Message& message) const;
  std::optional<Message> decode(Parts parts) const;  // nothing: not signed with our key, or not a message
  // A message of the kernel that answers `parent`.
  Message make(const std::string& type, const Message& parent, nlohmann::json content) const;

  static std::string new_id();
  static std::string now();  // UTC, as Jupyter writes dates: 2026-01-31T23:59:59.000000Z

 private:
  std::string sign(const std::string* parts) const;  // four of them

  std::string key_, session_;
};

}  // namespace lockstep::kernel
