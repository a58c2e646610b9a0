#include "engine/data/files/npz.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/data/files/zip_archive.h"

namespace lockstep {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr std::uint64_t kLargestListBytes = std::uint64_t{64} << 20;  // Reuters has 7; lists in memory take far more than in the file

bool is_array(const ZipArchive::Member& member) {
  return member.name.size() >= kSuffix.size() && std::string_view(member.name).substr(member.name.size() - kSuffix.size()) == kSuffix;
}

const ZipArchive::Member* find(const ZipArchive& archive, const std::string& name) {
  const std::string file_name = name + std::string(kSuffix);
  const auto& members = archive.members();
  const auto found = std::find_if(members.begin(), members.end(), [&](const auto& member) { return member.name == file_name; });
  return found == members.end() ? nullptr : &*found;
}

std::string title(const ZipArchive& archive, const std::string& name) { return archive.file().name() + ", array `" + name + "`"; }

std::vector<unsigned char> contents(ZipArchive& archive, const std::string& name, std::uint64_t most) {
  const ZipArchive::Member* member = find(archive, name);
  if (!member) archive.file().fail("holds no array `" + name + "`");
  constexpr std::uint64_t kHeader = 4096;
  if (member->size > most + kHeader)
    archive.file().fail("array `" + name + "` claims " + std::to_string(member->size) + " bytes, more than the " + std::to_string(most) +
                        " that it may have");
  return archive.read(*member);
}

}  // namespace

Npz::Npz(std::unique_ptr<ZipArchive> archive) : archive_(std::move(archive)) {}
Npz::~Npz() = default;
Npz::Npz(Npz&&) noexcept = default;
Npz& Npz::operator=(Npz&&) noexcept = default;

Npz Npz::open(const std::filesystem::path& path) { return Npz(std::make_unique<ZipArchive>(path)); }

std::vector<std::string> Npz::names() const {
  std::vector<std::string> names;
  for (const auto& member : archive_->members()) {
    if (is_array(member)) names.push_back(member.name.substr(0, member.name.size() - kSuffix.size()));
  }
  return names;
}

bool Npz::contains(const std::string& name) const { return find(*archive_, name) != nullptr; }

NpyArray Npz::array(const std::string& name, std::uint64_t most) {
  return parse_npy(title(*archive_, name), contents(*archive_, name, most));
}

std::vector<std::vector<std::int32_t>> Npz::lists(const std::string& name) {
  return parse_npy_lists(title(*archive_, name), contents(*archive_, name, kLargestListBytes));
}

}  // namespace lockstep
