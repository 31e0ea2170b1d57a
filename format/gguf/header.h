// The header of a GGUF file.
//
//   bytes 0-3  "GGUF"
//   bytes 4-7  version: 2 or 3
//   then       8 bytes: number of tensors; 8 bytes: number of pairs of metadata
//   then       pairs: key, 4 bytes of type, value
//   then       tensors: name, 4 bytes: dimensions, 8 bytes each with the fastest first, 4 bytes of
//              type, 8 bytes: offset of the data
//   then       the data: each tensor's begin at a multiple of the alignment, and offsets count from
//              the first such byte
// Numbers have their lowest byte first, or all of them their highest: the version says which.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "dequant/gguf.h"
#include "format/gguf/metadata.h"
#include "format/gguf/types.h"

namespace dequant::format::gguf {

/// Dimensions of a tensor at most, as many as a tensor of blocks may have. ggml has 4 at most;
/// image and video models have convolution weights of 5, which gguf-py writes and ComfyUI reads.
inline constexpr size_t kMaxRank = dequant::gguf::kMaxRank;

/// A tensor whose type, shape and data agree.
struct Tensor {
  std::string_view name;
  const Type* type = nullptr;
  Shape shape;         ///< of rows of blocks, as numpy has it: the fastest dimension last
  int64_t offset = 0;  ///< of the data in the file
  int64_t bytes = 0;
};

/// A whole header. Texts and shapes are valid as long as it exists, also after it was moved.
class Header {
 public:
  /// Reads the header of a file, and checks it against the file's size. Fails with malformed where
  /// the file is not as the specification says, with unsupported for other versions and for types
  /// that were removed or are not known, and with io. Messages name the file, and the tensor, the
  /// key or the byte. As ggml does, it demands that data follow one another in the order of the
  /// tensors, with no more than padding between them.
  static Result<Header> read(const InputFile& file);

  uint32_t version() const { return version_; }
  bool big_endian() const { return big_endian_; }
  int64_t alignment() const { return alignment_; }
  const Metadata& metadata() const { return metadata_; }
  /// In the order of the file.
  std::span<const Tensor> tensors() const { return tensors_; }
  /// Bytes of the file behind the data of the last tensor and its padding, which nothing reads.
  int64_t trailing_bytes() const { return trailing_bytes_; }

 private:
  friend class HeaderReader;

  explicit Header(Metadata metadata) : metadata_(std::move(metadata)) {}

  uint32_t version_ = 0;
  bool big_endian_ = false;
  int64_t alignment_ = 0;
  int64_t trailing_bytes_ = 0;
  Metadata metadata_;
  safetensors::Arena<char> texts_;
  safetensors::Arena<int64_t> sizes_;
  std::vector<Tensor> tensors_;
};

/// The key of the kind of model: "llama".
inline constexpr std::string_view kArchitectureKey = "general.architecture";
/// The key of llama.cpp's number for the type of most tensors.
inline constexpr std::string_view kFileTypeKey = "general.file_type";
/// The key of the alignment, a power of two.
inline constexpr std::string_view kAlignmentKey = "general.alignment";
inline constexpr int64_t kDefaultAlignment = 32;

}  // namespace dequant::format::gguf
