// The message types of ONNX: fields.def as a table.
#include "format/onnx/schema.h"

#include <array>

namespace dequant::format::onnx {
namespace {

constexpr size_t kFields = 32;  // all field numbers are smaller

using Fields = std::array<FieldRule, kFields>;
using Schema = std::array<Fields, static_cast<size_t>(Message::count)>;

constexpr FieldRule kVarint{Content::varint};
constexpr FieldRule kFloat{Content::float_};
constexpr FieldRule kBytes{Content::bytes};
constexpr FieldRule kVarints{Content::varints};
constexpr FieldRule kFloats{Content::floats};
constexpr FieldRule kDoubles{Content::doubles};

constexpr FieldRule of(Message message) { return {Content::message, message}; }

constexpr Schema make_schema() {
  using enum Message;
  Schema schema{};
#define DEQUANT_ONNX_FIELD(message, field, number, content) \
  schema[static_cast<size_t>(message)][number] = content;
#include "format/onnx/fields.def"
#undef DEQUANT_ONNX_FIELD
  return schema;
}

constexpr Schema kSchema = make_schema();

}  // namespace

FieldRule rule_of(Message message, uint32_t field) {
  return field < kFields ? kSchema[static_cast<size_t>(message)][field] : FieldRule{};
}

}  // namespace dequant::format::onnx
