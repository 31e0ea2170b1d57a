// Reading descriptions in JSON into DirectML's structures, which have pointers to each other.
#include "conformance/directml/description.h"

#include "conformance/directml/names.h"
#include "format/io/errors.h"
#include "format/io/file.h"
#include "format/json/json.h"

namespace dequant::conformance::directml {

using format::bad;
using format::check_object;
using format::escaped;
using format::in;
using format::integer;
using format::integers;
using format::member;
using format::parse_json;
using format::read_small_file;
using format::shown;
using format::text_member;

namespace {

using nlohmann::json;

constexpr int64_t kMaxFile = int64_t{1} << 20;

/// The member, or null where it is absent or null in JSON.
const json* optional_member(const json& object, std::string_view key) {
  const json* value = member(object, key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Result<const json*> needed(const json& object, std::string_view key) {
  if (const json* value = member(object, key)) return value;
  return bad("there is no \"{}\"", key);
}

Result<UINT> narrow(const json& value) {
  DEQUANT_TRY(const uint64_t number, integer<uint64_t>(value));
  if (number > UINT32_MAX) return bad("{} does not fit in 32 bits", number);
  return static_cast<UINT>(number);
}

Result<UINT> count_member(const json& object, std::string_view key) {
  DEQUANT_TRY(const json* value, needed(object, key));
  auto count = narrow(*value);
  if (!count) return in(key, std::move(count).error());
  return count;
}

Result<std::vector<UINT>> numbers(const json& object, std::string_view key) {
  std::vector<UINT> out;
  DEQUANT_TRY(const std::vector<uint64_t> wide, integers<uint64_t>(object, key));
  for (const uint64_t number : wide) {
    if (number > UINT32_MAX) {
      return bad("{}[{}]: {} does not fit in 32 bits", key, out.size(), number);
    }
    out.push_back(static_cast<UINT>(number));
  }
  return out;
}

}  // namespace

class Reader {
 public:
  explicit Reader(Description& out) : out_(out) {}

  Status read(const json& whole) {
    if (!whole.is_object()) return bad("{} is not an object", shown(whole));
    const bool lower = member(whole, "type") != nullptr && member(whole, "Type") == nullptr;
    const std::string type_key = lower ? "type" : "Type";
    const std::string desc_key = lower ? "desc" : "Desc";
    DEQUANT_TRY(const std::string name, text_member(whole, type_key));
    DEQUANT_TRY(out_.operator_.Type, read_operator(name));
    const json* desc = member(whole, desc_key);
    if (desc != nullptr) {
      DEQUANT_CHECK(check_object(whole, {type_key, desc_key}));
      return read_operator_desc(*desc);
    }
    json members = whole;
    members.erase(type_key);
    return read_operator_desc(members);
  }

 private:
  enum Slot : size_t { kInput, kScale, kZeroPoint, kOutput };

  Status read_operator_desc(const json& desc) {
    return out_.operator_.Type == DML_OPERATOR_DEQUANTIZE ? read_dequantize(desc)
                                                          : read_element_wise(desc);
  }

  Status read_element_wise(const json& desc) {
    DEQUANT_CHECK(
        check_object(desc, {"InputTensor", "ScaleTensor", "ZeroPointTensor", "OutputTensor"}));
    auto& op = out_.element_wise_;
    DEQUANT_TRY(op.InputTensor, tensor_member(desc, "InputTensor", kInput));
    DEQUANT_TRY(op.ScaleTensor, tensor_member(desc, "ScaleTensor", kScale));
    if (optional_member(desc, "ZeroPointTensor") != nullptr) {
      DEQUANT_TRY(op.ZeroPointTensor, tensor_member(desc, "ZeroPointTensor", kZeroPoint));
    }
    DEQUANT_TRY(op.OutputTensor, tensor_member(desc, "OutputTensor", kOutput));
    out_.operator_.Desc = &op;
    return {};
  }

  Status read_dequantize(const json& desc) {
    DEQUANT_CHECK(check_object(desc, {"InputTensor", "QuantizationType", "QuantizationTensorCount",
                                      "QuantizationTensors", "OutputTensor"}));
    auto& op = out_.dequantize_;
    DEQUANT_TRY(op.InputTensor, tensor_member(desc, "InputTensor", kInput));
    DEQUANT_TRY(const std::string type, text_member(desc, "QuantizationType"));
    DEQUANT_TRY(op.QuantizationType, read_quantization_type(type));
    DEQUANT_TRY(op.QuantizationTensorCount, count_member(desc, "QuantizationTensorCount"));
    DEQUANT_TRY(const json* tensors, needed(desc, "QuantizationTensors"));
    if (!tensors->is_array())
      return bad("QuantizationTensors: {} is not an array", shown(*tensors));
    if (tensors->size() > 2) {
      return bad("QuantizationTensors: {} tensors; there are at most a scale and a zero point",
                 tensors->size());
    }
    if (tensors->size() != op.QuantizationTensorCount) {
      return bad("QuantizationTensorCount: {}, but there are {} QuantizationTensors",
                 op.QuantizationTensorCount, tensors->size());
    }
    for (size_t i = 0; i < tensors->size(); ++i) {
      DEQUANT_CHECK(tensor((*tensors)[i], fmt::format("QuantizationTensors[{}]", i), kScale + i));
    }
    op.QuantizationTensors = &out_.tensors_[kScale];
    DEQUANT_TRY(op.OutputTensor, tensor_member(desc, "OutputTensor", kOutput));
    out_.operator_.Desc = &op;
    return {};
  }

  Result<const DML_TENSOR_DESC*> tensor_member(const json& desc, std::string_view key, Slot slot) {
    DEQUANT_TRY(const json* value, needed(desc, key));
    DEQUANT_CHECK(tensor(*value, key, slot));
    return &out_.tensors_[slot];
  }

  Status tensor(const json& value, std::string_view name, size_t slot) {
    auto status = read_tensor(value, out_.tensors_[slot], out_.buffers_[slot]);
    if (!status) return in(name, std::move(status).error());
    return {};
  }

  static Status read_tensor(const json& value, DML_TENSOR_DESC& tensor,
                            Description::Buffer& buffer) {
    if (!value.is_object()) return bad("{} is not an object", shown(value));
    tensor = {DML_TENSOR_TYPE_BUFFER, &buffer.desc};
    if (member(value, "Type") != nullptr) {
      DEQUANT_TRY(const std::string type, text_member(value, "Type"));
      DEQUANT_TRY(tensor.Type, read_tensor_type(type));
    }
    const json* desc = member(value, "Desc");
    if (desc == nullptr) return read_buffer(value, buffer);
    DEQUANT_CHECK(check_object(value, {"Type", "Desc"}));
    return read_buffer(*desc, buffer);
  }

  static Status read_buffer(const json& value, Description::Buffer& buffer) {
    DEQUANT_CHECK(
        check_object(value, {"Type", "DataType", "Flags", "DimensionCount", "Sizes", "Strides",
                             "TotalTensorSizeInBytes", "GuaranteedBaseOffsetAlignment"}));
    DML_BUFFER_TENSOR_DESC& desc = buffer.desc;
    DEQUANT_TRY(const std::string type, text_member(value, "DataType"));
    DEQUANT_TRY(desc.DataType, read_data_type(type));
    if (const json* flags = optional_member(value, "Flags")) {
      DEQUANT_TRY(desc.Flags, read_tensor_flags(*flags));
    }
    DEQUANT_CHECK(read_shape(value, buffer));
    if (optional_member(value, "GuaranteedBaseOffsetAlignment") != nullptr) {
      DEQUANT_TRY(desc.GuaranteedBaseOffsetAlignment,
                  count_member(value, "GuaranteedBaseOffsetAlignment"));
    }
    if (const json* bytes = optional_member(value, "TotalTensorSizeInBytes")) {
      auto total = integer<uint64_t>(*bytes);
      if (!total) return in("TotalTensorSizeInBytes", std::move(total).error());
      desc.TotalTensorSizeInBytes = *total;
    }
    if (desc.TotalTensorSizeInBytes != 0) return {};
    DEQUANT_TRY(desc.TotalTensorSizeInBytes,
                dequant::directml::buffer_tensor_size(desc.DataType, buffer.sizes, buffer.strides));
    return {};
  }

  static Status read_shape(const json& value, Description::Buffer& buffer) {
    DML_BUFFER_TENSOR_DESC& desc = buffer.desc;
    DEQUANT_TRY(buffer.sizes, numbers(value, "Sizes"));
    desc.Sizes = buffer.sizes.data();
    desc.DimensionCount =
        static_cast<UINT>(buffer.sizes.size());  // the text is far smaller than 2^32
    if (optional_member(value, "DimensionCount") != nullptr) {
      DEQUANT_TRY(const UINT count, count_member(value, "DimensionCount"));
      if (count != desc.DimensionCount) {
        return bad("DimensionCount: {}, but there are {} Sizes", count, desc.DimensionCount);
      }
    }
    if (optional_member(value, "Strides") == nullptr) return {};
    DEQUANT_TRY(buffer.strides, numbers(value, "Strides"));
    if (buffer.strides.size() != buffer.sizes.size()) {
      return bad("Strides: {} of them for {} Sizes", buffer.strides.size(), buffer.sizes.size());
    }
    desc.Strides = buffer.strides.data();
    return {};
  }

  Description& out_;
};

Result<std::unique_ptr<Description>> parse_description(std::string_view text) {
  DEQUANT_TRY(const json whole, parse_json(text));
  auto description = std::make_unique<Description>();
  DEQUANT_CHECK(Reader(*description).read(whole));
  return description;
}

Result<std::unique_ptr<Description>> read_description(const std::string& path) {
  DEQUANT_TRY(const std::string text, read_small_file(path, kMaxFile));
  auto description = parse_description(text);
  if (!description) return in(escaped(path), std::move(description).error());
  return description;
}

}  // namespace dequant::conformance::directml
