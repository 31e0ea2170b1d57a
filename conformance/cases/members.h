// Members that case files and result files have in common.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/cases/cases.h"
#include "dequant/status.h"
#include "format/io/errors.h"
#include "format/json/json.h"

namespace dequant::conformance {

/// Fails with malformed unless the document is an object with this format, the version 1 and an
/// array `list`, and has no other members but "about". `kind` is what messages call such a file.
Status check_frame(const nlohmann::json& root, std::string_view kind, std::string_view format,
                   std::string_view list);

/// The text of "about", empty where there is none. Fails with malformed where it is no text.
Result<std::string> parse_about(const nlohmann::json& root);

/// Fails with malformed where a member is missing, unknown or of another type.
Result<CaseTensor> parse_tensor(const nlohmann::json& value);

/// The objects of the array `list`, which have names that differ: `one` is what messages call each,
/// and parse(object, item) fills its item, whose name is set. Fails with malformed.
template <class Item, class Parse>
Result<std::vector<Item>> parse_named(const nlohmann::json& root, const char* list, const char* one,
                                      Parse parse) {
  std::vector<Item> items;
  std::set<std::string> names;
  for (const nlohmann::json& value : *format::member(root, list)) {
    const auto numbered = [&](Error error) {
      return format::in(fmt::format("{}[{}]", list, items.size()), std::move(error));
    };
    if (!value.is_object()) {
      return numbered(format::bad("{} is not an object", format::shown(value)));
    }
    auto name = format::text_member(value, "name");
    if (!name) return numbered(std::move(name).error());
    Item item;
    item.name = *std::move(name);
    if (Status body = parse(value, item); !body) {
      return format::in(fmt::format("{} \"{}\"", one, format::escaped(item.name)),
                        std::move(body).error());
    }
    if (!names.insert(item.name).second) {
      return numbered(
          format::bad("a {} before it is named \"{}\" as well", one, format::escaped(item.name)));
    }
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace dequant::conformance
