#include "engine/data/download.h"

#include <fstream>
#include <memory>
#include <random>
#include <system_error>

#ifdef LOCKSTEP_HAS_CURL
#include <curl/curl.h>
#endif

#include "common/sha256.h"

namespace lockstep {

#ifdef LOCKSTEP_HAS_CURL
namespace {

constexpr long kConnectSeconds = 4;
constexpr long kStalledSeconds = 8;  // this long below kSlowest bytes a second
constexpr long kSlowest = 1024;
constexpr long kLongestSeconds = 300;

// What arrives goes here first, in the destination's folder so that the last move is a rename; removed unless kept.
class PartialFile {
 public:
  explicit PartialFile(const std::filesystem::path& destination)
      : path_(destination.string() + ".part-" + std::to_string(std::random_device{}())),
        stream_(path_, std::ios::binary | std::ios::trunc) {
    if (!stream_) throw Error(path_.string() + ": can't be written");
  }
  ~PartialFile() {
    std::error_code ignored;
    stream_.close();
    std::filesystem::remove(path_, ignored);
  }
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  bool write(const char* data, std::size_t bytes) { return static_cast<bool>(stream_.write(data, static_cast<std::streamsize>(bytes))); }
  void keep_as(const std::filesystem::path& destination) {
    stream_.close();
    if (!stream_) throw Error(path_.string() + ": can't be written");
    std::filesystem::rename(path_, destination);
  }

 private:
  std::filesystem::path path_;
  std::ofstream stream_;
};

struct Receiver {
  PartialFile* file;
  std::uint64_t left;
  Sha256 sha;
  bool too_long = false;
};

std::size_t receive(char* data, std::size_t size, std::size_t count, void* receiver) {
  auto& to = *static_cast<Receiver*>(receiver);
  const std::size_t bytes = size * count;
  to.too_long = bytes > to.left;
  if (to.too_long || !to.file->write(data, bytes)) return 0;  // tells curl to stop
  to.left -= bytes;
  to.sha.update(data, bytes);
  return bytes;
}

bool is_unreachable(CURLcode code) {
  return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_COULDNT_CONNECT ||
         code == CURLE_OPERATION_TIMEDOUT || code == CURLE_GOT_NOTHING || code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR;
}

void restrict_protocols(CURL* curl) {
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,file");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "https");
#else
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTPS | CURLPROTO_FILE));
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS, static_cast<long>(CURLPROTO_HTTPS));
#endif
}

}  // namespace

bool can_download() { return true; }

void download(const Download& what, const std::filesystem::path& destination) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);  // once in a process
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(started == CURLE_OK ? curl_easy_init() : nullptr, curl_easy_cleanup);
  if (!curl) throw Unreachable("libcurl could not be started");

  PartialFile file(destination);
  Receiver receiver{&file, what.bytes, {}};
  char reason[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(curl.get(), CURLOPT_URL, what.url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, receive);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &receiver);
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, reason);
  curl_easy_setopt(curl.get(), CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_TIME, kStalledSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_LIMIT, kSlowest);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, kLongestSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_USERAGENT, "lockstep");
  restrict_protocols(curl.get());

  const CURLcode code = curl_easy_perform(curl.get());
  if (receiver.too_long) throw Error(what.url + ": sent more than the " + std::to_string(what.bytes) + " bytes this file has; discarded");
  if (code != CURLE_OK) {
    const std::string sentence = what.url + ": " + (reason[0] ? reason : curl_easy_strerror(code));
    if (is_unreachable(code)) throw Unreachable(sentence);
    throw Error(sentence);
  }
  if (const std::string sum = receiver.sha.hex(); sum != what.sha256) {
    throw Error(what.url + ": sent a file with SHA-256 " + sum + ", which should be " + what.sha256 + "; discarded");
  }
  try {
    file.keep_as(destination);
  } catch (const std::filesystem::filesystem_error& error) {
    throw Error(destination.string() + ": can't be put in place: " + error.code().message());
  }
}

#else

bool can_download() { return false; }

void download(const Download& what, const std::filesystem::path&) {
  throw Unreachable(what.url + ": this program was built without libcurl");
}

#endif

}  // namespace lockstep
