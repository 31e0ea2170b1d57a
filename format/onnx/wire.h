// The protobuf wire format, read from a file through one small window: messages of any size are
// walked without loading what nobody asks for.
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

/// What stands before the value of a field: its number and its wire type.
constexpr uint64_t tag_of(uint32_t number, Wire wire) {
  return uint64_t{number} << 3 | static_cast<uint64_t>(wire);
}
constexpr uint64_t number_of(uint64_t tag) { return tag >> 3; }
/// 6 and 7 are no wire types.
constexpr Wire wire_of(uint64_t tag) { return static_cast<Wire>(tag & 7); }

/// One field of a message.
struct Field {
  uint32_t number = 0;
  Wire wire = Wire::varint;
  uint64_t value = 0;  ///< of a varint, fixed32 or fixed64
  Span payload;        ///< of bytes: what follows the length
  Span whole;          ///< tag included
};

/// A file and the window through which one thread reads it.
class Source {
 public:
  explicit Source(InputFile file) : Source(std::make_shared<const InputFile>(std::move(file))) {}

  const InputFile& file() const { return *file_; }
  Span all() const { return {0, file_->size()}; }

  /// The same file through a window of its own, no larger than the span to be read.
  Source window(Span span) const { return Source(file_, span.size()); }

  /// At least min(want, what the file still has) bytes from `offset` on, valid until the next call;
  /// want <= 64 KiB.
  Result<std::span<const char>> peek(int64_t offset, size_t want);

  /// A whole span as text. Fails with limit over `max_bytes`.
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
  size_t step_ = kFirstStep;  ///< how much to read next
};

/// Walks the fields of a message.
class Cursor {
 public:
  Cursor(Source& source, Span message) : source_(&source), at_(message.begin), end_(message.end) {}

  /// Reads the next field; false at the end of the message. Fails with malformed on anything that
  /// is not a field within the message.
  Result<bool> next(Field& field);

 private:
  Status read_one(Field& field);
  Status skip_group(uint32_t number);
  Error broken(const char* what) const;

  Source* source_;
  int64_t at_;
  int64_t end_;
};

/// Calls visit(int64_t) for each value of a repeated integer field, packed or not. Visit returns a
/// Status.
template <class Visit>
Status for_each_varint(Source& source, const Field& field, Visit&& visit);

/// Decodes one varint at `at`, within `end`; moves `at` behind it.
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
