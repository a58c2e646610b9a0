// Zip files as numpy writes them (.npz): members stored or deflated, also in the zip64 form. Read from the central directory at the end of
// the file; after PKWARE's APPNOTE.TXT, sections 4.3 to 4.5.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/data/files/input_file.h"

namespace lockstep {

class ZipArchive {
 public:
  struct Member {
    std::string name;
    std::uint64_t local_header = 0;  // where its own header stands
    std::uint64_t compressed = 0;
    std::uint64_t size = 0;
    std::uint32_t crc = 0;
    std::uint16_t method = 0;
    std::uint16_t flags = 0;
  };

  explicit ZipArchive(const std::filesystem::path& path);

  const std::vector<Member>& members() const { return members_; }
  std::vector<unsigned char> read(const Member& member);  // checks sizes and checksum
  const InputFile& file() const { return file_; }

 private:
  struct Directory {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint64_t entries = 0;
  };
  Directory find_directory();
  void read_directory(const Directory& directory);

  InputFile file_;
  std::vector<Member> members_;
};

}  // namespace lockstep
