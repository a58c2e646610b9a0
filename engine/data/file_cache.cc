// Dataset::cache(filename): the elements of epoch 0 in a file, made at the first use, read back by number afterwards.
//
// The file: "lockstep cache 1\n", then the number of elements and of bytes in a record, whether there are labels, and the description of
// x and y (type, extents); then records, all of one size. Shuffling behind it orders numbers only, as with arrays.
#include <cstring>
#include <fstream>
#include <mutex>
#include <random>
#include <sstream>

#include "engine/data/dataset_impl.h"
#include "engine/data/files/input_file.h"

namespace lockstep {
namespace {

constexpr const char* kMagic = "lockstep cache 1\n";
constexpr std::size_t kHeaderBytes = 512;

std::string describe(const Array& array) {
  if (array.raw() == nullptr) return "none";
  return (array.dtype() == DType::float32 ? "float32 " : "int32 ") + array.shape().str();
}

// Text, padded with spaces: a person can read it with `head`.
std::string header_of(std::int64_t elements, const Batch& first) {
  std::string header = kMagic + std::to_string(elements) + " elements\nx " + describe(first.x) + "\ny " + describe(first.y) + "\n";
  if (header.size() > kHeaderBytes) throw Error("Dataset::cache: elements with so many extents can't be kept in a file");
  header.resize(kHeaderBytes, ' ');
  return header;
}

class FileRows : public Rows {
 public:
  FileRows(const Dataset::Impl& input, std::string filename) : input_(&input), filename_(std::move(filename)) {}

  std::int64_t count() const override { return open().elements; }
  Shape sample_shape() const override { return open().first.x.shape(); }
  Batch gather(const std::vector<std::int64_t>& rows) const override {
    Opened& from = open();
    const std::lock_guard lock(mutex_);
    const auto n = static_cast<std::int64_t>(rows.size());
    Batch batch{Array(from.first.x.shape().batched(n), from.first.x.dtype()), Array()};
    const bool labelled = from.first.y.raw() != nullptr;
    if (labelled) batch.y = Array(from.first.y.shape().batched(n), from.first.y.dtype());
    const std::size_t x_bytes = from.first.x.bytes(), y_bytes = from.first.y.bytes();
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const std::uint64_t at = kHeaderBytes + static_cast<std::uint64_t>(rows[k]) * (x_bytes + y_bytes);
      from.file->read_at(at, static_cast<char*>(batch.x.raw()) + k * x_bytes, x_bytes);
      if (labelled) from.file->read_at(at + x_bytes, static_cast<char*>(batch.y.raw()) + k * y_bytes, y_bytes);
    }
    return batch;
  }

 private:
  struct Opened {
    std::int64_t elements = 0;
    Batch first;  // for types and shapes
    std::unique_ptr<InputFile> file;
  };

  Opened& open() const {
    const std::lock_guard lock(mutex_);
    if (opened_) return *opened_;
    const auto elements = input_->batch_stream(0);
    auto made = std::make_unique<Opened>();
    if (!elements->next(made->first)) throw Error("Dataset::cache: there is nothing to keep in " + filename_);
    std::error_code ignored;
    if (!std::filesystem::exists(filename_, ignored)) write(*elements, made->first);
    made->file = std::make_unique<InputFile>(filename_);
    made->elements = check(*made);
    opened_ = std::move(made);
    return *opened_;
  }

  // A new file beside it, then a rename: a run that is interrupted leaves nothing that the next one believes.
  void write(BatchStream& rest, const Batch& first) const {
    const std::string partial = filename_ + ".part-" + std::to_string(std::random_device{}());
    struct Remove {
      const std::string& name;
      ~Remove() {
        std::error_code ignored;
        std::filesystem::remove(name, ignored);
      }
    } const remove{partial};
    std::ofstream file(partial, std::ios::binary | std::ios::trunc);
    if (!file) throw Error(filename_ + ": can't be written; is its folder there?");
    file << header_of(0, first);
    std::int64_t elements = 0;
    Batch element = first;
    do {
      if (describe(element.x) != describe(first.x) || describe(element.y) != describe(first.y))
        throw Error("Dataset::cache: elements of different shapes (" + describe(first.x) + " and " + describe(element.x) +
                    ") can't be kept in a file; cache them before they are batched");
      if (!element.w.empty()) throw Error("Dataset::cache: weights of samples can't be kept in a file; use cache()");
      file.write(static_cast<const char*>(element.x.raw()), static_cast<std::streamsize>(element.x.bytes()));
      if (element.y.raw() != nullptr)
        file.write(static_cast<const char*>(element.y.raw()), static_cast<std::streamsize>(element.y.bytes()));
      ++elements;
    } while (rest.next(element));
    file.seekp(0);
    file << header_of(elements, first);
    file.close();
    if (!file) throw Error(filename_ + ": can't be written; is the disk full?");
    std::error_code error;
    std::filesystem::rename(partial, filename_, error);
    if (error) throw Error(filename_ + ": can't be put in place: " + error.message());
  }

  std::int64_t check(const Opened& opened) const {
    std::string header(kHeaderBytes, ' ');
    opened.file->read_at(0, header.data(), header.size());
    const std::string magic = kMagic;
    std::int64_t elements = -1;
    if (header.compare(0, magic.size(), magic) == 0) std::istringstream(header.substr(magic.size())) >> elements;
    const std::uint64_t record = opened.first.x.bytes() + opened.first.y.bytes();
    const bool ours = elements > 0 && header == header_of(elements, opened.first) &&
                      static_cast<std::uint64_t>(elements) <= opened.file->size() / std::max<std::uint64_t>(1, record) &&
                      opened.file->size() == kHeaderBytes + static_cast<std::uint64_t>(elements) * record;
    // Files that can't be decoded were left out when it was made, so it may have fewer elements than the recipe promises, never more.
    if (!ours || elements > input_->cardinality())
      throw Error(filename_ + ": this cache was made by another recipe, or is damaged. Fix: remove it, and it is made again");
    return elements;
  }

  const Dataset::Impl* input_;
  std::string filename_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Opened> opened_;
};

class FileCache : public DatasetStep {
 public:
  FileCache(DatasetPtr input, const std::string& filename) : DatasetStep(std::move(input)), rows_(this->input(), filename) {}

  std::int64_t cardinality() const override { return rows_.count(); }
  const Rows* rows() const override { return &rows_; }
  std::unique_ptr<RowStream> row_stream(std::int64_t) const override { return count_up_to(rows_.count()); }
  std::unique_ptr<BatchStream> batch_stream(std::int64_t epoch) const override { return samples_of(rows_, row_stream(epoch)); }

 private:
  FileRows rows_;
};

}  // namespace

DatasetPtr make_file_cache(DatasetPtr input, const std::string& filename) {
  if (filename.empty()) return make_cache(std::move(input));
  if (input->cardinality() < 0) throw Error("Dataset::cache: this dataset repeats without end; cache it before `repeat`, or `take` a part");
  if (input->batch_size() > 0) throw Error("Dataset::cache: a file keeps samples; put `batch` behind cache(\"" + filename + "\")");
  return std::make_shared<FileCache>(std::move(input), filename);
}

}  // namespace lockstep
