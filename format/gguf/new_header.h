// The header of a GGUF file that is to be written, little-endian, version 3.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/dense/layout.h"
#include "format/gguf/parts.h"

namespace dequant::format::gguf {

/// One file of several.
struct SplitPlace {
  uint16_t number = 0;
  uint16_t count = 1;
  int32_t tensors = 0;  ///< of all files
};

/// The pairs of a file, and their bytes.
class NewPairs {
 public:
  /// All pairs of a model but those of its parts; with `file_type`, that of the key
  /// general.file_type where the model has one. Fails with io.
  static Result<NewPairs> of(const Parts& parts, std::optional<uint32_t> file_type);

  void add(std::string_view key, ValueType type, uint64_t number);
  /// The pairs that say which part of a model the file is.
  void add(const SplitPlace& place);

  uint64_t count() const { return count_; }
  const std::string& bytes() const { return bytes_; }

 private:
  Status copy(const Parts& parts, const Pair& pair);
  void begin(std::string_view key, ValueType type);

  uint64_t count_ = 0;
  std::string bytes_;
};

/// Decides on the header of a file with these pairs, and on the offsets and the padding of its
/// tensors, whose order stays. Fails with limit for sizes beyond 2^63 - 1.
Status place(dense::OutputShard& shard, const NewPairs& pairs, int64_t alignment);

}  // namespace dequant::format::gguf
