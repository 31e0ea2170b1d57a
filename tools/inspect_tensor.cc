// One tensor of the page: its row, and the row of its details.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "format/model/plan_words.h"
#include "tools/inspect_bars.h"
#include "tools/inspect_html.h"
#include "tools/inspect_page.h"
#include "tools/table.h"

namespace dequant::tools {
namespace {

using format::CodeProfile;
using format::Extent;
using format::ScaleProfile;

// Cells of the row behind that of the name.

/// What a cell has. In the script of the page the letter is the kind of a column.
enum class Kind : char {
  words = 'w',    ///< a text, and a small one below it
  number = 'n',   ///< a text, and the number by which it is sorted
  extent = 'e',   ///< the same; under the pointer is the number with all digits
  picture = 'p',  ///< the number alone, and a chart where there is room for it
};

struct PageCell {
  Kind kind = Kind::words;
  std::string text;
  std::string more;  ///< the small text, or the number
};

PageCell words_cell(std::string text, std::string more) {
  return {Kind::words, std::move(text), std::move(more)};
}

PageCell number_cell(double key, std::string text) {
  return {Kind::number, std::move(text), exact(key)};
}

PageCell empty_cell() { return {Kind::number, "–", ""}; }

PageCell share_cell(int64_t part, int64_t whole) {
  if (whole == 0) return empty_cell();
  return number_cell(static_cast<double>(part) / static_cast<double>(whole), share(part, whole));
}

PageCell extent_cell(const Extent& e, double end) {
  if (e.numbers == 0) return {Kind::extent, "–", ""};
  return {Kind::extent, brief(end), exact(end)};
}

/// Integers have all digits: they have no tooltip.
PageCell zero_points_cell(const Extent& e) {
  if (e.numbers == 0) return empty_cell();
  const auto text = [](double zero) {
    return zero == std::trunc(zero) ? exact(zero) : brief(zero);
  };
  return number_cell(e.least, e.least == e.greatest
                                  ? text(e.least)
                                  : fmt::format("{} … {}", text(e.least), text(e.greatest)));
}

double largest(const Extent& e) { return std::max(std::abs(e.least), std::abs(e.greatest)); }

PageCell values_cell(const format::TensorInfo& n) {
  return {Kind::picture, "", exact(largest(n.profile.values.extent))};
}

PageCell scales_cell(const format::TensorInfo& n) {
  const Extent& e = n.scale.extent;
  if (e.numbers < 2) return {Kind::picture, "", fmt::format("{}", e.numbers)};
  return {Kind::picture, "", exact(n.scale.least.empty() ? 0 : std::abs(e.greatest / e.least))};
}

PageCell codes_cell(const CodeProfile& c) {
  if (!c.used || c.elements == 0) return empty_cell();  // codes with a layout are not counted
  return number_cell(static_cast<double>(*c.used) / static_cast<double>(c.possible),
                     fmt::format("{} of {}", grouped(*c.used), grouped(c.possible)));
}

/// The cell as HTML; a picture has `chart`. The script makes the same of the rows in its data.
std::string to_html(const PageCell& cell, const std::string& chart = "") {
  const auto& [kind, text, more] = cell;
  if (kind == Kind::picture) return fmt::format("<td data-v='{}'>{}</td>", more, chart);
  if (kind == Kind::words) return fmt::format("<td>{}<small>{}</small></td>", text, more);
  const bool cut = kind == Kind::extent && !more.empty() && more != text;
  return fmt::format("<td class='n' data-v='{}'{}>{}</td>", more,
                     cut ? fmt::format(" title='{}'", more) : "", text);
}

std::string name_cell(const format::TensorInfo& n, bool unfolds) {
  const std::string name = html_name_in(n.graph, n.name);
  std::string out = "<th scope='row'>";
  out += unfolds ? fmt::format("<details><summary>{}</summary></details>", name) : name;
  out += fmt::format("<small>{}</small>", html_name(n.source));
  for (const std::string& remark : remarks(n)) out += fmt::format("<em>{}</em>", remark);
  return out + "</th>";
}

std::string scheme_text(const format::TensorInfo& n, const format::Words& words) {
  return fmt::format("{} {}", html(n.scheme.empty() ? words.implied_scheme : n.scheme),
                     n.version ? fmt::format("{}", *n.version) : "");
}

/// How many elements at the lowest and highest code of the type were probably saturated. Codes with
/// the value 0 were not: where a zero point is that code, as many elements as are 0 are taken off.
/// And a scale is often chosen so that two of its elements just reach these codes. Without those
/// two of each scale, fewer than 1 % of all elements count as none.
int64_t saturated(const format::TensorInfo& n) {
  constexpr int64_t kLeastElements = 100;
  const CodeProfile& c = n.profile.codes;
  if (bits(n.plan.input) < 8 || c.elements <= kLeastElements) return 0;
  const bool given = n.zero_point.numbers != 0;
  const auto is_zero = [&](int64_t ordinal) {
    const double number = format::number_at(n.plan.input, ordinal);
    return number >= (given ? n.zero_point.least : n.plan.implicit_zero_point) &&
           number <= (given ? n.zero_point.greatest : n.plan.implicit_zero_point);
  };
  int64_t zeros = n.profile.values.zeros;
  const auto not_zero = [&](int64_t ordinal, int64_t elements) {
    const int64_t taken_off = is_zero(ordinal) ? std::min(zeros, elements) : 0;
    zeros -= taken_off;
    return elements - taken_off;
  };
  int64_t count = 0;
  if (c.least == c.lowest) count += not_zero(c.lowest, c.at_least);
  if (c.greatest == c.highest) count += not_zero(c.highest, c.at_greatest);
  return 100 * (count - 2 * n.scale.count()) >= c.elements ? count : 0;
}

/// What has a scale of its own. Blocks of a tensor whose rows have whole ones lie like channels.
std::string_view scale_holders(const format::TensorInfo& n) {
  if (n.plan.granularity == Granularity::blocked) return "blocks";
  if (n.plan.granularity == Granularity::strided) return "groups";
  return n.axis || format::granularity_text(n.plan, n.axis, n.shape) == "per row" ? "channels"
                                                                                  : "groups";
}

}  // namespace

std::string end_cell(const Extent& e, double end) { return to_html(extent_cell(e, end)); }

std::string zero_point_cell(const Extent& e) { return to_html(zero_points_cell(e)); }

std::vector<std::string> remarks(const format::TensorInfo& n) {
  std::vector<std::string> out;
  const auto& values = n.profile.values;
  const auto add = [&](int64_t count, std::string_view what) {
    if (count != 0) out.push_back(fmt::format("{} {}", grouped(count), what));
  };
  add(values.extent.nans, "NaN");
  add(values.infinities, "infinite");
  const auto add_scales = [&](const ScaleProfile& s, std::string_view of) {
    const auto add_some = [&](int64_t count, std::string_view what) {
      add(count, fmt::format("scale{}{} {}", count == 1 ? "" : "s", of, what));
    };
    add_some(s.extent.nans, "NaN");
    add_some(s.infinities, "infinite");
    add_some(s.negatives, "negative");
    add_some(s.zeros, "0");
  };
  add_scales(n.scale, "");
  add_scales(n.tensor_scale, " of the tensor");
  if (n.profile.silent != 0) {
    out.push_back(fmt::format("all values 0 in {} of {} {}", grouped(n.profile.silent),
                              grouped(n.profile.groups), scale_holders(n)));
  } else if (values.extent.numbers > 1 && values.extent.nans == 0 &&
             values.extent.least == values.extent.greatest) {
    out.push_back(fmt::format("every value is {}", brief(values.extent.least)));
  }
  if (const int64_t count = saturated(n); count != 0) {
    out.push_back(
        fmt::format("{} at the ends of the type", share(count, n.profile.codes.elements)));
  }
  return out;
}

namespace {

std::vector<PageCell> cells(const format::TensorInfo& n, const format::Words& words) {
  const auto& values = n.profile.values;
  const auto& codes = n.profile.codes;
  const Extent& scale = n.scale.extent;
  const int64_t elements = element_count(n.plan);
  const int64_t odd = values.extent.nans + values.infinities;
  const std::string scales =
      n.plan.parameters.x_blocks ? "in the blocks"
      : n.codes_are_values       ? "no scale"
                           : fmt::format("{} {}", grouped(n.scale.count()), name(n.plan.scale));
  return {
      words_cell(fmt::format("{} → {}", format::codes_text(n.plan), name(n.plan.output)),
                 scheme_text(n, words)),
      number_cell(static_cast<double>(elements), shape_text(n.shape)),
      words_cell(n.granularity(), scales),
      values_cell(n),
      extent_cell(values.extent, values.extent.least),
      extent_cell(values.extent, values.extent.greatest),
      scales_cell(n),
      extent_cell(scale, scale.least),
      extent_cell(scale, scale.greatest),
      zero_points_cell(n.zero_point),
      codes_cell(codes),
      share_cell(codes.at_least, codes.elements),
      share_cell(codes.at_greatest, codes.elements),
      share_cell(values.zeros, elements),
      number_cell(static_cast<double>(odd), grouped(odd)),
      number_cell(static_cast<double>(n.bytes), grouped(n.bytes)),
  };
}

/// The names of a row as lines: that of the tensor, its source, the remarks.
std::string name_lines(const format::TensorInfo& n) {
  const std::string name =
      n.graph.empty() ? std::string(n.name) : fmt::format("{}/{}", n.graph, n.name);
  return fmt::format("{}\n{}\n{}", html(name), html(n.source), fmt::join(remarks(n), "; "));
}

}  // namespace

std::string tensor_rows(const format::TensorInfo& n, const format::Words& words, size_t index) {
  std::string out = fmt::format("<tbody class='{}{}'>\n<tr>", remarks(n).empty() ? "" : "odd ",
                                index < kFirstRows ? "" : "late");
  out += name_cell(n, true);
  const std::string charts[]{small_chart(value_bars(n), fmt::format("v{}", index)),
                             n.scale.extent.numbers < 2
                                 ? ""
                                 : small_chart(scale_bars(n.scale), fmt::format("s{}", index))};
  size_t pictures = 0;
  for (const PageCell& cell : cells(n, words)) {
    out += cell.kind == Kind::picture ? to_html(cell, charts[pictures++]) : to_html(cell);
  }
  return out + fmt::format("</tr>\n<tr class='more'><td colspan='17'>{}</td></tr>\n</tbody>\n",
                           tensor_details(n, index));
}

PackedRow packed_row(const format::TensorInfo& n, const format::Words& words) {
  PackedRow row{"", name_lines(n)};
  for (const PageCell& cell : cells(n, words)) {
    row.kinds += static_cast<char>(cell.kind);
    if (cell.kind != Kind::picture) row.lines += "\n" + cell.text;
    row.lines += "\n" + cell.more;
  }
  return row;
}

}  // namespace dequant::tools
