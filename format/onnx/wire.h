// Reading the protobuf wire format from a file through a small buffer: payloads of messages of any
// size are only loaded where a caller reads them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dequant/status.h"
#include "format/io/file.h"

namespace dequant::format::onnx {

/// A range of bytes of the model file.
struct Span {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
  friend bool operator==(const Span&, const Span&) = default;
};

/// Protobuf's wire types, by their numbers in a tag.
enum class Wire : uint8_t {
  varint = 0,
  fixed64 = 1,
  bytes = 2,
  group = 3,
  group_end = 4,  ///< never the wire type of a Field
  fixed32 = 5
};

/// The tag of a field: its number and its wire type.
constexpr uint64_t tag_of(uint32_t number, Wire wire) {
  return uint64_t{number} << 3 | static_cast<uint64_t>(wire);
}
constexpr uint64_t number_of(uint64_t tag) { return tag >> 3; }
/// The wire type of a tag; the values 6 and 7 are invalid.
constexpr Wire wire_of(uint64_t tag) { return static_cast<Wire>(tag & 7); }

/// One field of a message.
struct Field {
  uint32_t number = 0;
  Wire wire = Wire::varint;
  uint64_t value = 0;  ///< of a varint, fixed32 or fixed64
  Span payload;        ///< of bytes and groups: the contents
  Span whole;          ///< the field with its tag
};

/// A file and a buffer (the window) for one thread that reads it.
class Source {
 public:
  explicit Source(InputFile file) : Source(std::make_shared<const InputFile>(std::move(file))) {}

  const InputFile& file() const { return *file_; }
  Span all() const { return {0, file_->size()}; }

  /// The same file with another window, which is no larger than the span that will be read.
  Source window(Span span) const { return Source(file_, span.size()); }

  /// At least `want` bytes from `offset` on, or all up to the end of the file. They are valid until
  /// the next call. `want` is at most 64 KiB. Fails with io or malformed.
  Result<std::span<const char>> peek(int64_t offset, size_t want);

  /// The bytes of a span as text. Fails with limit over `max_bytes`, and as peek() does.
  Result<std::string> text(Span span, int64_t max_bytes = int64_t{1} << 20);

 private:
  static constexpr size_t kWindow = size_t{256} << 10;
  static constexpr size_t kFirstStep = size_t{4} << 10;

  explicit Source(std::shared_ptr<const InputFile> file, int64_t most = kWindow)
      : file_(std::move(file)),
        window_(static_cast<size_t>(std::min({int64_t{kWindow}, file_->size(), most}))) {}

  std::shared_ptr<const InputFile> file_;
  std::vector<char> window_;
  int64_t begin_ = 0;
  int64_t end_ = 0;
  size_t step_ = kFirstStep;  ///< bytes of the next read
};

/// Iterates over the fields of a message.
class Cursor {
 public:
  Cursor(Source& source, Span message) : source_(&source), at_(message.begin), end_(message.end) {}

  /// Reads the next field, and returns false at the end of the message. Fails with malformed where
  /// the bytes are no field that ends within the message, and with io.
  Result<bool> next(Field& field);

 private:
  Status read_one(Field& field);
  Status skip_group(uint32_t number);
  Error broken(const char* what) const;

  Source* source_;
  int64_t at_;
  int64_t end_;
};

/// Calls visit(int64_t), which returns a Status, for each value of a repeated integer field, packed
/// or not. Ends at the first error. Fails with malformed or io.
template <class Visit>
Status for_each_varint(Source& source, const Field& field, Visit&& visit);

/// Decodes the varint at `at`, which must end before `end`, and moves `at` behind it. Fails with
/// malformed or io.
Result<uint64_t> read_varint(Source& source, int64_t& at, int64_t end);

template <class Visit>
Status for_each_varint(Source& source, const Field& field, Visit&& visit) {
  if (field.wire == Wire::varint) return visit(static_cast<int64_t>(field.value));
  if (field.wire != Wire::bytes) {
    return Error{ErrorCode::malformed, "a repeated integer field has another wire type"};
  }
  for (int64_t at = field.payload.begin; at < field.payload.end;) {
    DEQUANT_TRY(const uint64_t value, read_varint(source, at, field.payload.end));
    DEQUANT_CHECK(visit(static_cast<int64_t>(value)));
  }
  return {};
}

}  // namespace dequant::format::onnx
