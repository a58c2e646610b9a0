// Zip files with stored members, as Keras writes ".keras"; after PKWARE's APPNOTE.TXT, sections 4.3 and 4.4. ZipArchive reads them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/io/atomic_file.h"

namespace lockstep {

class ZipWriter {
 public:
  void add(const std::string& name, const Bytes& bytes);
  void add(const std::string& name, const std::string& text);
  Bytes finish();  // members and the directory behind them

 private:
  struct Member {
    std::string name;
    std::uint32_t crc, size, offset;
  };
  Bytes bytes_;
  std::vector<Member> members_;
};

}  // namespace lockstep
