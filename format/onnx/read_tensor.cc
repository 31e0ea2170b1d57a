// Reading a TensorProto without its data.
#include <charconv>

#include "dequant/tensor.h"
#include "format/io/errors.h"
#include "format/onnx/fields.h"
#include "format/onnx/model.h"

namespace dequant::format::onnx {
namespace {

constexpr size_t kMostDims = 1024;
constexpr size_t kMostExternalEntries = 64;

/// Parses decimal digits: no sign, no space, at most INT64_MAX.
Result<int64_t> parse_size(const std::string& key, const std::string& text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem == std::errc() && stop == end && value >= 0 && text[0] != '-') return value;
  return failure(ErrorCode::malformed, "external_data: {} \"{}\" is no number from 0 to 2^63 - 1",
                 key, escaped(text));
}

struct ExternalEntries {
  External external;
  bool has_location = false;
  bool has_offset = false;
  bool has_length = false;
  size_t count = 0;

  std::vector<ShortSpan> fields;

  Status add(Source& source, const Field& field, Store& store) {
    if (++count > kMostExternalEntries) {
      return failure(ErrorCode::limit, "external_data: more than {} entries", kMostExternalEntries);
    }
    std::string key;
    std::string value;
    const auto read = [&](const Field& f) -> Status {
      DEQUANT_TRY((f.number == field::entry::key ? key : value), source.text(f.payload));
      return {};
    };
    DEQUANT_CHECK(for_each_field(source, Message::entry, field.payload, read));
    const auto twice = [&] {
      return failure(ErrorCode::malformed, "external_data: {} given twice", key);
    };
    if (key == "location") {
      if (std::exchange(has_location, true)) return twice();
      external.location = store.text(value);
    } else if (key == "offset") {
      if (std::exchange(has_offset, true)) return twice();
      DEQUANT_TRY(external.offset, parse_size(key, value));
    } else if (key == "length") {
      if (std::exchange(has_length, true)) return twice();
      DEQUANT_TRY(const int64_t length, parse_size(key, value));
      if (length > 0) external.length = length;  // ONNX Runtime reads 0 as no length
    } else if (key == "checksum") {
      external.has_checksum = true;
      external.checksum = store.text(value);
    } else if (!is_external_key(key)) {
      external.has_unknown_keys = true;
      return {};  // an unknown key, which is copied
    }
    fields.emplace_back(field.whole);
    return {};
  }
};

/// Notes the field that has the data.
void add_data(const Field& f, Tensor& tensor) {
  const auto field = static_cast<DataField>(f.number);
  // An empty packed field has no data, and is allowed beside another field.
  if (f.wire == Wire::bytes && f.payload.empty() && field != DataField::raw_data &&
      field != DataField::string_data) {
    return;
  }
  if (field == DataField::raw_data) tensor.raw = ShortSpan(f.payload);
  if (tensor.data != DataField::none && tensor.data != field) tensor.several_data = true;
  tensor.data = field;
}

/// Values of a TensorProto that are collected before they go into the store, or are not in Tensor.
struct Parts {
  std::vector<int64_t> dims;
  ExternalEntries entries;
  bool is_external = false;
  int64_t data_bytes = 0;
};

Status read_fields(Source& source, Span message, Store& store, Tensor& tensor, Parts& parts) {
  return for_each_field(source, Message::tensor, message, [&](const Field& f) -> Status {
    switch (f.number) {
      case field::tensor::dims:
        DEQUANT_CHECK(for_each_varint(source, f, [&](int64_t d) -> Status {
          if (parts.dims.size() == kMostDims) {
            return failure(ErrorCode::limit, "a tensor with more than {} dimensions", kMostDims);
          }
          parts.dims.push_back(d);
          return {};
        }));
        break;
      case field::tensor::data_type: tensor.data_type = static_cast<int32_t>(f.value); break;
      case field::tensor::segment: tensor.has_segment = true; break;
      case field::tensor::float_data:
      case field::tensor::int32_data:
      case field::tensor::string_data:
      case field::tensor::int64_data:
      case field::tensor::raw_data:
      case field::tensor::double_data:
      case field::tensor::uint64_data:
        parts.data_bytes += f.payload.size();
        add_data(f, tensor);
        break;
      case field::tensor::name: {
        DEQUANT_TRY(tensor.name, read_text(source, f.payload, store));
        break;
      }
      case field::tensor::external_data: DEQUANT_CHECK(parts.entries.add(source, f, store)); break;
      case field::tensor::data_location:  // of an enumeration, of which protobuf keeps the values
                                          // that it knows
        if (f.value == static_cast<uint64_t>(DataLocation::in_model)) parts.is_external = false;
        if (f.value == static_cast<uint64_t>(DataLocation::external)) parts.is_external = true;
        break;
      default: break;
    }
    return {};
  });
}

/// Sets the tensor from all its fields.
Status check_together(Store& store, Tensor& tensor, Parts& parts) {
  const auto& [dims, entries, is_external, data_bytes] = parts;
  tensor.dims = Dims(store.array(std::span<const int64_t>(dims)));
  if (const auto count = element_count(tensor.dims); !count) {
    return Error{ErrorCode::malformed, count.error().message};
  }
  if (!is_external && entries.count == 0) return {};
  if (!is_external) {
    return Error{ErrorCode::malformed, "external_data, but data_location is not EXTERNAL"};
  }
  if (!entries.has_location) {
    return Error{ErrorCode::malformed, "external data without a location"};
  }
  if (tensor.data != DataField::none) {
    return Error{ErrorCode::malformed, "external data and data in the model"};
  }
  External& external = store.create<External>() = entries.external;
  external.fields = store.array(std::span<const ShortSpan>(entries.fields));
  tensor.external = &external;
  return {};
}

}  // namespace

bool is_external_key(std::string_view key) {
  // Weights in ONNX Runtime's own layout are in the same file, at offsets under keys like
  // prepacked_0.
  return key == "location" || key == "offset" || key == "length" || key == "checksum" ||
         key.starts_with("prepacked");
}

Result<int64_t> read_tensor(Source& source, Span message, Store& store, Tensor& tensor) {
  tensor.message = ShortSpan(message);
  Parts parts;
  auto status = read_fields(source, message, store, tensor, parts);
  if (status) status = check_together(store, tensor, parts);
  if (status) return parts.data_bytes;
  if (tensor.name.empty()) return std::move(status).error();
  return in(fmt::format("tensor {}", escaped(tensor.name)), std::move(status).error());
}

}  // namespace dequant::format::onnx
