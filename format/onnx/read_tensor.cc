// TensorProto, without its data.
#include <charconv>

#include "format/io/errors.h"
#include "format/onnx/model.h"

namespace dequant::format::onnx {
namespace {

constexpr size_t kMostDims = 1024;
constexpr size_t kMostExternalEntries = 64;

/// Decimal digits only: no sign, no space, at most INT64_MAX.
Result<int64_t> parse_size(const std::string& key, const std::string& text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem == std::errc() && stop == end && value >= 0 && text[0] != '-') return value;
  return failure(ErrorCode::malformed, "external_data: {} \"{}\" is not a decimal number", key,
                 escaped(text));
}

struct ExternalEntries {
  External external;
  bool has_location = false;
  bool has_offset = false;
  size_t count = 0;

  std::vector<Span> fields;

  Status add(Source& source, const Field& field) {
    if (++count > kMostExternalEntries) {
      return failure(ErrorCode::limit, "external_data: more than {} entries", kMostExternalEntries);
    }
    std::string key;
    std::string value;
    Cursor cursor(source, field.payload);
    for (Field f;;) {
      DEQUANT_TRY(const bool more, cursor.next(f));
      if (!more) break;
      if (f.wire != Wire::bytes) continue;
      if (f.number == 1) {
        DEQUANT_TRY(key, source.text(f.payload));
      } else if (f.number == 2) {
        DEQUANT_TRY(value, source.text(f.payload));
      }
    }
    const auto twice = [&] {
      return failure(ErrorCode::malformed, "external_data: {} given twice", key);
    };
    if (key == "location") {
      if (std::exchange(has_location, true)) return twice();
      external.location = value;
    } else if (key == "offset") {
      if (std::exchange(has_offset, true)) return twice();
      DEQUANT_TRY(external.offset, parse_size(key, value));
    } else if (key == "length") {
      if (external.length) return twice();
      DEQUANT_TRY(external.length, parse_size(key, value));
    } else if (key == "checksum") {
      external.has_checksum = true;
    } else {
      return {};  // somebody else's note: kept as it is
    }
    fields.push_back(field.whole);
    return {};
  }
};

}  // namespace

Status read_tensor(Source& source, Span message, Tensor& tensor) {
  tensor.message = message;
  ExternalEntries entries;
  bool is_external = false;
  Cursor cursor(source, message);
  for (Field f;;) {
    DEQUANT_TRY(const bool more, cursor.next(f));
    if (!more) break;
    switch (f.number) {
      case 1:
        DEQUANT_CHECK(for_each_varint(source, f, [&](int64_t d) -> Status {
          if (tensor.dims.size() == kMostDims) {
            return failure(ErrorCode::limit, "a tensor with more than {} dimensions", kMostDims);
          }
          tensor.dims.push_back(d);
          return {};
        }));
        break;
      case 2: tensor.data_type = static_cast<int32_t>(f.value); break;
      case 3: tensor.has_segment = true; break;
      case 4:
      case 5:
      case 6:
      case 7:
      case 9:
      case 10:
      case 11: {
        const auto field = static_cast<DataField>(f.number);
        // An empty packed field holds nothing, and so says nothing.
        if (f.wire == Wire::bytes && f.payload.empty() && field != DataField::raw_data &&
            field != DataField::string_data) {
          break;
        }
        if (field == DataField::raw_data) {
          if (f.wire != Wire::bytes)
            return failure(ErrorCode::malformed, "raw_data is no bytes field");
          tensor.raw = f.payload;
        }
        if (tensor.data != DataField::none && tensor.data != field) tensor.several_data = true;
        tensor.data = field;
        break;
      }
      case 8: {
        if (f.wire != Wire::bytes) return failure(ErrorCode::malformed, "a tensor name is no text");
        DEQUANT_TRY(tensor.name, source.text(f.payload));
        break;
      }
      case 13:
        if (f.wire == Wire::bytes) DEQUANT_CHECK(entries.add(source, f));
        break;
      case 14: is_external = f.value == 1; break;
      default: break;
    }
  }
  const std::string name = escaped(tensor.name);
  if (is_external) {
    if (!entries.has_location) {
      return failure(ErrorCode::malformed, "tensor {}: external data without a location", name);
    }
    if (tensor.data != DataField::none) {
      return failure(ErrorCode::malformed, "tensor {}: external data and data in the model", name);
    }
    tensor.external = std::move(entries.external);
    tensor.external_fields = std::move(entries.fields);
  } else if (entries.count != 0) {
    return failure(ErrorCode::malformed,
                   "tensor {}: external_data, but data_location is not EXTERNAL", name);
  }
  return {};
}

}  // namespace dequant::format::onnx
