// load_reuters: finding reuters.npz, then what keras.datasets.reuters.load_data does with it, step by step.
#include <algorithm>
#include <filesystem>
#include <optional>

#include "engine/data/download.h"
#include "engine/data/files/npz.h"
#include "engine/data/legacy_random.h"
#include "engine/data/places.h"
#include "lockstep/sequences.h"

namespace lockstep {

namespace fs = std::filesystem;

struct ReutersLoader {
  const ReutersOptions& options;

  struct File {
    fs::path path;
    std::string source;
  };

  // Keras' own copy.
  static Download keras_file() {
    return {"https://storage.googleapis.com/tensorflow/tf-keras-datasets/reuters.npz", 2110848,
            "d6586e694ee56d7a4e65172e12b3e987c03096cb01eab99753921ef915959916"};
  }

  static bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
  }

  std::string fetch(const fs::path& folder) const {
    if (folder.empty()) return "there is no folder to download to (HOME is not set)";
    if (!options.allow_download_) return "downloads are switched off";
    if (is_offline()) return "downloads are switched off (LOCKSTEP_OFFLINE)";
    try {
      fs::create_directories(folder);
      download(keras_file(), folder / "reuters.npz");
    } catch (const std::exception& error) {
      return std::string("it could not be downloaded (") + error.what() + ")";
    }
    return {};
  }

  File find() const {
    for (const fs::path& folder : data_places(options.directory_, "reuters")) {
      if (is_there(folder / "reuters.npz")) return {folder / "reuters.npz", "from " + (folder / "reuters.npz").string()};
    }
    const fs::path folder = download_folder("reuters");
    if (!folder.empty() && is_there(folder / "reuters.npz")) return {folder / "reuters.npz", "from " + (folder / "reuters.npz").string()};
    if (const std::string why = fetch(folder); !why.empty()) {
      throw Error("reuters.npz was not found, and " + why + ". Put it into ./data or ~/.keras/datasets, or let LOCKSTEP_DATA name its " +
                  "folder; Keras has it at " + keras_file().url);
    }
    return {folder / "reuters.npz", "downloaded from " + keras_file().url + " to " + folder.string()};
  }

  Reuters load() const {
    if (!(options.test_split_ >= 0 && options.test_split_ <= 1)) throw Error("load_reuters: test_split must be between 0 and 1");
    const File file = find();
    Npz npz = Npz::open(file.path);
    const Sequences stored = npz.lists("x");
    const NpyArray topics = npz.array("y");
    const std::vector<std::int64_t> labels = topics.as<std::int64_t>();
    if (labels.size() != stored.size() || stored.empty()) {
      throw Error(topics.name + ": has " + std::to_string(labels.size()) + " labels for " + std::to_string(stored.size()) + " newswires");
    }

    Sequences texts;
    std::vector<std::int32_t> kept;
    for (const std::uint32_t i : legacy_permutation(options.seed_, stored.size())) {
      if (labels[i] < 0 || labels[i] > INT32_MAX) throw Error(topics.name + ": label " + std::to_string(i) + " is not a topic's number");
      std::vector<std::int32_t> text = shifted(stored[i], file.path.string());
      if (options.maxlen_ > 0 && static_cast<std::int64_t>(text.size()) >= options.maxlen_) continue;
      texts.push_back(std::move(text));
      kept.push_back(static_cast<std::int32_t>(labels[i]));
    }
    if (texts.empty()) throw Error("load_reuters: no newswire is shorter than maxlen " + std::to_string(options.maxlen_));
    replace_unknown(texts);
    return split(std::move(texts), kept, "Reuters newswires, " + file.source);
  }

  std::vector<std::int32_t> shifted(const std::vector<std::int32_t>& ranks, const std::string& name) const {
    std::vector<std::int32_t> text;
    text.reserve(ranks.size() + 1);
    text.push_back(options.start_char_);
    for (const std::int32_t rank : ranks) {
      const std::int64_t id = std::int64_t{rank} + options.index_from_;
      if (rank < 0 || id < 0 || id > INT32_MAX) throw Error(name + ": a word has the number " + std::to_string(rank));
      text.push_back(static_cast<std::int32_t>(id));
    }
    return text;
  }

  // Without num_words Keras takes the largest number, and so leaves out the one word that has it.
  void replace_unknown(Sequences& texts) const {
    std::int32_t words = options.num_words_;
    if (words <= 0) {
      for (const auto& text : texts) words = std::max(words, *std::max_element(text.begin(), text.end()));
    }
    for (auto& text : texts) {
      for (std::int32_t& id : text)
        if (id < options.skip_top_ || id >= words) id = options.oov_char_;
    }
  }

  Reuters split(Sequences texts, const std::vector<std::int32_t>& labels, std::string source) const {
    const auto at = static_cast<std::ptrdiff_t>(static_cast<double>(texts.size()) * (1 - options.test_split_));
    const auto array = [](auto first, auto last) { return Array(Shape{last - first}, std::vector<std::int32_t>(first, last)); };
    Reuters reuters;
    reuters.y_train = array(labels.begin(), labels.begin() + at);
    reuters.y_test = array(labels.begin() + at, labels.end());
    const auto middle = std::make_move_iterator(texts.begin() + at);
    reuters.x_test.assign(middle, std::make_move_iterator(texts.end()));
    texts.resize(static_cast<std::size_t>(at));
    reuters.x_train = std::move(texts);
    reuters.source = std::move(source);
    return reuters;
  }
};

Reuters load_reuters(const ReutersOptions& options) { return ReutersLoader{options}.load(); }

}  // namespace lockstep
