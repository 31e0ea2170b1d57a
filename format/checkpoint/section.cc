// An object of a configuration.
#include "format/checkpoint/section.h"

#include <nlohmann/json.hpp>

#include "format/io/errors.h"

namespace dequant::format::checkpoint {

using nlohmann::ordered_json;

namespace {

std::optional<int64_t> integer_of(const ordered_json& value) {
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX}) return {};
  return value.is_number_integer() ? std::optional(value.get<int64_t>()) : std::nullopt;
}

}  // namespace

const ordered_json* Section::find(std::string_view key) const {
  if (object_ == nullptr || !object_->is_object()) return nullptr;
  const auto at = object_->find(key);
  return at == object_->end() || at->is_null() ? nullptr : &*at;
}

bool Section::empty() const { return object_ == nullptr || object_->empty(); }

bool Section::says_something(std::string_view key) const {
  const ordered_json* value = find(key);
  if (value == nullptr) return false;
  if (value->is_boolean()) return value->get<bool>();
  if (value->is_string()) return !value->get_ref<const std::string&>().empty();
  return !value->empty();
}

Error Section::wrong(std::string_view key, std::string_view what) const {
  const ordered_json* value = find(key);
  return failure(ErrorCode::malformed, "{}: {} is {}, not {}", where_, escaped(key),
                 value == nullptr ? "absent" : escaped(value->dump()), what);
}

Result<std::optional<int64_t>> Section::integer(std::string_view key) const {
  const ordered_json* value = find(key);
  if (value == nullptr) return std::optional<int64_t>();
  if (const auto integer = integer_of(*value)) return integer;
  return wrong(key, "an integer of 64 bits");
}

Result<std::optional<bool>> Section::flag(std::string_view key) const {
  const ordered_json* value = find(key);
  if (value == nullptr) return std::optional<bool>();
  if (value->is_boolean()) return std::optional(value->get<bool>());
  return wrong(key, "true or false");
}

Result<std::optional<std::string>> Section::text(std::string_view key) const {
  const ordered_json* value = find(key);
  if (value == nullptr) return std::optional<std::string>();
  if (value->is_string()) return std::optional(value->get<std::string>());
  return wrong(key, "a string");
}

Result<std::optional<double>> Section::number(std::string_view key) const {
  const ordered_json* value = find(key);
  if (value == nullptr) return std::optional<double>();
  if (value->is_number()) return std::optional(value->get<double>());
  return wrong(key, "a number");
}

Result<std::vector<int64_t>> Section::integers(std::string_view key) const {
  std::vector<int64_t> out;
  const ordered_json* value = find(key);
  if (value == nullptr) return out;
  if (!value->is_array()) return wrong(key, "a list of integers");
  for (const ordered_json& item : *value) {
    const auto integer = integer_of(item);
    if (!integer) return wrong(key, "a list of integers");
    out.push_back(*integer);
  }
  return out;
}

Result<Section> Section::object(std::string_view key) const {
  const ordered_json* value = find(key);
  if (value != nullptr && !value->is_object()) return wrong(key, "an object");
  return Section(value, fmt::format("{}: {}", where_, escaped(key)));
}

}  // namespace dequant::format::checkpoint
