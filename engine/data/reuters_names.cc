#include "lockstep/reuters_names.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/data/places.h"
#include "lockstep/error.h"

namespace lockstep {

std::vector<std::string> reuters_label_names() {
  return {"cocoa",     "grain",        "veg-oil", "earn",       "acq",      "wheat",    "copper",
          "housing",   "money-supply", "coffee",  "sugar",      "trade",    "reserves", "ship",
          "cotton",    "carcass",      "crude",   "nat-gas",    "cpi",      "money-fx", "interest",
          "gnp",       "meal-feed",    "alum",    "oilseed",    "gold",     "tin",      "strategic-metal",
          "livestock", "retail",       "ipi",     "iron-steel", "rubber",   "heat",     "jobs",
          "lei",       "bop",          "zinc",    "orange",     "pet-chem", "dlr",      "gas",
          "silver",    "wpi",          "hog",     "lead"};
}

std::vector<std::string> reuters_words(const std::string& directory) {
  constexpr std::size_t kIndexFrom = 3, kMostWords = 1 << 20;
  for (const std::filesystem::path& folder : data_places(directory, "reuters")) {
    const std::filesystem::path file = folder / "reuters_word_index.json";
    std::ifstream in(file);
    if (!in) continue;
    const nlohmann::json index = nlohmann::json::parse(in, nullptr, false);
    if (!index.is_object()) throw Error(file.string() + " is damaged: it should be a JSON object of words and their numbers.");
    std::vector<std::string> words = {"", "[start]", "[?]"};
    for (const auto& [word, number] : index.items()) {
      if (!number.is_number_unsigned() || number.get<std::size_t>() > kMostWords) continue;
      const std::size_t place = number.get<std::size_t>() + kIndexFrom;
      if (words.size() <= place) words.resize(place + 1);
      words[place] = word;
    }
    return words;
  }
  return {};
}

}  // namespace lockstep
