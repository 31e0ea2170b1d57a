// Lists and texts of attributes.
#include "format/onnx/evaluation/attributes.h"

#include "format/io/errors.h"

namespace dequant::format::onnx {
namespace {

/// Far more than a tensor has dimensions, which is what such lists are about.
constexpr size_t kMostInts = 4096;
constexpr int64_t kLongestText = 1024;

/// Calls visit(source, field) for the fields of the attribute. Returns false where the node has no
/// attribute of that name.
template <class Visit>
Result<bool> visit_attribute(const Model& model, const Node& node, std::string_view name,
                             Visit&& visit) {
  if (node.attribute(name) == nullptr || node.frame < 0) return false;
  const Span message = model.frame(node.frame).payload();
  Source outer = model.source.window(message);
  Source inner = model.source.window(message);
  Cursor fields(outer, message);
  for (Field f;;) {
    DEQUANT_TRY(const bool more, fields.next(f));
    if (!more) return true;
    if (f.number != field::node::attribute || f.wire != Wire::bytes) continue;
    bool is_it = false;
    for (const bool of_name : {true, false}) {  // the name may come behind the value
      Cursor cursor(inner, f.payload);
      for (Field part;;) {
        DEQUANT_TRY(const bool again, cursor.next(part));
        if (!again) break;
        if (!of_name) {
          if (is_it) DEQUANT_CHECK(visit(inner, part));
        } else if (part.number == field::attribute::name && part.wire == Wire::bytes) {
          DEQUANT_TRY(const std::string text, inner.text(part.payload));
          is_it = text == name;
        }
      }
    }
  }
}

}  // namespace

Result<std::optional<std::vector<int64_t>>> read_ints(const Model& model, const Node& node,
                                                      std::string_view name) {
  std::vector<int64_t> ints;
  Source packed = model.source.window(model.source.all());
  const auto add = [&](Source&, const Field& f) -> Status {
    if (f.number != field::attribute::ints) return {};
    return for_each_varint(packed, f, [&](int64_t value) -> Status {
      ints.push_back(value);
      if (ints.size() <= kMostInts) return {};
      return failure(ErrorCode::limit, "attribute {} has more than {} integers", escaped(name),
                     kMostInts);
    });
  };
  DEQUANT_TRY(const bool found, visit_attribute(model, node, name, add));
  return found ? std::optional(std::move(ints)) : std::nullopt;
}

Result<std::optional<std::string>> read_string(const Model& model, const Node& node,
                                               std::string_view name) {
  std::string text;
  const auto take = [&](Source& source, const Field& f) -> Status {
    if (f.number != field::attribute::s || f.wire != Wire::bytes) return {};
    DEQUANT_TRY(text, source.text(f.payload, kLongestText));
    return {};
  };
  DEQUANT_TRY(const bool found, visit_attribute(model, node, name, take));
  return found ? std::optional(std::move(text)) : std::nullopt;
}

Result<int64_t> int_attribute(const Node& node, std::string_view name, int64_t otherwise) {
  const Attribute* a = node.attribute(name);
  if (a == nullptr) return otherwise;
  if (a->type == 0 || a->type == static_cast<int32_t>(AttributeType::int_)) return a->i;
  return failure(ErrorCode::invalid_argument, "{} is no integer", escaped(name));
}

}  // namespace dequant::format::onnx
