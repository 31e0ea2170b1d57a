// Reading the scales or zero points of a tensor that is computed in chunks.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "format/model/stored_reader.h"

namespace dequant::format {

/// Scales or zero points: all in memory where they fit, otherwise read range by range.
class ParameterReader {
 public:
  /// Reads all of them where they are at most `most` bytes, or where the storage is not seekable.
  /// Fails as StoredReader::whole() does.
  static Result<ParameterReader> open(std::unique_ptr<StoredReader> reader, int64_t most);

  /// True where all are in memory.
  bool held_whole() const { return whole_.has_value(); }

  /// The packed bytes of a range, which starts on a byte. They are valid as long as this object and
  /// `slice`, which may become their buffer. Any number of threads may call it at once. Fails with
  /// limit where they are more than the `most` of open(), and as StoredReader::read_at() does.
  Result<std::span<const std::byte>> get(Element element, Range range,
                                         std::vector<std::byte>& slice) const;

  /// Must be called after the last get(); see StoredReader::finish().
  Status finish() { return reader_ ? reader_->finish() : Status{}; }

 private:
  std::optional<std::vector<std::byte>> whole_;
  std::unique_ptr<StoredReader> reader_;
  int64_t most_ = 0;
};

}  // namespace dequant::format
