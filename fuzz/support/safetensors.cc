// Files of the safetensors format from numbers, and a naive reader of their headers.
#include "fuzz/support/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace dequant::fuzz {
namespace {

using nlohmann::json;
using Wide = unsigned __int128;

const std::map<std::string, unsigned> kBits{
    {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
    {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
    {"I64", 64},        {"U64", 64}};

/// The bits of a tensor; none where no file can have so many, also where a zero hides them.
std::optional<Wide> bits_of(unsigned width, const std::vector<uint64_t>& shape) {
  Wide count = 1;
  for (const uint64_t size : shape) {
    if (size > 0) count *= size;
    if (count > INT64_MAX) return std::nullopt;
  }
  const bool empty = std::count(shape.begin(), shape.end(), 0U) > 0;
  return empty ? 0 : count * width;
}

std::optional<std::vector<uint64_t>> numbers(const json& list) {
  if (!list.is_array()) return std::nullopt;
  std::vector<uint64_t> out;
  for (const json& value : list) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > INT64_MAX) return std::nullopt;
    out.push_back(value.get<uint64_t>());
  }
  return out;
}

/// The offsets of an entry, if its fields agree.
std::optional<std::pair<uint64_t, uint64_t>> range_of(const json& entry) {
  if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") ||
      !entry.contains("shape") || !entry.contains("data_offsets") || !entry["dtype"].is_string()) {
    return std::nullopt;
  }
  const auto type = kBits.find(entry["dtype"].get<std::string>());
  const auto shape = numbers(entry["shape"]);
  const auto offsets = numbers(entry["data_offsets"]);
  if (type == kBits.end() || !shape || shape->size() > 64 || !offsets || offsets->size() != 2) {
    return std::nullopt;
  }
  const auto bits = bits_of(type->second, *shape);
  const uint64_t begin = (*offsets)[0];
  const uint64_t end = (*offsets)[1];
  if (!bits || begin > end || *bits != Wide{end - begin} * 8) return std::nullopt;
  return std::pair{begin, end};
}

bool is_metadata(const json& value) {
  return value.is_null() ||
         (value.is_object() && std::all_of(value.begin(), value.end(),
                                           [](const json& text) { return text.is_string(); }));
}

std::string escape_of(unsigned unit) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[unit >> shift & 15];
  return out;
}

/// Any text as JSON: some of its characters as escapes, rarely halves of others between them.
std::string spelled(Cursor& cursor, std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool escape = byte < 0x20 || c == '"' || c == '\\' || (byte < 0x80 && cursor.rarely());
    out += escape ? escape_of(byte) : std::string(1, c);
    if (cursor.rarely()) out += escape_of(0xD800U | cursor.below(0x800));
    if (cursor.rarely()) out += escape_of(0xDC00U | cursor.below(0x400));
  }
  return out + "\"";
}

std::string space(Cursor& cursor) {
  constexpr std::array<std::string_view, 4> kSpaces{" ", "\n", "\t", " \r "};
  return cursor.rarely() ? std::string(cursor.pick(kSpaces)) : "";
}

std::string list_of(Cursor& cursor, const std::vector<int64_t>& values) {
  std::string out = "[";
  for (const int64_t value : values) {
    out += (out.size() > 1 ? "," : "") + space(cursor);
    if (cursor.rarely()) out += cursor.coin() ? "0" : "-";
    out += std::to_string(value);
    if (cursor.rarely()) out += cursor.coin() ? "e0" : ".0";
  }
  return out + space(cursor) + "]";
}

constexpr std::array<std::string_view, 12> kNames{"",
                                                  "a",
                                                  "b",
                                                  "a.weight",
                                                  "a.weight_scale",
                                                  "__metadata__",
                                                  "\xC3\xA9",
                                                  "\xF0\x9F\x98\x80",
                                                  "\x01\n",
                                                  "\"\\",
                                                  "\xED\xA0\x80",
                                                  "../c"};

std::string name_of(Cursor& cursor, size_t number) {
  std::string name(cursor.pick(kNames));
  return cursor.rarely() ? name : name + std::to_string(number);
}

/// Fields of a tensor whose data begin at `end`, which moves behind them; rarely wrong ones.
std::vector<std::string> fields_of(Cursor& cursor, int64_t& end) {
  const auto type = std::next(kBits.begin(), cursor.below(kBits.size()));
  std::vector<int64_t> shape = cursor.shape(4);
  if (type->second < 8 && !cursor.rarely()) shape.push_back(4);
  std::vector<uint64_t> sizes(shape.begin(), shape.end());
  const auto bits = bits_of(type->second, sizes).value_or(0);
  std::vector<int64_t> offsets{end, end};
  if (bits <= 1 << 16) end = offsets[1] = end + static_cast<int64_t>(bits / 8);
  if (cursor.rarely()) {
    int64_t& offset = offsets[cursor.below(2)];
    offset = cursor.coin() ? offset + cursor.below(3) - 1 : cursor.extreme();
  }
  if (cursor.rarely()) offsets.push_back(end);
  const std::string name = cursor.rarely() ? "F128" : type->first;
  return {"\"dtype\":" + spelled(cursor, name), "\"shape\":" + list_of(cursor, shape),
          "\"data_offsets\":" + list_of(cursor, offsets)};
}

/// Members in another order, with a comma between them.
std::string joined(Cursor& cursor, std::vector<std::string> members) {
  if (!members.empty()) {
    if (cursor.rarely()) members.push_back(cursor.coin() ? members.front() : "\"x\":[[1e5,null]]");
    if (cursor.rarely()) members.pop_back();
    const auto first = members.begin() + cursor.below(members.size() + 1);
    std::rotate(members.begin(), first, members.end());
  }
  std::string out = "{";
  for (const std::string& member : members) {
    out += (out.size() > 1 ? "," : "") + space(cursor) + member;
  }
  return out + space(cursor) + "}";
}

/// Length, text and data.
std::string file_of(std::string_view text, size_t data) {
  std::string out;
  for (int k = 0; k < 8; ++k) {
    out += static_cast<char>(static_cast<unsigned char>(text.size() >> (8 * k)));
  }
  return out.append(text).append(data, 'x');
}

std::string generated(Cursor& cursor) {
  std::vector<std::string> members;
  int64_t end = 0;
  for (uint32_t count = cursor.below(6); count > 0; --count) {
    std::string name = spelled(cursor, name_of(cursor, members.size()));
    members.push_back(name + ":" + space(cursor) + joined(cursor, fields_of(cursor, end)));
  }
  if (cursor.coin()) {
    std::vector<std::string> pairs;
    for (uint32_t count = cursor.below(4); count > 0; --count) {
      std::string key = spelled(cursor, name_of(cursor, pairs.size()));
      pairs.push_back(key + ":" + (cursor.rarely() ? "1" : spelled(cursor, cursor.pick(kNames))));
    }
    members.push_back("\"__metadata__\":" + joined(cursor, pairs));
  }
  std::string text = joined(cursor, members);
  text.append(cursor.below(8), ' ');
  return file_of(text, static_cast<size_t>(end) + cursor.rarely());
}

}  // namespace

std::string safetensors_file(Cursor& cursor) {
  const uint8_t kind = cursor.byte();
  if (kind < 0x80) return generated(cursor);
  const uint8_t data = kind < 0xF0 ? cursor.byte() : 0;
  const auto rest = cursor.rest();
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
  return kind < 0xF0 ? file_of(text, data) : std::string(text);
}

std::optional<json> safetensors_document(std::string_view file) {
  if (file.size() < 8) return std::nullopt;
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  if (length > file.size() - 8) return std::nullopt;
  const std::string_view text = file.substr(8, length);
  if (!text.starts_with('{') || text[text.find_last_not_of(' ')] != '}') return std::nullopt;
  auto document = format::parse_json(text);
  if (!document) return std::nullopt;
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const auto& [name, value] : document->items()) {
    if (name == "__metadata__") {
      if (!is_metadata(value)) return std::nullopt;
      continue;
    }
    const auto range = range_of(value);
    if (!range) return std::nullopt;
    ranges.push_back(*range);
  }
  std::sort(ranges.begin(), ranges.end());
  uint64_t next = 0;
  for (const auto& [begin, end] : ranges) {
    if (begin != next) return std::nullopt;
    next = end;
  }
  if (next != file.size() - 8 - length) return std::nullopt;
  return *std::move(document);
}

}  // namespace dequant::fuzz
