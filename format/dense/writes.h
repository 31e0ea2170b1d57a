// Writes of several threads to the files of a conversion, and its progress.
#pragma once

#include <mutex>
#include <optional>
#include <span>

#include "format/io/writing_mutex.h"
#include "format/model/stream.h"
#include "format/model/write_options.h"

namespace dequant::format::dense {

/// Counts the bytes of output that are written, and tells the caller's progress.
class Done {
 public:
  Done(const Progress& progress, int64_t total) : progress_(progress), total_(total) {}

  /// Counts from `done` bytes of `total` on.
  void begin(int64_t done, int64_t total) {
    done_ = done;
    total_ = total;
  }

  /// Adds bytes and tells the caller's function. Fails with the error of that function. One call at
  /// a time.
  Status add(int64_t bytes) {
    done_ += bytes;
    if (!progress_) return {};
    auto status = progress_(done_, total_);
    if (!status) stopped_ = status.error();
    return status;
  }
  Status add_rest() { return add(total_ - done_); }

  /// The error of the caller's function, which goes to the caller as it is.
  const std::optional<Error>& stopped() const { return stopped_; }

 private:
  const Progress& progress_;
  int64_t total_;
  int64_t done_ = 0;
  std::optional<Error> stopped_;
};

/// A file accepts one write at a time. Threads that wait in the file system may spin on processors
/// that are needed to dequantize, so they wait here, where they yield.
class Writes {
 public:
  /// `done` must outlive this object, and so must `phases`, which may be null.
  Writes(Done& done, Phases* phases) : done_(done), phases_(phases) {}

  /// What writes to a file, an OutputFile or a SharedFile, from byte `begin` on. Valid as long as
  /// the file and this object.
  template <class File>
  OffsetSink to(File& out, int64_t begin = 0) {
    return [this, &out, begin](int64_t offset, std::span<const std::byte> bytes) -> Status {
      const int64_t at = begin + offset;
      const auto size = static_cast<int64_t>(bytes.size());
      {
        const std::lock_guard lock(writing_);
        const Stopwatch watch(phases_, &Phases::write);
        DEQUANT_CHECK(out.write_at(at, bytes));
        DEQUANT_CHECK(done_.add(size));
      }
      const Stopwatch watch(phases_, &Phases::flush);
      out.start_flush(at, at + size);
      return {};
    };
  }

 private:
  Done& done_;
  Phases* phases_;
  WritingMutex writing_;  ///< held while a chunk is written and the caller's progress is called
};

}  // namespace dequant::format::dense
