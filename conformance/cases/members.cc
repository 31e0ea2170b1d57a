// Every unknown key is an error here as well.
#include "conformance/cases/members.h"

#include "format/io/errors.h"
#include "format/json/json.h"

namespace dequant::conformance {

using format::bad;
using format::check_object;
using format::integers;
using format::member;
using format::shown;
using format::text_member;
using nlohmann::json;

Status check_frame(const json& root, std::string_view kind, std::string_view format,
                   std::string_view list) {
  const json* named = root.is_object() ? member(root, "format") : nullptr;
  if (named == nullptr || *named != format) {
    return bad("not a {}: no \"format\": \"{}\"", kind, format);
  }
  const json* version = member(root, "version");
  if (version == nullptr || !version->is_number_unsigned() || *version != 1u) {
    return bad("version: {} is not 1", version == nullptr ? "nothing" : shown(*version));
  }
  DEQUANT_CHECK(check_object(root, {"format", "version", "about", list}));
  const json* array = member(root, list);
  if (array == nullptr || !array->is_array()) return bad("there is no array \"{}\"", list);
  return {};
}

Result<std::string> parse_about(const json& root) {
  if (!root.contains("about")) return std::string();
  return text_member(root, "about");
}

Result<CaseTensor> parse_tensor(const json& value) {
  DEQUANT_CHECK(check_object(value, {"type", "shape", "bits", "strides"}));
  CaseTensor tensor;
  DEQUANT_TRY(tensor.type, text_member(value, "type"));
  DEQUANT_TRY(tensor.shape, integers<int64_t>(value, "shape"));
  DEQUANT_TRY(tensor.bits, integers<uint64_t>(value, "bits"));
  if (value.contains("strides")) {
    DEQUANT_TRY(tensor.strides, integers<int64_t>(value, "strides"));
  }
  return tensor;
}

}  // namespace dequant::conformance
