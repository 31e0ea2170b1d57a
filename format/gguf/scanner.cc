// Reading the structure of a GGUF file.
#include "format/gguf/scanner.h"

#include <algorithm>

#include "format/io/utf8.h"

namespace dequant::format::gguf {

Error Scanner::ends(uint64_t wanted) const {
  return failure(ErrorCode::malformed, "byte {}: {} bytes are wanted, and {} are left", at_, wanted,
                 left());
}

Result<const unsigned char*> Scanner::take(int64_t bytes) {
  if (bytes > left()) return ends(static_cast<uint64_t>(bytes));
  const int64_t piece_end = piece_at_ + static_cast<int64_t>(piece_.size());
  if (at_ < piece_at_ || at_ > piece_end || bytes > piece_end - at_) {
    piece_.resize(static_cast<size_t>(std::min(std::max(most_, bytes), left())));
    piece_at_ = at_;
    DEQUANT_CHECK(file_.read(at_, std::as_writable_bytes(std::span(piece_))));
  }
  const unsigned char* first = piece_.data() + (at_ - piece_at_);
  at_ += bytes;
  return first;
}

Result<uint64_t> Scanner::number(int bytes) {
  DEQUANT_TRY(const unsigned char* first, take(bytes));
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value = value << 8 | first[big_endian_ ? i : bytes - 1 - i];
  return value;
}

Result<std::string_view> Scanner::text() {
  const int64_t start = at_;
  DEQUANT_TRY(const uint64_t length, number(8));
  if (length > static_cast<uint64_t>(left())) return ends(length);
  if (length > uint64_t{kMostText}) {
    return failure(ErrorCode::malformed, "byte {}: a name of {} bytes, more than {}", start, length,
                   kMostText);
  }
  DEQUANT_TRY(const unsigned char* first, take(static_cast<int64_t>(length)));
  const std::string_view text(reinterpret_cast<const char*>(first), static_cast<size_t>(length));
  for (size_t i = 0; i < text.size();) {
    const size_t size = utf8_length(text, i);
    if (size == 0 || text[i] == '\0') {
      return failure(ErrorCode::malformed, "byte {}: the name \"{}\" {}", start, escaped(text),
                     size == 0 ? "is not UTF-8" : "has a zero byte");
    }
    i += size;
  }
  return text;
}

Status Scanner::skip(uint64_t bytes) {
  if (bytes > static_cast<uint64_t>(left())) return ends(bytes);
  at_ += static_cast<int64_t>(bytes);
  return {};
}

}  // namespace dequant::format::gguf
