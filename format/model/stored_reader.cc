// Reading the bytes of one stored tensor, whatever its storage in the file.
#include "format/model/stored_reader.h"

#include <algorithm>
#include <atomic>

#include "format/io/errors.h"
#include "format/model/first_failure.h"
#include "format/model/float_environment.h"

namespace dequant::format {
namespace {

/// Bytes that are read at once.
constexpr int64_t kReadAtOnce = int64_t{1} << 20;
/// Threads that read at once at most.
constexpr int64_t kMostReaders = 64;

/// Reads all elements of a seekable storage, part by part, each part on some thread. All threads
/// end at the first error or exception.
class AllParts {
 public:
  AllParts(const StoredReader& reader, std::span<std::byte> out)
      : reader_(reader),
        out_(out),
        elements_(kReadAtOnce * 8 / bits(reader.element()) / 8 * 8),
        parts_((reader.count() + elements_ - 1) / elements_) {}

  Status read(const Executor& executor) {
    const auto threads = static_cast<size_t>(std::min(parts_, kMostReaders));
    if (threads > 1 && executor.parallel_for != nullptr)
      executor.parallel_for(executor.self, threads, AllParts::task, this);
    task(this, 0);  // parts that no other thread has read
    return failure_.take();
  }

 private:
  /// An Executor::Task: reads parts until none is left, in the environment that readers which
  /// compute need.
  static void task(void* self, size_t) {
    const FloatEnvironment environment;
    auto& all = *static_cast<AllParts*>(self);
    all.failure_.watch([&all] { return all.read_parts(); });
  }

  Status read_parts() {
    while (!failure_.happened()) {
      const int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
      if (i >= parts_) break;
      const Range part{i * elements_, std::min((i + 1) * elements_, reader_.count())};
      const Range bytes = bytes_of(reader_.element(), part);
      DEQUANT_CHECK(
          reader_.read_at(part, out_.subspan(static_cast<size_t>(bytes.begin),
                                             static_cast<size_t>(bytes.end - bytes.begin))));
    }
    return {};
  }

  const StoredReader& reader_;
  const std::span<std::byte> out_;
  const int64_t elements_;  ///< of a part: a multiple of 8, as readers demand
  const int64_t parts_;
  std::atomic<int64_t> next_{0};
  FirstFailure failure_;
};

}  // namespace

Status StoredReader::read(int64_t count, std::span<std::byte> out) {
  const Range elements{done_, done_ + count};
  done_ = elements.end;
  return read_next(elements, out);
}

Result<std::span<const std::byte>> StoredReader::next(int64_t count) {
  DEQUANT_TRY(const int64_t bytes, packed_bytes(element_, count));
  part_.resize(static_cast<size_t>(bytes));
  DEQUANT_CHECK(read(count, part_));
  return std::span<const std::byte>(part_);
}

Result<int64_t> StoredReader::all_bytes(int64_t most) const {
  DEQUANT_TRY(const int64_t bytes, packed_bytes(element_, count_));
  if (bytes <= most) return bytes;
  return failure(ErrorCode::limit, "{}: {} bytes, more than the {} that may be held in memory",
                 label(), bytes, most);
}

Result<std::vector<std::byte>> StoredReader::whole(int64_t most) {
  DEQUANT_CHECK(all_bytes(most));
  // The length of storage that is not seekable may be proved only while it is read. So the buffer
  // grows with the bytes that are read.
  std::vector<std::byte> all;
  while (left() > 0) {
    const int64_t count = seekable() ? left() : std::min(kReadAtOnce, left());
    DEQUANT_TRY(const int64_t size, packed_bytes(element_, count));
    const size_t before = all.size();
    all.resize(before + static_cast<size_t>(size));
    DEQUANT_CHECK(read(count, std::span(all).subspan(before)));
  }
  DEQUANT_CHECK(finish());
  return all;
}

Result<std::vector<std::byte>> StoredReader::whole_at(int64_t most, const Executor& executor) {
  DEQUANT_TRY(const int64_t bytes, all_bytes(most));
  std::vector<std::byte> all(static_cast<size_t>(bytes));
  DEQUANT_CHECK(AllParts(*this, all).read(executor));
  done_ = count_;
  DEQUANT_CHECK(finish());
  return all;
}

}  // namespace dequant::format
