// Reading the header of a safetensors file.
//
//   bytes 0-7  length of the text, little-endian
//   then       the text, JSON: {"__metadata__":{"format":"pt"},
//              "a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}, ...}, then spaces
//   then       the data, row-major and little-endian, without gaps; offsets count from here
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "format/io/file.h"
#include "format/safetensors/arena.h"
#include "format/safetensors/dtype.h"
#include "format/safetensors/name_index.h"

namespace dequant::format::safetensors {

/// Bytes of header text at most, by the specification.
inline constexpr int64_t kMaxHeader = 100'000'000;

/// Dimensions of a tensor at most: numpy has no more.
inline constexpr size_t kMaxRank = 64;

/// An entry whose type, shape and data agree.
struct Tensor {
  std::string_view name;  ///< any text, also an empty one
  const DType* dtype = nullptr;
  Shape shape;
  int64_t offset = 0;  ///< of the data in the file, at any byte
  int64_t bytes = 0;
};

/// A key of __metadata__ and its value.
class MetadataPair {
 public:
  /// The two texts follow each other: a header may have ten million pairs.
  MetadataPair(std::string_view texts, size_t key_size)
      : begin_(texts.data()),
        key_(static_cast<uint32_t>(key_size)),
        value_(static_cast<uint32_t>(texts.size() - key_size)) {}

  std::string_view key() const { return {begin_, key_}; }
  std::string_view value() const { return {begin_ + key_, value_}; }

 private:
  const char* begin_;
  uint32_t key_;
  uint32_t value_;
};

/// A whole header. Its memory is at most 4 bytes for each byte of the text and 1 MiB, also while it
/// is read. Texts and shapes are valid as long as the header exists, also after it was moved.
class Header {
 public:
  /// Reads the header of a file and checks it against the file's size. Fails with malformed where
  /// the file is not as the specification says, with unsupported for unknown types, with limit
  /// beyond kMaxRank, and with io. Messages name the file, the tensor and the field. Refuses what
  /// the reference reader tolerates, as readers differ on it: equal names, unknown fields, white
  /// space before the text, and anything but spaces after it.
  static Result<Header> read(const InputFile& file);

  /// In the order of their data, those without data by their names.
  std::span<const Tensor> tensors() const { return tensors_; }

  /// The tensor of that name, or null.
  const Tensor* find(std::string_view name) const;

  /// Whether there is __metadata__, which may have no keys. The reference reader takes null for
  /// none, and so does this one.
  bool has_metadata() const { return has_metadata_; }
  /// In the order of the file; no two keys are equal.
  const std::deque<MetadataPair>& metadata() const { return metadata_; }

 private:
  friend class HeaderReader;

  Header() = default;

  Arena<char> texts_;
  Arena<int64_t> sizes_;
  std::vector<Tensor> tensors_;
  NameIndex names_;
  std::deque<MetadataPair> metadata_;
  bool has_metadata_ = false;
};

}  // namespace dequant::format::safetensors
