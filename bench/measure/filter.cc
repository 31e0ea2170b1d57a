// Selects cells by names and globs.
#include <fnmatch.h>

#include <algorithm>
#include <array>

#include "bench/measure/cells.h"

namespace dequant::bench {
namespace {

using Names = std::vector<std::string>;

struct Field {
  const char* what;
  const Names& names;
  std::string (*of)(const Cell&);
};

std::array<Field, 5> fields(const Filter& filter) {
  return {{{"name", filter.cells, [](const Cell& c) { return c.name; }},
           {"input", filter.inputs, [](const Cell& c) { return std::string(name(c.input)); }},
           {"output", filter.outputs, [](const Cell& c) { return std::string(name(c.output)); }},
           {"granularity", filter.granularities, [](const Cell& c) { return c.granularity; }},
           {"rule", filter.rules, [](const Cell& c) { return std::string(name(c.rule)); }}}};
}

bool matches(const std::string& glob, const std::string& text) {
  return fnmatch(glob.c_str(), text.c_str(), 0) == 0;
}

bool matches(const Field& field, const Cell& cell) {
  return field.names.empty() ||
         std::any_of(field.names.begin(), field.names.end(),
                     [&](const std::string& glob) { return matches(glob, field.of(cell)); });
}

Error wrong(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

}  // namespace

Filter Filter::usual() {
  Filter filter;
  filter.inputs = {"uint8", "int4", "float8e4m3fn"};
  filter.granularities = {"per_*", "blocked_*", "padded_x_scale_*"};
  filter.rules = {"subtract_then_scale"};
  return filter;
}

Result<std::vector<Cell>> select(const Filter& filter) {
  const std::vector<Cell> all = all_cells();
  for (const Field& field : fields(filter)) {
    for (const std::string& glob : field.names) {
      const auto found = std::any_of(
          all.begin(), all.end(), [&](const Cell& cell) { return matches(glob, field.of(cell)); });
      if (!found) return wrong(std::string("no cell has the ") + field.what + " \"" + glob + "\"");
    }
  }
  std::vector<Cell> selected;
  for (const Cell& cell : all) {
    const auto list = fields(filter);
    if (std::all_of(list.begin(), list.end(),
                    [&](const Field& field) { return matches(field, cell); })) {
      selected.push_back(cell);
    }
  }
  if (selected.empty()) return wrong("no cell matches all of these");
  return selected;
}

}  // namespace dequant::bench
