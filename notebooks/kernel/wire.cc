#include "notebooks/kernel/wire.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <random>

namespace lockstep::kernel {
namespace {

const std::string kDelimiter = "<IDS|MSG>";

std::string dumped(const nlohmann::json& value) { return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

}  // namespace

std::string Wire::new_id() {
  static thread_local std::mt19937_64 random{std::random_device{}()};
  char text[40];
  const auto high = static_cast<unsigned long long>(random()), low = static_cast<unsigned long long>(random());
  std::snprintf(text, sizeof text, "%016llx%016llx", high, low);
  return text;
}

std::string Wire::now() {
  timeval time{};
  gettimeofday(&time, nullptr);
  std::tm parts{};
  gmtime_r(&time.tv_sec, &parts);
  char day[32], text[48];
  std::strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text, sizeof text, "%s.%06ldZ", day, static_cast<long>(time.tv_usec));
  return text;
}

std::string Wire::sign(const std::string* parts) const {
  if (key_.empty()) return "";
  std::string whole;
  for (int i = 0; i < 4; ++i) whole += parts[i];
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()), reinterpret_cast<const unsigned char*>(whole.data()), whole.size(),
       digest.data(), &size);
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    char pair[3];
    std::snprintf(pair, sizeof pair, "%02x", digest[i]);
    text += pair;
  }
  return text;
}

Parts Wire::encode(const Message& message) const {
  Parts parts = message.identities;
  const std::string four[4] = {dumped(message.header), dumped(message.parent), dumped(message.metadata), dumped(message.content)};
  parts.push_back(kDelimiter);
  parts.push_back(sign(four));
  parts.insert(parts.end(), std::begin(four), std::end(four));
  return parts;
}

std::optional<Message> Wire::decode(Parts parts) const {
  const auto delimiter = std::find(parts.begin(), parts.end(), kDelimiter);
  if (parts.end() - delimiter < 6) return std::nullopt;
  const std::string signature = sign(&*(delimiter + 2));
  const std::string& given = *(delimiter + 1);
  if (given.size() != signature.size() || CRYPTO_memcmp(given.data(), signature.data(), signature.size()) != 0) return std::nullopt;
  Message message;
  message.identities.assign(parts.begin(), delimiter);
  nlohmann::json* const fields[4] = {&message.header, &message.parent, &message.metadata, &message.content};
  for (int i = 0; i < 4; ++i) {
    *fields[i] = nlohmann::json::parse(*(delimiter + 2 + i), nullptr, false);
    if (!fields[i]->is_object()) return std::nullopt;
  }
  return message;
}

Message Wire::make(const std::string& type, const Message& parent, nlohmann::json content) const {
  Message message;
  message.identities = parent.identities;
  message.header = {{"msg_id", new_id()}, {"session", session_}, {"username", "kernel"},
                    {"date", now()},      {"msg_type", type},    {"version", "5.3"}};
  message.parent = parent.header;
  message.content = std::move(content);
  return message;
}

}  // namespace lockstep::kernel
