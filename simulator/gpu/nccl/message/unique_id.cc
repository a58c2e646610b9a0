#include "simulator/gpu/nccl/message/unique_id.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <random>

#include "common/sha256.h"

namespace lockstep::sim::nccl {

namespace {

constexpr const char* kFormat = "lockstep:%016llx:%llx:%08x:%04x:%s";
constexpr const char* kReadFormat = "lockstep:%16llx:%16llx:%8x:%4x:%32[0-9a-f]";
constexpr std::size_t kKeyDigits = 32;

}  // namespace

bool read_id(const ncclUniqueId& id, UniqueId* content) {
  std::string text(id.internal, strnlen(id.internal, sizeof(id.internal)));
  unsigned long long process = 0;
  unsigned long long serial = 0;
  unsigned ip = 0;
  unsigned port = 0;
  std::array<char, kKeyDigits + 1> key{};
  if (std::sscanf(text.c_str(), kReadFormat, &process, &serial, &ip, &port, key.data()) != 5 || process == 0) return false;
  *content = {process, serial, {ip, static_cast<std::uint16_t>(port)}, key.data()};
  return content->key.size() == kKeyDigits;
}

ncclUniqueId write_id(const UniqueId& content) {
  ncclUniqueId id{};
  std::snprintf(id.internal, sizeof(id.internal), kFormat, static_cast<unsigned long long>(content.process),
                static_cast<unsigned long long>(content.serial), content.address.ip, static_cast<unsigned>(content.address.port),
                content.key.c_str());
  return id;
}

std::string new_key() { return hexadecimal(random_bytes(kKeyDigits / 2)); }

std::uint64_t own_process() {
  static const std::uint64_t number = [] {
    std::random_device random;
    std::uint64_t drawn = 0;
    while (drawn == 0) drawn = (static_cast<std::uint64_t>(random()) << 32) | random();
    return drawn;
  }();
  return number;
}

}  // namespace lockstep::sim::nccl
