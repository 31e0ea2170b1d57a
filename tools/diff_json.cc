// The report of `dequant diff` as a JSON object. Each entry is printed as soon as it is made, since
// a document in memory needs several KiB for each tensor.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/diff_report.h"
#include "tools/json_text.h"

namespace dequant::tools {
namespace {

using format::Difference;
using format::TensorDifference;
using nlohmann::ordered_json;

/// A whole number, or a string for an infinity.
ordered_json whole(double value) {
  return std::isinf(value) ? number(value) : ordered_json(static_cast<int64_t>(value));
}

/// The bins up to the last one that is not 0.
ordered_json histogram(const Difference& d) {
  size_t last = d.ulp.size() - 1;
  while (last > 0 && d.ulp[last] == 0) --last;
  ordered_json bins = ordered_json::object();
  for (size_t i = 0; i <= last; ++i) bins[format::step_label(i)] = d.ulp[i];
  return bins;
}

ordered_json worst(const Difference& d) {
  if (!d.worst) return {};
  return {{"index", d.worst->index}, {"a", number(d.worst->a)}, {"b", number(d.worst->b)}};
}

ordered_json channels(const Difference& d) {
  ordered_json list = ordered_json::array();
  for (const format::ChannelDifference& c : d.worst_channels) {
    list.push_back({{"index", c.index},
                    {"max_abs", number(c.max_abs)},
                    {"sqnr_db", number(c.sqnr_db)},
                    {"mismatches", c.mismatches}});
  }
  return list;
}

ordered_json tensor_json(const TensorDifference& t, const DiffLimits& limits) {
  const Difference& d = t.difference;
  return {{"name", t.name},
          {"name_in_b", t.name_in_b},
          {"shape", d.shape},
          {"a_dtype", name(d.a_type)},
          {"b_dtype", name(d.b_type)},
          {"identical", d.identical},
          {"nan_mismatches", d.nan_mismatches},
          {"inf_mismatches", d.inf_mismatches},
          {"max_abs", number(d.max_abs)},
          {"mean_abs", number(d.mean_abs)},
          {"rmse", number(d.rmse)},
          {"sqnr_db", number(d.sqnr_db)},
          {"ulp_dtype", name(d.ulp_type)},
          {"ulp", histogram(d)},
          {"max_ulp", whole(d.max_ulp)},
          {"worst", worst(d)},
          {"axis", d.axis ? ordered_json(*d.axis) : ordered_json()},
          {"worst_channels", channels(d)},
          {"size", d.size},
          {"mismatches", d.mismatches()},
          {"exact", d.exact()},
          {"within", within(limits, d)}};
}

/// Prints a member of the object: a list whose entries are made one after another.
template <class Entries, class MakeJson>
void print_list(const char* key, const Entries& entries, MakeJson make_json) {
  bool first = true;
  fmt::print(",\n  \"{}\": [", key);
  for (const auto& entry : entries)
    fmt::print("{}    {}", before_entry(first), json_text(make_json(entry), 4));
  fmt::print("{}]", first ? "" : "\n  ");
}

}  // namespace

void print_json(const DiffReport& report) {
  const format::ModelDifference& d = report.difference;
  std::string open = json_text(
      {{"a", report.a}, {"b", report.b}, {"exact", d.exact()}, {"within", within(report)}}, 0);
  open.erase(open.rfind("\n}"));
  fmt::print("{}", open);
  print_list("tensors", d.tensors,
             [&](const TensorDifference& t) { return tensor_json(t, report.limits); });
  print_list("skipped", d.skipped, [](const format::NotCompared& s) {
    return ordered_json{{"name", s.name}, {"name_in_b", s.name_in_b}, {"reason", s.reason}};
  });
  const auto name = [](const std::string& text) { return ordered_json(text); };
  print_list("only_in_a", d.only_in_a, name);
  print_list("only_in_b", d.only_in_b, name);
  fmt::print("\n}}\n");
}

}  // namespace dequant::tools
