// config.json of a checkpoint.
#include "format/checkpoint/config.h"

#include <array>
#include <map>
#include <nlohmann/json.hpp>

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

/// Files that have what quantization_config has elsewhere, and the method of those who write these.
struct OwnFile {
  std::string_view name;
  const char* method;
  const char* key;  ///< of the object in the file; null: it is the whole file
};
constexpr std::array kOwnFiles{OwnFile{"quantize_config.json", "gptq", nullptr},
                               OwnFile{"quant_config.json", "awq", nullptr},
                               OwnFile{"hf_quant_config.json", "modelopt", "quantization"}};

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

/// The object of a file; null where the file is not there.
Result<ordered_json> read_object(const std::string& path) {
  if (identity_of(path).size < 0) return ordered_json();
  DEQUANT_TRY(const std::string text, read_small_file(path, kMostBytes));
  auto document = parse_python_json(text);
  if (!document) return in(escaped(path), std::move(document).error());
  if (!document->is_object())
    return failure(ErrorCode::malformed, "{}: not a JSON object", escaped(path));
  return document;
}

}  // namespace

struct Config::Documents {
  ordered_json config;
  std::map<std::string_view, ordered_json> files;
};

Config::Config(std::shared_ptr<const Documents> documents) : documents_(std::move(documents)) {}

Result<Config> Config::read(const Shards& shards) {
  auto documents = std::make_shared<Documents>();
  if (!shards.is_folder()) return Config(std::move(documents));
  DEQUANT_TRY(documents->config, read_object(fmt::format("{}/{}", shards.folder(), kConfig)));
  for (const std::string_view name : kQuantizationFiles) {
    DEQUANT_TRY(auto document, read_object(fmt::format("{}/{}", shards.folder(), name)));
    if (!document.is_null()) documents->files.emplace(name, std::move(document));
  }
  return Config(std::move(documents));
}

const ordered_json& Config::document() const { return documents_->config; }

const ordered_json* Config::file(std::string_view name) const {
  const auto at = documents_->files.find(name);
  return at == documents_->files.end() ? nullptr : &at->second;
}

const ordered_json* Config::section_of(std::string_view name, const char* key) const {
  const ordered_json* whole = file(name);
  return whole == nullptr || key == nullptr ? whole : find(*whole, key);
}

const ordered_json* Config::quantization() const {
  if (const ordered_json* own = find(document(), kQuantization)) return own;
  const ordered_json* text = find(document(), kText);
  if (const ordered_json* own = text == nullptr ? nullptr : find(*text, kQuantization)) return own;
  for (const OwnFile& own : kOwnFiles) {
    if (const ordered_json* section = section_of(own.name, own.key)) return section;
  }
  return nullptr;
}

std::string Config::method() const {
  const ordered_json* section = quantization();
  const ordered_json* method = section == nullptr ? nullptr : find(*section, "quant_method");
  if (method != nullptr && method->is_string()) return method->get<std::string>();
  for (const OwnFile& own : kOwnFiles) {
    if (section != nullptr && section == section_of(own.name, own.key)) return own.method;
  }
  return {};
}

std::optional<Element> Config::dtype() const {
  for (const ordered_json* object : {&document(), find(document(), kText)}) {
    if (object == nullptr) continue;
    for (const char* key : kDtypeKeys) {
      if (const auto type = float_type(find(*object, key))) return type;
    }
  }
  return {};
}

ordered_json Config::dense(Element dtype) const {
  ordered_json out = document();
  make_dense(out, dtype);
  if (const auto text = out.find(kText); text != out.end()) make_dense(*text, dtype);
  return out;
}

}  // namespace dequant::format::checkpoint
