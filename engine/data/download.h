// One file fetched over https, checked against what it must be, put in place in one move: nobody ever sees half of it.
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
