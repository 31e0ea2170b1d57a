// Reading the protobuf wire format from a file through a window.
#include "format/onnx/wire.h"

#include <algorithm>
#include <cstring>
#include <protozero/exception.hpp>
#include <protozero/varint.hpp>

#include "format/io/errors.h"

namespace dequant::format::onnx {
namespace {

constexpr size_t kLongestVarint = 10;
constexpr uint32_t kLargestField = (uint32_t{1} << 29) - 1;
/// The depth of groups within groups. ONNX has no groups, so they are unknown fields.
constexpr size_t kDeepestGroup = 100;

}  // namespace

Result<std::span<const char>> Source::peek(int64_t offset, size_t want) {
  const int64_t left = file_->size() - offset;
  const int64_t need = std::min(static_cast<int64_t>(want), left);
  if (offset < begin_ || offset + need > end_) {
    if (static_cast<int64_t>(window_.size()) < need) window_.resize(static_cast<size_t>(need));
    // Each consecutive read is four times larger; after a jump over data a small one may do.
    const bool onward = offset >= begin_ && offset <= end_;
    step_ = onward ? std::min(step_ * 4, kWindow) : kFirstStep;
    const int64_t size = std::min(
        {left, static_cast<int64_t>(window_.size()), std::max(need, static_cast<int64_t>(step_))});
    end_ = begin_ = offset;  // the window is empty if the read fails
    DEQUANT_CHECK(file_->read(
        offset, std::as_writable_bytes(std::span(window_.data(), static_cast<size_t>(size)))));
    end_ = offset + size;
  }
  return std::span<const char>(window_.data() + (offset - begin_),
                               static_cast<size_t>(end_ - offset));
}

Result<std::string> Source::text(Span span, int64_t max_bytes) {
  if (span.size() > max_bytes) {
    return failure(ErrorCode::limit, "a text of {} bytes at byte {}, over the {} allowed",
                   span.size(), span.begin, max_bytes);
  }
  std::string out(static_cast<size_t>(span.size()), '\0');
  if (out.size() <= kWindow / 4) {
    DEQUANT_TRY(const auto bytes, peek(span.begin, out.size()));
    std::memcpy(out.data(), bytes.data(), out.size());
  } else {
    DEQUANT_CHECK(file_->read(span.begin, std::as_writable_bytes(std::span(out))));
  }
  return out;
}

Result<uint64_t> read_varint(Source& source, int64_t& at, int64_t end) {
  const auto bad = [&] { return failure(ErrorCode::malformed, "no valid varint at byte {}", at); };
  if (at >= end) return bad();
  const auto want = static_cast<size_t>(std::min<int64_t>(kLongestVarint, end - at));
  DEQUANT_TRY(const auto bytes, source.peek(at, want));
  const char* begin = bytes.data();
  try {
    const uint64_t value =
        protozero::decode_varint(&begin, bytes.data() + std::min(want, bytes.size()));
    at += begin - bytes.data();
    return value;
  } catch (const protozero::exception&) {
    return bad();
  }
}

Error Cursor::broken(const char* what) const {
  return failure(ErrorCode::malformed, "{} at byte {}", what, at_);
}

Result<bool> Cursor::next(Field& field) {
  if (at_ >= end_) return false;
  const int64_t begin = at_;
  DEQUANT_CHECK(read_one(field));
  if (field.wire == Wire::group) DEQUANT_CHECK(skip_group(field.number));
  field.whole = {begin, at_};
  return true;
}

Status Cursor::read_one(Field& field) {
  DEQUANT_TRY(const uint64_t tag, read_varint(*source_, at_, end_));
  const uint64_t number = number_of(tag);
  if (number == 0 || number > kLargestField) return broken("a field number out of range");
  field.number = static_cast<uint32_t>(number);
  field.value = 0;
  switch (wire_of(tag)) {
    case Wire::varint: {
      field.wire = Wire::varint;
      DEQUANT_TRY(field.value, read_varint(*source_, at_, end_));
      return {};
    }
    case Wire::fixed64:
    case Wire::fixed32: {
      field.wire = wire_of(tag);
      const size_t size = field.wire == Wire::fixed64 ? 8 : 4;
      if (end_ - at_ < static_cast<int64_t>(size)) return broken("a truncated number");
      DEQUANT_TRY(const auto bytes, source_->peek(at_, size));
      std::memcpy(&field.value, bytes.data(), size);
      at_ += static_cast<int64_t>(size);
      return {};
    }
    case Wire::bytes: {
      field.wire = Wire::bytes;
      DEQUANT_TRY(const uint64_t length, read_varint(*source_, at_, end_));
      if (length > static_cast<uint64_t>(end_ - at_))
        return broken("a length beyond the end of its message");
      field.payload = {at_, at_ + static_cast<int64_t>(length)};
      at_ = field.payload.end;
      return {};
    }
    case Wire::group: field.wire = Wire::group; return {};
    default: return broken("an unknown wire type");
  }
}

Status Cursor::skip_group(uint32_t number) {
  std::vector<uint32_t> open{number};
  while (!open.empty()) {
    if (at_ >= end_) return broken("a group without an end");
    const int64_t begin = at_;
    DEQUANT_TRY(const uint64_t tag, read_varint(*source_, at_, end_));
    if (wire_of(tag) == Wire::group_end) {
      if (number_of(tag) != open.back()) return broken("the end of another group");
      open.pop_back();
      continue;
    }
    at_ = begin;
    Field inner;
    DEQUANT_CHECK(read_one(inner));
    if (inner.wire == Wire::group) open.push_back(inner.number);
    if (open.size() > kDeepestGroup) {
      return Error{ErrorCode::limit, broken("groups nested too deep").message};
    }
  }
  return {};
}

}  // namespace dequant::format::onnx
