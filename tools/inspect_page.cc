// The page as a whole: summary, tables, notes.
#include "tools/inspect_page.h"

#include <fmt/format.h>

#include <map>

#include "dequant/version.h"
#include "tools/common.h"
#include "tools/inspect_html.h"
#include "tools/inspect_totals.h"
#include "tools/table.h"

namespace dequant::tools {
namespace {

using format::onnx::DequantizeInfo;
using format::onnx::InspectReport;
using format::onnx::Parameters;

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang='en'>
<head>
<meta charset='utf-8'>
<meta http-equiv='Content-Security-Policy'
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{}'">
<meta name='viewport' content='width=device-width, initial-scale=1'>
<meta name='generator' content='dequant {}'>
<title>{}</title>
<style>{}</style>
<noscript><style>{}</style></noscript>
<script>{}</script>
</head>
<body>
)";

std::string head(const std::string& title) {
  return fmt::format(kHead, kPageScriptHash, DEQUANT_VERSION, title, kPageStyle,
                     kPageStyleWithoutScript, kPageScript);
}

std::string card(std::string_view what, const std::string& value, const std::string& more = "") {
  return fmt::format("<div><dt>{}</dt><dd>{}{}</dd></div>\n", what, value,
                     more.empty() ? "" : fmt::format(" <small>{}</small>", more));
}

std::string summary(const InspectReport& report) {
  const Totals t = totals_of(report);
  std::string opsets;
  if (report.opsets.onnx) opsets = fmt::format("ai.onnx {}", *report.opsets.onnx);
  if (report.opsets.microsoft) {
    opsets +=
        fmt::format("{}com.microsoft {}", opsets.empty() ? "" : ", ", *report.opsets.microsoft);
  }
  const double times =
      t.bytes == 0 ? 0 : static_cast<double>(t.float_bytes) / static_cast<double>(t.bytes);
  return "<dl class='cards'>\n" +
         card("DequantizeLinear", grouped(t.constant),
              fmt::format("of constants, of {}",
                          grouped(static_cast<int64_t>(report.nodes.size())))) +
         card("Elements", grouped(t.elements)) +
         card("Bytes now", human_bytes(t.bytes), "with scales and zero points, each once") +
         card("As float", human_bytes(t.float_bytes),
              t.bytes == 0 ? "" : fmt::format("{:.2f} times as many", times)) +
         card("Operator sets", opsets.empty() ? "none known" : opsets,
              fmt::format("IR version {}", report.ir_version)) +
         "</dl>\n";
}

struct Column {
  const char* title;
  const char* hint = "";  ///< what the title leaves open
  bool number = true;     ///< sorts by the number in data-v
};

std::string header(std::initializer_list<Column> columns) {
  std::string out = "<thead><tr>";
  for (const Column& c : columns) {
    out += fmt::format("<th scope='col'{}{}>{}</th>", c.number ? " class='n'" : "",
                       c.hint[0] == 0 ? "" : fmt::format(" title='{}'", c.hint), c.title);
  }
  return out + "</tr></thead>\n";
}

/// One line for each kind of tensor.
std::string kinds(const InspectReport& report) {
  struct Sum {
    int64_t tensors = 0;
    int64_t elements = 0;
    int64_t bytes = 0;
    int64_t remarked = 0;
  };
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (const DequantizeInfo& n : report.nodes) {
    if (!n.reason.empty()) continue;
    const std::string how = n.plan.granularity == Granularity::per_tensor ? "per tensor"
                            : n.plan.granularity == Granularity::per_axis
                                ? "per axis"
                                : fmt::format("blocked by {}", n.plan.block);
    Sum& sum = sums[{fmt::format("{} → {}", name(n.plan.input), name(n.plan.output)), how}];
    ++sum.tensors;
    sum.elements += element_count(n.plan);
    sum.bytes += n.bytes_first;
    sum.remarked += remarks(n).empty() ? 0 : 1;
  }
  if (sums.empty()) return "";
  std::string rows;
  for (const auto& [kind, sum] : sums) {
    rows += fmt::format(
        "<tr><th scope='row'>{}</th><td>{}</td><td class='n'>{}</td><td class='n'>{}</td><td "
        "class='n'>{}</td><td class='n'>{}</td></tr>\n",
        kind.first, kind.second, grouped(sum.tensors), grouped(sum.elements),
        human_bytes(sum.bytes), grouped(sum.remarked));
  }
  return "<div class='scroll' tabindex='0' role='region' aria-label='Kinds'><table>\n" +
         header({{"Type", "", false},
                 {"Scales", "", false},
                 {"Tensors"},
                 {"Elements"},
                 {"Bytes"},
                 {"With remarks"}}) +
         "<tbody>\n" + rows + "</tbody></table></div>\n";
}

std::string open_table(std::string_view id, std::string_view label) {
  return fmt::format(
      "<div class='scroll' tabindex='0' role='region' aria-label='{}'><table id='{}' "
      "class='sort'>\n",
      label, id);
}

constexpr std::string_view kCloseTable = "</table></div>\n";

/// Nothing is left out in silence.
std::string left_out(size_t all) {
  if (all <= kMostRows) return "";
  return fmt::format(
      "<p class='note'>The first {} of {} are shown; <code>dequant inspect --json</code> has "
      "all.</p>\n",
      grouped(kMostRows), grouped(static_cast<int64_t>(all)));
}

/// What only the script can do: shown by it.
constexpr const char* kTools = R"(<p id='tools' hidden>
<label>Filter <input type='search' id='filter' placeholder='name, type, shape …'></label>
<label><input type='checkbox' id='only'> only with remarks</label>
<output id='shown'></output>
<button type='button' id='next' data-step='{}' hidden>Show {} more</button>
</p>
)";

Status write_tensors(format::OutputFile& out, const InspectReport& report) {
  const auto all = static_cast<size_t>(totals_of(report).constant);
  if (all == 0) return out.write("<p>No DequantizeLinear of constants.</p>\n");
  std::string text = left_out(all);
  if (all > kMostRows) text += "<p class='note'>Remarks are of these only.</p>\n";
  if (all > kMostDetails) {
    text += fmt::format(
        "<p class='note'>The first {} can be unfolded; the others have their row only.</p>\n",
        grouped(kMostDetails));
  }
  text += fmt::format(kTools, kFirstRows, kFirstRows);
  text += open_table("tensors", "Tensors") +
          header({{"Tensor", "the output; below it x", false},
                  {"Type", "of the codes and of the values; below them the operator set", false},
                  {"Shape", "sorts by elements"},
                  {"Granularity", "which elements share a scale", false},
                  {"Values", "sorts by the largest without sign"},
                  {"Value min"},
                  {"Value max"},
                  {"Scales", "sorts by how many times the largest is the least"},
                  {"Scale min"},
                  {"Scale max"},
                  {"Zero point", "sorts by the least"},
                  {"Codes used",
                   "different codes that occur, of those the type has; sorts by the share"},
                  {"At lowest", "elements with the lowest code that occurs"},
                  {"At highest", "elements with the highest code that occurs"},
                  {"Zeros", "values that are 0"},
                  {"NaN, inf", "values that are no finite number"},
                  {"Bytes", "of codes, scales and zero points"}});
  size_t index = 0;
  for (const DequantizeInfo& n : report.nodes) {
    if (!n.reason.empty()) continue;
    if (index == kMostRows) break;
    text += tensor_rows(n, index++);
    if (text.size() > size_t{1} << 20) {
      DEQUANT_CHECK(out.write(text));
      text.clear();
    }
  }
  return out.write(text += kCloseTable);
}

std::string open_nodes(const InspectReport& report) {
  std::string rows;
  size_t all = 0;
  for (const DequantizeInfo& n : report.nodes) {
    if (n.reason.empty() || ++all > kMostRows) continue;
    const Parameters p = n.parameters.value_or(Parameters{});
    rows +=
        fmt::format("<tr><th scope='row'>{}</th><td>{}</td><td>{}</td>",
                    html_name_in(n.graph, n.output), html_name(n.x), p.type ? name(*p.type) : "–");
    rows += end_cell(p.scale, p.scale.least) + end_cell(p.scale, p.scale.greatest) +
            zero_point_cell(p.zero_point) + end_cell(p.covered, p.covered.least) +
            end_cell(p.covered, p.covered.greatest);
    rows += fmt::format("<td>{}</td></tr>\n", html_text(n.reason));
  }
  if (all == 0) return "";
  return fmt::format("<h2>Other DequantizeLinear <small>{}</small></h2>\n",
                     grouped(static_cast<int64_t>(all))) +
         left_out(all) + open_table("open", "Other DequantizeLinear") +
         header({{"Output", "", false},
                 {"x", "", false},
                 {"Type", "of the codes, where that is known", false},
                 {"Scale min"},
                 {"Scale max"},
                 {"Zero point", "sorts by the least"},
                 {"Covers from", "the value of the lowest code of the type"},
                 {"Covers to", "the value of the highest code of the type"},
                 {"Not constant because", "", false}}) +
         "<tbody>\n" + rows + "</tbody>" + std::string(kCloseTable);
}

std::string others(const InspectReport& report) {
  const size_t all = report.others.size();
  if (all == 0) return "";
  std::string rows;
  for (size_t i = 0; i < std::min(all, kMostRows); ++i) {
    const auto& o = report.others[i];
    rows += fmt::format(
        "<tr><th scope='row'>{}</th><td>{}</td><td>{}</td><td class='n' "
        "data-v='{}'>{}</td></tr>\n",
        html_name_in(o.graph, o.name), name(o.element), shape_text(o.shape), o.bytes,
        grouped(o.bytes));
  }
  return fmt::format("<h2>Quantized constants without a DequantizeLinear <small>{}</small></h2>\n",
                     grouped(static_cast<int64_t>(all))) +
         left_out(all) + open_table("others", "Quantized constants without a DequantizeLinear") +
         header({{"Name", "", false}, {"Type", "", false}, {"Shape", "", false}, {"Bytes"}}) +
         "<tbody>\n" + rows + "</tbody>" + std::string(kCloseTable);
}

constexpr std::string_view kNotes = R"(<h2>How to read this</h2>
<ul>
<li>All numbers are of the exact values, all of them: nothing is sampled.</li>
<li>Bins of values and scales are a power of two wide and begin at multiples of that. With one scale for a whole
tensor of integers that become float32, a bin of values is one code or as many next to each other. A bar that is not empty is at least 2 % high; the
line in a small picture is 0.</li>
<li>Codes of floats stand in the order of their values, NaN and infinities apart; both zeros are one.</li>
<li>Remarks: values that are NaN or infinite; scales that are NaN, infinite, negative or 0; scales of which
every value is 0, as of a dead channel; a tensor with one value only; of more than 100 codes of 8 bits and more those
at the ends of the type, if they are 1 % and more even without two for each scale, as where values were cut off (codes
that stand for 0 are not counted).</li>
<li>Sums of bytes have each tensor once, however many nodes take it. A number has at most five digits here and all of
them under the pointer.</li>
</ul>
)";

}  // namespace

Status write_page(format::OutputFile& out, const std::string& model, const InspectReport& report) {
  const std::string title = html(model.substr(model.find_last_of('/') + 1));
  DEQUANT_CHECK(out.write(head(title + " – dequant inspect") + "<header>\n<h1><bdi>" + title +
                          "</bdi></h1>\n" + summary(report) + kinds(report) +
                          "</header>\n<main>\n<h2>DequantizeLinear of constants</h2>\n"));
  DEQUANT_CHECK(write_tensors(out, report));
  DEQUANT_CHECK(out.write(open_nodes(report) + others(report)));
  return out.write(
      fmt::format("{}</main>\n<footer>Made by dequant {}.</footer>\n</body>\n</html>\n", kNotes,
                  DEQUANT_VERSION));
}

}  // namespace dequant::tools
