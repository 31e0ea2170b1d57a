// config.json of a checkpoint.
#include "format/checkpoint/config.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "format/checkpoint/names.h"
#include "format/io/below.h"
#include "format/io/errors.h"
#include "format/io/is_there.h"
#include "format/json/json.h"

namespace dequant::format::checkpoint {
namespace {

using nlohmann::ordered_json;

constexpr int64_t kMostBytes = int64_t{16} << 20;
constexpr std::string_view kPart = "_config";
/// Parts of a model that have its language model.
constexpr std::array<std::string_view, 4> kTexts{"text_config", "llm_config", "language_config",
                                                 "thinker_config"};
/// The key of the same object in files of older versions of compressed-tensors.
constexpr const char* kCompression = "compression_config";
constexpr const char* kMethod = "quant_method";
/// Keys that say that tensors are quantized: of MLX and Mistral, and of DeepSeek-V4.
constexpr std::array kOtherKeys{"quantization", "expert_dtype"};
constexpr std::array kDtypeKeys{"dtype", "torch_dtype"};
/// How the names of types of codes begin.
constexpr std::array<std::string_view, 6> kQuantizedTypes{"float4", "float8", "int",
                                                          "uint",   "qint",   "quint"};

/// Files that have what quantization_config has elsewhere, and the method of those who write these.
struct OwnFile {
  std::string_view name;
  const char* method;
  const char* key;  ///< of the object in the file; null: it is the whole file
};
constexpr std::array kOwnFiles{OwnFile{"quantize_config.json", "gptq", nullptr},
                               OwnFile{"quant_config.json", "awq", nullptr},
                               OwnFile{"hf_quant_config.json", "modelopt", "quantization"}};

/// A member of an object, or null. A member that is null counts as absent.
const ordered_json* find(const ordered_json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find(key);
  return at == object.end() || at->is_null() ? nullptr : &*at;
}

/// The key of the object that says how the tensors of a model, or of a part of it, are quantized;
/// null: there is none.
const char* section_key(const ordered_json& model) {
  if (find(model, kQuantizationConfig) != nullptr) return kQuantizationConfig;
  const ordered_json* older = find(model, kCompression);
  return older != nullptr && find(*older, kMethod) != nullptr ? kCompression : nullptr;
}

/// Calls visit(key, part) for the parts of a model.
template <class Json, class Visit>
void for_each_part(Json& model, Visit visit) {
  if (!model.is_object()) return;
  for (auto&& [key, value] : model.items()) {
    if (value.is_object() && key.ends_with(kPart) && key != kQuantizationConfig &&
        key != kCompression)
      visit(key, value);
  }
}

/// An object that says how tensors are quantized, and its place in the document.
struct Found {
  std::string name;
  const ordered_json* section;
};

void find_sections(const ordered_json& model, const std::string& place, std::vector<Found>& found) {
  if (const char* key = section_key(model)) found.push_back({place + key, find(model, key)});
  for_each_part(model, [&](const std::string& key, const ordered_json& part) {
    find_sections(part, fmt::format("{}{}.", place, key), found);
  });
}

/// The object that says how the tensors of a model are quantized; null: there is none. Fails with
/// unsupported where parts differ, unless the model itself has one.
Result<const ordered_json*> section_of_model(const ordered_json& model) {
  if (const char* key = section_key(model)) return find(model, key);
  std::vector<Found> found;
  find_sections(model, {}, found);
  for (const Found& other : found) {
    if (*other.section == *found[0].section) continue;
    return failure(ErrorCode::unsupported, "{}: {} and {} differ, and dequant reads one", kConfig,
                   escaped(found[0].name), escaped(other.name));
  }
  return found.empty() ? nullptr : found[0].section;
}

/// True for a part whose type is that of dense tensors.
bool is_ours(const std::string& key, const ordered_json& part) {
  if (std::find(kTexts.begin(), kTexts.end(), key) != kTexts.end()) return true;
  std::vector<Found> found;
  find_sections(part, {}, found);
  return !found.empty();
}

/// The name of a type without "torch."; empty: the value is no string.
std::string type_name(const ordered_json* value) {
  std::string text = value != nullptr && value->is_string() ? value->get<std::string>() : "";
  return text.starts_with("torch.") ? text.substr(6) : text;
}

/// The float type of "bfloat16" or "torch.bfloat16".
std::optional<Element> float_type(const ordered_json* value) {
  const auto type = element_from_name(type_name(value));
  return type && is_output(*type) ? type : std::nullopt;
}

bool is_code_type(const ordered_json* value) {
  const std::string text = type_name(value);
  return std::any_of(kQuantizedTypes.begin(), kQuantizedTypes.end(),
                     [&](std::string_view start) { return text.starts_with(start); });
}

std::optional<Element> dtype_of(const ordered_json& model) {
  for (const char* key : kDtypeKeys) {
    if (const auto type = float_type(find(model, key))) return type;
  }
  std::optional<Element> type;
  for_each_part(model, [&](const std::string& key, const ordered_json& part) {
    if (!type && is_ours(key, part)) type = dtype_of(part);
  });
  return type;
}

void erase_sections(ordered_json& model) {
  model.erase(kQuantizationConfig);
  if (section_key(model) != nullptr) model.erase(kCompression);
  for (const char* key : kOtherKeys) model.erase(key);
}

/// `ours`: its type is that of dense tensors.
void make_dense(ordered_json& model, Element dtype, bool ours) {
  for_each_part(model, [&](const std::string& key, ordered_json& part) {
    make_dense(part, dtype, is_ours(key, part));
  });
  if (ours) erase_sections(model);
  for (const char* key : kDtypeKeys) {
    const ordered_json* type = find(model, key);
    if ((ours && float_type(type)) || is_code_type(type)) model[key] = name(dtype);
  }
}

/// The object of a file; null where the file is not there.
Result<ordered_json> read_object(const std::string& path) {
  DEQUANT_TRY(const bool there, is_there(path));
  if (!there) return ordered_json();
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
  ordered_json params;
  const ordered_json* section = nullptr;  ///< in `config`
  std::map<std::string_view, ordered_json> files;
};

Config::Config(std::shared_ptr<const Documents> documents) : documents_(std::move(documents)) {}

Result<Config> Config::read(const Shards& shards) {
  auto documents = std::make_shared<Documents>();
  const std::string& folder = shards.config_folder();
  if (folder.empty()) return Config(std::move(documents));
  DEQUANT_TRY(documents->config, read_object(fmt::format("{}/{}", folder, kConfig)));
  DEQUANT_TRY(documents->section, section_of_model(documents->config));
  auto params = read_object(fmt::format("{}/{}", folder, kParams));
  if (params) {
    documents->params = *std::move(params);
  } else if (params.error().system != 0) {
    return std::move(params).error();
  }  // else it is no object, and has no members that the output must not have
  for (const std::string_view name : kQuantizationFiles) {
    DEQUANT_TRY(auto document, read_object(fmt::format("{}/{}", folder, name)));
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
  if (documents_->section != nullptr) return documents_->section;
  for (const OwnFile& own : kOwnFiles) {
    if (const ordered_json* section = section_of(own.name, own.key)) return section;
  }
  return nullptr;
}

std::string Config::method() const {
  const ordered_json* section = quantization();
  const ordered_json* method = section == nullptr ? nullptr : find(*section, kMethod);
  if (method != nullptr && method->is_string()) return method->get<std::string>();
  for (const OwnFile& own : kOwnFiles) {
    if (section != nullptr && section == section_of(own.name, own.key)) return own.method;
  }
  return {};
}

std::optional<Element> Config::dtype() const { return dtype_of(document()); }

ordered_json Config::dense(Element dtype) const {
  ordered_json out = document();
  make_dense(out, dtype, true);
  return out;
}

ordered_json Config::dense_params() const {
  ordered_json out = documents_->params;
  if (out.is_null()) return {};
  erase_sections(out);
  return out == documents_->params ? ordered_json() : out;
}

}  // namespace dequant::format::checkpoint
