// Reads all messages of a model by the table of schema.cc. Accepts what the parsers of protobuf
// accept: the C++ parser and that of Python packages (upb), which agree.
#include "format/onnx/check_message.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "format/io/errors.h"

namespace dequant::format::onnx {
namespace {

constexpr size_t kDeepest = 100;  // of messages and groups that contain one another
constexpr int kLongestVarint = 10;
constexpr int kLongestTag = 5;  // of a tag or a length, which have 32 bits
constexpr uint64_t kLargestTag = UINT32_MAX;
constexpr uint64_t kLargestLength = INT32_MAX;

class MessageCheck {
 public:
  explicit MessageCheck(Source& source) : source_(source), size_(source.file().size()) {}

  Status run(Message message) {
    open_[0] = {size_, message, 0};
    for (;;) {
      while (at() == top().end && top().group == 0) {
        if (depth_ == 0) return {};
        --depth_;
      }
      if (at() == top().end) return broken("a group without an end", at());
      DEQUANT_CHECK(step());
    }
  }

 private:
  /// A message or group that is being read.
  struct Level {
    int64_t end = 0;  ///< of a group: the end of the message around it
    Message kind = Message::unknown;
    uint32_t group = 0;  ///< field number of a group, else 0
  };

  Level& top() { return open_[depth_]; }
  int64_t at() const { return offset_ + (next_ - bytes_.data()); }

  Error broken(const char* what, int64_t at) const {
    return failure(ErrorCode::malformed, "malformed protobuf: {} at byte {}", what, at);
  }

  /// Reads a field, or the tag and the length of a message.
  Status step() {
    const int64_t begin = at();
    DEQUANT_TRY(const uint64_t tag, number(kLongestTag));
    const auto field = static_cast<uint32_t>(number_of(tag));
    if (tag > kLargestTag || field == 0) return broken("a field number out of range", begin);
    switch (wire_of(tag)) {
      case Wire::varint: DEQUANT_CHECK(number(kLongestVarint)); return {};
      case Wire::fixed64: return skip(8, begin);
      case Wire::fixed32: return skip(4, begin);
      case Wire::bytes: return bytes(rule_of(top().kind, field), begin);
      case Wire::group: return push({top().end, Message::unknown, field}, begin);
      case Wire::group_end:
        if (top().group != field) return broken("the end of another group, or of none", begin);
        --depth_;
        return {};
      default: return broken("an unknown wire type", begin);
    }
  }

  Status bytes(FieldRule rule, int64_t begin) {
    DEQUANT_TRY(const uint64_t length, number(kLongestTag));
    const auto size = static_cast<int64_t>(length);
    if (length > kLargestLength || size > top().end - at()) {
      return broken("a length beyond the end of its message", begin);
    }
    switch (rule.content) {
      case Content::message: return push({at() + size, rule.message, 0}, begin);
      case Content::varints: return varints(at() + size, begin);
      case Content::floats:
      case Content::doubles:
        if (size % (rule.content == Content::floats ? 4 : 8) != 0) {
          return broken("packed numbers of a broken length", begin);
        }
        return skip(size, begin);
      default: return skip(size, begin);
    }
  }

  Status push(Level level, int64_t begin) {
    if (depth_ == kDeepest) {
      return failure(ErrorCode::limit, "messages nested more than {} deep at byte {}", kDeepest,
                     begin);
    }
    open_[++depth_] = level;
    return {};
  }

  Status skip(int64_t size, int64_t begin) {
    const int64_t to = at() + size;
    if (to > top().end) return broken("a truncated number", begin);
    move_to(to);
    return {};
  }

  void move_to(int64_t to) {
    if (to <= offset_ + static_cast<int64_t>(bytes_.size())) {
      next_ = bytes_.data() + (to - offset_);
    } else {
      offset_ = to;
      bytes_ = {};
      next_ = bytes_.data();
    }
  }

  /// Reads until `want` bytes from at() on are in bytes_, or all up to the end of the file.
  Status fill(int64_t want) {
    const int64_t here = at();
    if (bytes_.data() + bytes_.size() - next_ >= std::min(want, size_ - here)) return {};
    DEQUANT_TRY(bytes_, source_.peek(here, static_cast<size_t>(want)));
    offset_ = here;
    next_ = bytes_.data();
    return {};
  }

  /// Reads a varint, which must end within the innermost message.
  Result<uint64_t> number(int longest) {
    DEQUANT_CHECK(fill(longest));
    const int64_t begin = at();
    const int64_t left = std::min<int64_t>(longest, top().end - begin);
    uint64_t value = 0;
    for (int64_t i = 0; i < left; ++i) {
      const auto byte = static_cast<unsigned char>(*next_++);
      value |= uint64_t{byte & 0x7FU} << (7 * i);  // of the tenth byte only one bit is used
      if (byte < 0x80) return value;
    }
    return broken(left < longest ? "a truncated varint" : "a varint of too many bytes", begin);
  }

  /// Reads packed varints up to `end`.
  Status varints(int64_t end, int64_t begin) {
    int more = 0;  // consecutive bytes with the continuation bit
    while (at() < end) {
      DEQUANT_CHECK(fill(1));
      const auto here = std::min(bytes_.data() + bytes_.size() - next_, end - at());
      for (const char* stop = next_ + here; next_ < stop;) {
        uint64_t eight = 0;
        if (stop - next_ >= 8) std::memcpy(&eight, next_, 8);
        if (stop - next_ >= 8 && (eight & 0x8080808080808080U) == 0) {
          more = 0;
          next_ += 8;
          continue;
        }
        more = (static_cast<unsigned char>(*next_++) & 0x80U) != 0 ? more + 1 : 0;
        if (more == kLongestVarint) return broken("packed integers with a varint too long", begin);
      }
    }
    if (more > 0) return broken("packed integers with a truncated varint", begin);
    return {};
  }

  Source& source_;
  const int64_t size_;
  int64_t offset_ = 0;  ///< in the file, of bytes_
  std::span<const char> bytes_;
  const char* next_ = nullptr;
  std::array<Level, kDeepest + 1> open_;
  size_t depth_ = 0;
};

}  // namespace

Status check_message(Source& source, Message message) { return MessageCheck(source).run(message); }

}  // namespace dequant::format::onnx
