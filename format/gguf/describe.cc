// What a GGUF model is, in words and as JSON.
#include "format/gguf/describe.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "format/io/utf8.h"

namespace dequant::format::gguf {
namespace {

using nlohmann::ordered_json;

constexpr int64_t kMostShown = 200;    ///< bytes of a text that are shown
constexpr uint64_t kMostElements = 4;  ///< of an array

/// By the numbers of general.file_type, from 0 on; empty: not in use.
constexpr std::array<std::string_view, 41> kFileTypes{
    "F32",   "F16",     "Q4_0",      "Q4_1",   "",       "",        "",       "Q8_0",   "Q5_0",
    "Q5_1",  "Q2_K",    "Q3_K_S",    "Q3_K_M", "Q3_K_L", "Q4_K_S",  "Q4_K_M", "Q5_K_S", "Q5_K_M",
    "Q6_K",  "IQ2_XXS", "IQ2_XS",    "Q2_K_S", "IQ3_XS", "IQ3_XXS", "IQ1_S",  "IQ4_NL", "IQ3_S",
    "IQ3_M", "IQ2_S",   "IQ2_M",     "IQ4_XS", "IQ1_M",  "BF16",    "",       "",       "",
    "TQ1_0", "TQ2_0",   "MXFP4_MOE", "NVFP4",  "Q1_0",
};

ordered_json json_of(Number number) {
  if (number.type == ValueType::boolean) return number.bits != 0;
  if (number.type == ValueType::uint64) return number.bits;
  if (number.is_integer()) return number.integer();
  // JSON has no NaN and no infinity.
  const double real = number.real();
  return std::isfinite(real) ? ordered_json(real) : ordered_json(fmt::format("{}", real));
}

std::string text_of(Number number) {
  if (number.type == ValueType::boolean) return number.bits != 0 ? "true" : "false";
  if (number.type == ValueType::uint64) return fmt::format("{}", number.bits);
  if (number.is_integer()) return fmt::format("{}", number.integer());
  return number.type == ValueType::float32 ? fmt::format("{}", static_cast<float>(number.real()))
                                           : fmt::format("{}", number.real());
}

std::string shortened(std::string_view text, bool whole) {
  return fmt::format("{}{}", escaped(text), whole && text.size() <= kMostShown ? "" : "...");
}

/// For JSON, which escapes what it must: the text itself, or the characters that it begins with.
std::string json_text(std::string_view text, bool whole) {
  if (whole && text.size() <= kMostShown) return as_utf8(text);
  size_t last = text.size();  // of a character that may be cut
  while (last > 0 && text.size() - last < 4 && (text[--last] & 0xC0) == 0x80) continue;
  if (last < text.size() && utf8_length(text, last) == 0) text = text.substr(0, last);
  return as_utf8(text) + "...";
}

/// A file that cannot be read any more is an error later on, where its tensors are read.
Result<ordered_json> json_of(const Parts& parts, const Pair& pair) {
  const InputFile& file = parts.files()[0].file;
  if (pair.type == ValueType::text) {
    DEQUANT_TRY(const std::string text, text_of(file, pair, kMostShown));
    return ordered_json(json_text(text, pair.number <= kMostShown));
  }
  if (pair.type != ValueType::array) return json_of(Number{pair.type, pair.number});
  ordered_json first = ordered_json::array();
  DEQUANT_CHECK(visit_elements(
      file, parts.big_endian(), pair, kMostElements,
      [&](Number number) { first.push_back(json_of(number)); },
      [&](std::string_view text) {
        first.push_back(json_text(text.substr(0, kMostShown), text.size() <= kMostShown));
      }));
  return ordered_json{
      {"type", name(pair.element)}, {"count", pair.number}, {"first", std::move(first)}};
}

Result<std::string> text_of(const Parts& parts, const Pair& pair) {
  const InputFile& file = parts.files()[0].file;
  if (pair.type == ValueType::text) {
    DEQUANT_TRY(const std::string text, text_of(file, pair, kMostShown));
    return shortened(text, pair.number <= kMostShown);
  }
  if (pair.type != ValueType::array) return text_of(Number{pair.type, pair.number});
  std::string list;
  const auto add = [&](const std::string& one) {
    fmt::format_to(std::back_inserter(list), "{}{}", list.empty() ? "" : ", ", one);
  };
  DEQUANT_CHECK(visit_elements(
      file, parts.big_endian(), pair, kMostElements, [&](Number number) { add(text_of(number)); },
      [&](std::string_view text) {
        add(fmt::format("\"{}\"", shortened(text.substr(0, 20), text.size() <= 20)));
      }));
  if (pair.number > kMostElements) list += ", ...";
  return fmt::format("{} of {}: [{}]", pair.number, name(pair.element), list);
}

}  // namespace

std::string architecture(const Parts& parts) {
  const Pair* pair = parts.metadata().find(kArchitectureKey);
  if (pair == nullptr || pair->type != ValueType::text) return {};
  const auto text = text_of(parts.files()[0].file, *pair, kMostShown);
  return text ? *text : std::string();
}

std::string file_type(const Parts& parts) {
  const auto number = parts.metadata().integer(kFileTypeKey);
  if (!number || !*number || **number >= static_cast<int64_t>(kFileTypes.size())) return {};
  return std::string(kFileTypes[static_cast<size_t>(**number)]);
}

int64_t parameters(const Parts& parts) {
  int64_t sum = 0;
  // Each has at least one bit in a file.
  for (const Entry& entry : parts.entries())
    sum += entry.bytes() / entry.type().bytes * entry.type().elements;
  return sum;
}

ordered_json facts(const Parts& parts) {
  ordered_json j = ordered_json::object();
  const Header& header = parts.files()[0].header;
  j["architecture"] = as_utf8(architecture(parts));
  j["file_type"] = file_type(parts);
  j["parameters"] = parameters(parts);
  j["version"] = header.version();
  j["big_endian"] = header.big_endian();
  j["alignment"] = header.alignment();
  j["files"] = parts.files().size();
  j["stored_tensors"] = parts.entries().size();
  ordered_json metadata = ordered_json::object();
  auto& members = metadata.get_ref<ordered_json::object_t&>();  // keys are different
  for (const Pair& pair : parts.metadata().pairs()) {
    const auto value = json_of(parts, pair);
    members.emplace_back(std::string(pair.key), value ? *value : ordered_json());
  }
  j["metadata"] = std::move(metadata);
  return j;
}

Result<std::vector<std::pair<std::string, std::string>>> texts(const Parts& parts) {
  const InputFile& file = parts.files()[0].file;
  std::vector<std::pair<std::string, std::string>> all;
  for (const Pair& pair : parts.metadata().pairs()) {
    std::string& text = all.emplace_back(std::string(pair.key), "").second;
    if (pair.type == ValueType::text) {
      DEQUANT_TRY(text, text_of(file, pair, INT64_MAX));
      text = as_utf8(text);
    } else if (pair.type == ValueType::array) {
      // A vocabulary as a document takes several times the memory of its text.
      const auto add = [&](const ordered_json& element) {
        text += text.empty() ? '[' : ',';
        text += element.dump();
      };
      DEQUANT_CHECK(visit_elements(
          file, parts.big_endian(), pair, pair.number, [&](Number number) { add(json_of(number)); },
          [&](std::string_view element) { add(as_utf8(element)); }));
      text += text.empty() ? "[]" : "]";
    } else {
      text = text_of(Number{pair.type, pair.number});
    }
  }
  return all;
}

std::vector<Headline> details(const Parts& parts) {
  std::vector<Headline> lines;
  for (const Pair& pair : parts.metadata().pairs()) {
    const auto value = text_of(parts, pair);
    lines.push_back({escaped(pair.key), value ? *value : value.error().message, ""});
  }
  return lines;
}

}  // namespace dequant::format::gguf
