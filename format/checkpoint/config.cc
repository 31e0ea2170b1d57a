// config.json of a checkpoint.
#include "format/checkpoint/config.h"

#include <array>

#include "format/checkpoint/names.h"
#include "format/io/below.h"
#include "format/io/errors.h"
#include "format/json/json.h"

namespace dequant::format::checkpoint {
namespace {

using nlohmann::ordered_json;

constexpr int64_t kMostBytes = int64_t{16} << 20;
constexpr const char* kText = "text_config";
constexpr const char* kQuantization = "quantization_config";
/// Keys that say that tensors are quantized: of MLX, and of DeepSeek-V4.
constexpr std::array kOtherKeys{"quantization", "expert_dtype"};
constexpr std::array kDtypeKeys{"dtype", "torch_dtype"};

/// A member of an object, or null.
const ordered_json* find(const ordered_json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find(key);
  return at == object.end() ? nullptr : &*at;
}

/// The float type of "bfloat16" or "torch.bfloat16".
std::optional<Element> float_type(const ordered_json* value) {
  if (value == nullptr || !value->is_string()) return {};
  std::string text = value->get<std::string>();
  if (text.starts_with("torch.")) text.erase(0, 6);
  for (const Element e : {Element::float32, Element::float16, Element::bfloat16}) {
    if (text == name(e)) return e;
  }
  return {};
}

void make_dense(ordered_json& object, Element dtype) {
  if (!object.is_object()) return;
  object.erase(kQuantization);
  for (const char* key : kOtherKeys) object.erase(key);
  for (const char* key : kDtypeKeys) {
    if (float_type(find(object, key))) object[key] = name(dtype);
  }
}

}  // namespace

Result<Config> Config::read(const Shards& shards) {
  Config config;
  const std::string path = shards.folder() + "/" + std::string(kConfig);
  if (!shards.is_folder() || identity_of(path).size < 0) return config;
  DEQUANT_TRY(const std::string text, read_small_file(path, kMostBytes));
  auto document = parse_ordered_json(text);
  if (!document) return in(escaped(path), std::move(document).error());
  if (!document->is_object())
    return failure(ErrorCode::malformed, "{}: not a JSON object", escaped(path));
  config.document_ = *std::move(document);
  return config;
}

const ordered_json* Config::quantization() const {
  if (const ordered_json* own = find(document_, kQuantization)) return own;
  const ordered_json* text = find(document_, kText);
  return text == nullptr ? nullptr : find(*text, kQuantization);
}

std::string Config::method() const {
  const ordered_json* section = quantization();
  const ordered_json* method = section == nullptr ? nullptr : find(*section, "quant_method");
  return method != nullptr && method->is_string() ? method->get<std::string>() : std::string();
}

std::optional<Element> Config::dtype() const {
  for (const ordered_json* object :
       {static_cast<const ordered_json*>(&document_), find(document_, kText)}) {
    if (object == nullptr) continue;
    for (const char* key : kDtypeKeys) {
      if (const auto type = float_type(find(*object, key))) return type;
    }
  }
  return {};
}

ordered_json Config::dense(Element dtype) const {
  ordered_json out = document_;
  make_dense(out, dtype);
  if (const auto text = out.find(kText); text != out.end()) make_dense(*text, dtype);
  return out;
}

}  // namespace dequant::format::checkpoint
