// Scales or zero points of a tensor that is computed in chunks.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "format/model/stored_reader.h"

namespace dequant::format {

/// Holds scales or zero points whole while they are few, reads them by range where the storage
/// allows.
class ParameterReader {
 public:
  /// Reads all of them where they take `most` bytes or fewer, or where the storage yields them only
  /// in order. Fails as StoredReader::whole() does.
  static Result<ParameterReader> open(std::unique_ptr<StoredReader> reader, int64_t most);

  bool held_whole() const { return whole_.has_value(); }

  /// The packed bytes of the entries in a range, which starts on a byte; `slice` may hold them. On
  /// any thread. Fails with limit where they are over the bytes of open().
  Result<std::span<const std::byte>> get(Element element, Range range,
                                         std::vector<std::byte>& slice) const;

  /// Call after the last get(), as StoredReader::finish().
  Status finish() { return reader_ ? reader_->finish() : Status{}; }

 private:
  std::optional<std::vector<std::byte>> whole_;
  std::unique_ptr<StoredReader> reader_;
  int64_t most_ = 0;
};

}  // namespace dequant::format
