// The details below the row of a tensor: charts with axes, codes, the least and greatest scales.
#include <fmt/format.h>

#include "tools/inspect_bars.h"
#include "tools/inspect_html.h"
#include "tools/inspect_page.h"
#include "tools/table.h"

namespace dequant::tools {
namespace {

using format::CodeProfile;
using format::Group;
using format::number_at;

std::string fact(std::string_view what, const std::string& value) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", what, value);
}

/// The value of a code by its ordinal; integers with all digits.
std::string number_text(Element element, int64_t ordinal) {
  return kind(element) == Kind::floating ? brief(number_at(element, ordinal)) : grouped(ordinal);
}

std::string code_text(Element element, int64_t ordinal, int64_t count, int64_t all) {
  return fmt::format("{} ({}, {})", number_text(element, ordinal), grouped(count),
                     share(count, all));
}

std::string facts(const format::TensorInfo& n) {
  const CodeProfile& c = n.profile.codes;
  std::string out = "<dl class='facts'>";
  if (!n.node.empty()) out += fact("Node", html_name(n.node));
  if (!n.graph.empty()) out += fact("Graph", html_name(n.graph));
  out += fact("Elements", grouped(element_count(n.plan)));
  out += fact("As float", fmt::format("{} ({})", human_bytes(n.float_bytes), name(n.plan.output)));
  if (!n.plan.parameters.x_blocks) {
    out += fact("Scales", fmt::format("{} {}, {}", grouped(n.scale.count()), name(n.plan.scale),
                                      shape_text(n.scale_shape)));
  }
  const format::Extent& second = n.tensor_scale.extent;
  if (second.numbers != 0) {
    out += fact("Scale of the tensor",
                second.least == second.greatest
                    ? exact(second.least)
                    : fmt::format("{} to {}", exact(second.least), exact(second.greatest)));
  }
  if (n.zero_point.numbers == 0)
    out += fact("Zero point", n.plan.implicit_zero_point == 0
                                  ? "none"
                                  : fmt::format("none: {}", n.plan.implicit_zero_point));
  if (c.elements != 0) {
    const Element x = n.plan.input;
    out += fact("Lowest code", code_text(x, c.least, c.at_least, c.elements));
    out += fact("Highest code", code_text(x, c.greatest, c.at_greatest, c.elements));
    out += fact("The type has",
                fmt::format("{} to {}", number_text(x, c.lowest), number_text(x, c.highest)));
  }
  return out + "</dl>\n";
}

std::string figure(const std::string& title, const std::string& about, const Bars& bars,
                   const std::string& what, const std::string& id) {
  return fmt::format(
      "<figure><figcaption>{} <small>{}</small></figcaption>{}<output></output></figure>\n", title,
      about, full_chart(bars, what, id));
}

std::string bins_text(const Bars& bars) {
  if (bars.log) return fmt::format("{} bins, logarithmic", bars.counts.size());
  return fmt::format("{} bins, each {} wide", bars.counts.size(), brief(bars.width));
}

std::string charts(const format::TensorInfo& n, size_t index) {
  const auto several = [](const auto& e) { return e.numbers > 1 && e.least != e.greatest; };
  std::string out;
  if (const Bars bars = value_bars(n); several(n.profile.values.extent) && !bars.empty()) {
    out += figure("Values", bins_text(bars), bars, "Values", fmt::format("v{}", index));
  }
  if (const Bars bars = code_bars(n); !bars.empty()) {
    const std::string about = bars.number       ? "in the order of their values"
                              : bars.width == 1 ? ""
                                                : bins_text(bars);
    out += figure("Codes", about, bars, "Codes", "");
  }
  if (const Bars bars = scale_bars(n.scale); several(n.scale.extent) && !bars.empty()) {
    out += figure("Scales", bins_text(bars), bars, "Scales", fmt::format("s{}", index));
  }
  return out.empty() ? "" : "<div class='charts'>" + out + "</div>\n";
}

std::string number_cell(double number) {
  return fmt::format("<td class='n'{}>{}</td>", exact_title(number), brief(number));
}

std::string group_table(const format::TensorInfo& n, std::string_view title,
                        const std::vector<Group>& groups) {
  std::string out = fmt::format(
      "<table><caption>{}</caption>\n<thead><tr><th scope='col'>at</th><th scope='col' "
      "class='n'>scale</th><th scope='col' class='n'>zero point</th><th scope='col' "
      "class='n'>largest |value|</th></tr></thead>\n<tbody>\n",
      title);
  for (const Group& g : groups) {
    out += fmt::format("<tr><td>{}</td>{}{}{}</tr>\n", index_text(g.index, n.scale_shape),
                       number_cell(g.scale), number_cell(g.zero_point),
                       g.largest ? number_cell(*g.largest) : "<td class='n'>–</td>");
  }
  return out + "</tbody></table>\n";
}

/// "[3], [17] and 5 more": the first of `all` scales.
std::string indices_text(const format::TensorInfo& n, const std::vector<int64_t>& first,
                         int64_t all) {
  std::string out;
  for (const int64_t scale : first)
    out += (out.empty() ? "" : ", ") + index_text(scale, n.scale_shape);
  const int64_t more = all - static_cast<int64_t>(first.size());
  return more == 0 ? out : fmt::format("{} and {} more", out, grouped(more));
}

/// The indices of scales that are NaN or infinite.
std::string odd_scales(const format::TensorInfo& n) {
  const auto& s = n.scale;
  std::string out;
  if (!s.first_nans.empty()) out = "NaN at " + indices_text(n, s.first_nans, s.extent.nans);
  if (!s.first_infinities.empty()) {
    out += (out.empty() ? "" : "; ") +
           ("infinite at " + indices_text(n, s.first_infinities, s.infinities));
  }
  return out.empty() ? "" : fmt::format("<p>Scale {}.</p>\n", out);
}

/// Why the page does not say which scales have no value but 0; empty where it does.
std::string not_told_apart(const format::TensorInfo& n) {
  const int64_t count = n.scale.count();
  constexpr const char* kSentence = "<p>{}: their values are not told apart.</p>\n";
  if (count > format::Profiler::kMostGroups)
    return fmt::format(kSentence,
                       fmt::format("More than {} scales", grouped(format::Profiler::kMostGroups)));
  if (n.plan.parameters.group_index.groups != 0 && count > 1)
    return fmt::format(kSentence, "An index chooses the scales of elements");
  if (n.plan.parameters.x_blocks) return fmt::format(kSentence, "Scales are in the blocks");
  return "";
}

std::string groups(const format::TensorInfo& n) {
  if (n.scale.count() < 2) return not_told_apart(n);
  std::string out;
  if (!n.scale.least.empty()) {
    out = "<div class='groups'>" + group_table(n, "Least scales", n.scale.least) +
          group_table(n, "Greatest scales", n.scale.greatest) + "</div>\n";
  }
  out += odd_scales(n);
  if (n.profile.silent != 0) {
    out += fmt::format("<p>All values are 0 at {}.</p>\n",
                       indices_text(n, n.profile.first_silent, n.profile.silent));
  }
  return out + not_told_apart(n);
}

}  // namespace

std::string tensor_details(const format::TensorInfo& n, size_t index) {
  return "<div class='inner'>\n" + facts(n) + charts(n, index) + groups(n) + "</div>";
}

}  // namespace dequant::tools
