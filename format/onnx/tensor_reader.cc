// Reading the data of a tensor as packed bytes: from raw_data, a typed field, or an external file.
#include "format/onnx/tensor_reader.h"

#include <algorithm>
#include <cstring>

#include "format/io/errors.h"
#include "format/onnx/external_size.h"

namespace dequant::format::onnx {
namespace {

/// The typed field for data of an element type.
DataField typed_field(Element element) {
  switch (element) {
    case Element::float32: return DataField::float_data;
    case Element::uint32: return DataField::uint64_data;
    default: return DataField::int32_data;
  }
}

/// Bits of one entry of the typed field: an element, or a byte of packed elements. Elements whose
/// bits do not divide 8 have an entry each: "each int32_data entry stores one element's unsigned
/// 6-bit encoding in bits 0-5; bits 6-31 MUST be zero" (onnx.proto).
int entry_bits(Element element) {
  const int width = bits(element);
  return width < 8 && 8 % width == 0 ? 8 : width;
}

/// True if the value of an int32_data entry is valid for this type.
bool entry_fits(Element element, int64_t value) {
  const int width = bits(element);
  if (entry_bits(element) > width) return value >= -128 && value < 256;  // maybe sign-extended
  if (element == Element::uint32) return value >= 0 && value <= UINT32_MAX;
  if (kind(element) == Kind::signed_integer) {
    return value >= -(int64_t{1} << (width - 1)) && value < int64_t{1} << (width - 1);
  }
  return value >= 0 && value < int64_t{1} << width;
}

std::string label_of(const Tensor& tensor) {
  return fmt::format("tensor {}", escaped(tensor.name));
}

Error of(const Tensor& tensor, Error error) { return in(label_of(tensor), std::move(error)); }

}  // namespace

Result<TensorReader> TensorReader::open(const Source& source, ExternalFiles& files,
                                        const Tensor& tensor) {
  TensorReader reader(source, tensor);
  const auto where = [&](Error error) { return of(tensor, std::move(error)); };
  const auto element = tensor.element();
  if (!element) {
    return where(
        failure(ErrorCode::unsupported, "data type {} is not one dequant reads", tensor.data_type));
  }
  reader.element_ = *element;
  auto count = element_count(tensor.dims);
  if (!count) return where({ErrorCode::malformed, count.error().message});
  auto bytes = packed_bytes(*element, *count);
  if (!bytes) return where({ErrorCode::malformed, bytes.error().message});
  reader.count_ = *count;
  reader.bytes_ = *bytes;
  if (auto status = reader.locate(files); !status) return where(std::move(status).error());
  return reader;
}

Status TensorReader::locate(ExternalFiles& files) {
  const Tensor& t = *tensor_;
  if (t.has_segment) return failure(ErrorCode::unsupported, "segmented data");
  if (t.several_data) return failure(ErrorCode::malformed, "data in more than one field");
  int64_t stored = bytes_;
  if (t.external) {
    DEQUANT_TRY(external_, files.open(t.external->location.str()));
    file_ = external_.get();
    if (t.external->has_checksum) files_ = &files;
    DEQUANT_TRY(const Span span, span_in(*file_, *t.external, bytes_));
    start_ = span.begin;
  } else if (t.data == DataField::raw_data) {
    file_ = &source_->file();
    start_ = t.raw.begin;
    stored = t.raw.size();
  } else if (t.data == DataField::none) {
    stored = 0;
  } else if (t.data == typed_field(element_)) {
    // The entries are counted while they are read. That the message is long enough for them is
    // checked here, so that no memory is allocated for elements that a short message only claims to
    // have.
    const int64_t entries = entry_bits(element_) > bits(element_) ? bytes_ : count_;
    if (t.message.size() / (element_ == Element::float32 ? 4 : 1) < entries) {
      return failure(ErrorCode::malformed, "{} elements of {} in a message of {} bytes", count_,
                     name(element_), t.message.size());
    }
    typed_ = true;
  } else {
    return failure(ErrorCode::malformed, "data in field {} of TensorProto, not that of {}",
                   static_cast<int>(t.data), name(element_));
  }
  if (stored == bytes_) return {};
  return failure(ErrorCode::malformed, "{} bytes stored, {} needed for {} elements of {}", stored,
                 bytes_, count_, name(element_));
}

std::string TensorReader::label() const { return label_of(*tensor_); }

Status TensorReader::read_at(Range elements, std::span<std::byte> out) const {
  if (files_ != nullptr) {
    if (auto status = files_->verify(*tensor_->external); !status) {
      return of(*tensor_, std::move(status).error());
    }
  }
  DEQUANT_TRY(const int64_t before, packed_bytes(element_, elements.begin));
  return file_->read(start_ + before, out);
}

/// The next entry of the typed field as bits; `more` is false at its end.
Status TensorReader::next_value(uint32_t& code, bool& more) {
  const auto field = static_cast<uint32_t>(typed_field(element_));
  const bool floats = element_ == Element::float32;
  if (!cursor_) {
    window_ = std::make_unique<Source>(source_->window(tensor_->message));
    cursor_.emplace(*window_, tensor_->message);
  }
  for (;;) {
    if (packed_at_ < packed_end_) {
      more = true;
      if (floats) {
        DEQUANT_TRY(const auto raw, window_->peek(packed_at_, 4));
        std::memcpy(&code, raw.data(), 4);
        packed_at_ += 4;
        return {};
      }
      DEQUANT_TRY(const uint64_t value, read_varint(*window_, packed_at_, packed_end_));
      field_.value = value;
      break;
    }
    DEQUANT_TRY(more, cursor_->next(field_));
    if (!more) return {};
    if (field_.number != field) continue;
    if (field_.wire == Wire::bytes) {
      packed_at_ = field_.payload.begin;
      packed_end_ = field_.payload.end;
      if (floats && field_.payload.size() % 4 != 0) {
        return failure(ErrorCode::malformed, "float_data has {} bytes, no multiple of 4",
                       field_.payload.size());
      }
    } else if (field_.wire == (floats ? Wire::fixed32 : Wire::varint)) {
      if (!floats) break;
      code = static_cast<uint32_t>(field_.value);
      return {};
    }  // otherwise an unknown field
  }
  const auto value = static_cast<int64_t>(field_.value);
  if (!entry_fits(element_, value)) {
    return failure(ErrorCode::malformed, "entry {} of field {} does not fit {}", value, field,
                   name(element_));
  }
  code = static_cast<uint32_t>(value);
  return {};
}

Status TensorReader::read_next(Range elements, std::span<std::byte> out) {
  if (out.empty()) return {};
  if (seekable()) return read_at(elements, out);
  DEQUANT_TRY(int64_t done, packed_bytes(element_, elements.begin));
  // The range starts with a byte and with an entry. Bits of entries that are not yet written:
  const int width = entry_bits(element_);
  const int64_t bits_needed = (elements.end - elements.begin) * bits(element_);
  int64_t entries = (bits_needed + width - 1) / width;
  uint64_t held = 0;
  int held_bits = 0;
  for (std::byte& byte : out) {
    while (held_bits < 8 && entries > 0) {
      uint32_t code = 0;
      bool more = false;
      if (auto status = next_value(code, more); !status) {
        return of(*tensor_, std::move(status).error());
      }
      if (!more) {
        return of(*tensor_,
                  failure(ErrorCode::malformed, "only {} of {} bytes are stored", done, bytes_));
      }
      held |= (code & ((uint64_t{1} << width) - 1)) << held_bits;
      held_bits += width;
      --entries;
    }
    byte = static_cast<std::byte>(held);
    held >>= 8;
    held_bits = std::max(held_bits - 8, 0);
    ++done;
  }
  return {};
}

Status TensorReader::finish() {
  if (seekable()) return file_->check_unchanged();
  if (!typed_) return {};
  uint32_t code = 0;
  bool more = false;
  if (auto status = next_value(code, more); !status) {
    return of(*tensor_, std::move(status).error());
  }
  if (!more) return source_->file().check_unchanged();
  return of(*tensor_, {ErrorCode::malformed, "more data than its shape holds"});
}

Result<TensorData> read_tensor_data(const Source& source, ExternalFiles& files,
                                    const Tensor& tensor, int64_t max_bytes) {
  DEQUANT_TRY(TensorReader reader, TensorReader::open(source, files, tensor));
  TensorData data{reader.element(), tensor.dims, {}};
  DEQUANT_TRY(data.bytes, reader.whole(max_bytes));
  return data;
}

}  // namespace dequant::format::onnx
