#include "npz.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "zip_archive.h"

namespace lockstep {
namespace {

constexpr std::string_view kSuffix = ".npy";

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

std::vector<unsigned char> contents(ZipArchive& archive, const std::string& name) {
  const ZipArchive::Member* member = find(archive, name);
  if (!member) archive.file().fail("holds no array `" + name + "`");
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

NpyArray Npz::array(const std::string& name) { return parse_npy(title(*archive_, name), contents(*archive_, name)); }

std::vector<std::vector<std::int32_t>> Npz::lists(const std::string& name) {
  return parse_npy_lists(title(*archive_, name), contents(*archive_, name));
}

}  // namespace lockstep
