// One file fetched over https, checked for size and SHA-256, and moved into place: half a file is never there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "lockstep/error.h"

namespace lockstep {

struct Download {
  std::string url;      // https://..., or file://...
  std::uint64_t bytes;  // no more than these are taken
  std::string sha256;
};

// The network, or the server, is not there (rather than: it gave something wrong).
class Unreachable : public Error {
 public:
  using Error::Error;
};

// False when built without libcurl; then every download is Unreachable.
bool can_download();

void download(const Download& what, const std::filesystem::path& destination);

}  // namespace lockstep
