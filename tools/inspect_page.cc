// The page as a whole: summary, tables, notes.
#include "tools/inspect_page.h"

#include <fmt/format.h>

#include "dequant/version.h"
#include "tools/common.h"
#include "tools/inspect_html.h"
#include "tools/inspect_sinks.h"
#include "tools/table.h"

namespace dequant::tools {
namespace {

using format::onnx::DequantizeInfo;
using format::onnx::InspectHead;
using format::onnx::InspectTotals;
using format::onnx::OtherConstant;
using format::onnx::Parameters;
using format::onnx::Readers;

/// Bytes after which a part of the rows is full.
constexpr size_t kPart = size_t{1} << 20;

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

/// The granularity without the axis, which says nothing of a kind.
std::string how_divided(const Plan& plan) {
  if (plan.granularity == Granularity::per_tensor) return "per tensor";
  if (plan.granularity == Granularity::per_axis) return "per axis";
  return fmt::format("blocked by {}", plan.block);
}

/// The row of a DequantizeLinear that is not constant.
std::string open_row(const DequantizeInfo& n) {
  const Parameters p = n.parameters.value_or(Parameters{});
  std::string row =
      fmt::format("<tr><th scope='row'>{}</th><td>{}</td><td>{}</td>",
                  html_name_in(n.graph, n.output), html_name(n.x), p.type ? name(*p.type) : "–");
  row += end_cell(p.scale, p.scale.least) + end_cell(p.scale, p.scale.greatest) +
         zero_point_cell(p.zero_point) + end_cell(p.covered, p.covered.least) +
         end_cell(p.covered, p.covered.greatest);
  return row + fmt::format("<td>{}</td></tr>\n", html_text(n.reason));
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

void Rows::add(std::string_view text) {
  if (parts_.empty() || parts_.back().size() + text.size() > kPart) parts_.emplace_back();
  parts_.back() += text;
}

Status Rows::write(format::OutputFile& out) const {
  for (const std::string& part : parts_) DEQUANT_CHECK(out.write(part));
  return {};
}

Status Page::begin(const InspectHead& head) {
  head_ = head;
  return {};
}

Status Page::node(const DequantizeInfo& n) {
  if (!n.reason.empty()) {
    if (open_++ < kMostRows) open_rows_.add(open_row(n));
    return {};
  }
  Sum& sum =
      sums_[{fmt::format("{} → {}", name(n.plan.input), name(n.plan.output)), how_divided(n.plan)}];
  ++sum.tensors;
  sum.elements += element_count(n.plan);
  sum.bytes += n.bytes_first;
  sum.remarked += remarks(n).empty() ? 0 : 1;
  if (tensors_ < kMostRows) tensor_rows_.add(tensor_rows(n, tensors_));
  ++tensors_;
  return {};
}

Status Page::other(const OtherConstant& o, const Readers& readers) {
  if (others_++ >= kMostRows) return {};
  other_rows_.add(
      fmt::format("<tr><th scope='row'>{}</th><td>{}</td><td>{}</td><td class='n' "
                  "data-v='{}'>{}</td><td><bdi>{}</bdi></td></tr>\n",
                  html_name_in(o.graph, o.name), name(o.element), shape_text(o.shape), o.bytes,
                  grouped(o.bytes), html_text(readers_text(readers))));
  return {};
}

std::string Page::summary(const InspectTotals& t) const {
  std::string opsets;
  if (head_.opsets.onnx) opsets = fmt::format("ai.onnx {}", *head_.opsets.onnx);
  if (head_.opsets.microsoft) {
    opsets +=
        fmt::format("{}com.microsoft {}", opsets.empty() ? "" : ", ", *head_.opsets.microsoft);
  }
  const double times =
      t.bytes == 0 ? 0 : static_cast<double>(t.float_bytes) / static_cast<double>(t.bytes);
  return "<dl class='cards'>\n" +
         card("DequantizeLinear", grouped(t.constant),
              fmt::format("of constants, of {}", grouped(t.nodes))) +
         card("Elements", grouped(t.elements)) +
         card("Bytes now", human_bytes(t.bytes), "with scales and zero points, each once") +
         card("As float", human_bytes(t.float_bytes),
              t.bytes == 0 ? "" : fmt::format("{:.2f} times as many", times)) +
         card("Operator sets", opsets.empty() ? "none known" : opsets,
              fmt::format("IR version {}", head_.ir_version)) +
         "</dl>\n";
}

/// One line for each kind of tensor.
std::string Page::kinds() const {
  if (sums_.empty()) return "";
  std::string rows;
  for (const auto& [kind, sum] : sums_) {
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

Status Page::write_tensors() {
  const size_t all = tensors_;
  if (all == 0) return out_.write("<p>No DequantizeLinear of constants.</p>\n");
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
  DEQUANT_CHECK(out_.write(text));
  DEQUANT_CHECK(tensor_rows_.write(out_));
  return out_.write(kCloseTable);
}

Status Page::write_open_nodes() {
  if (open_ == 0) return {};
  DEQUANT_CHECK(out_.write(fmt::format("<h2>Other DequantizeLinear <small>{}</small></h2>\n",
                                       grouped(static_cast<int64_t>(open_))) +
                           left_out(open_) + open_table("open", "Other DequantizeLinear") +
                           header({{"Output", "", false},
                                   {"x", "", false},
                                   {"Type", "of the codes, where that is known", false},
                                   {"Scale min"},
                                   {"Scale max"},
                                   {"Zero point", "sorts by the least"},
                                   {"Covers from", "the value of the lowest code of the type"},
                                   {"Covers to", "the value of the highest code of the type"},
                                   {"Not constant because", "", false}}) +
                           "<tbody>\n"));
  DEQUANT_CHECK(open_rows_.write(out_));
  return out_.write("</tbody>" + std::string(kCloseTable));
}

Status Page::write_others() {
  if (others_ == 0) return {};
  DEQUANT_CHECK(out_.write(
      fmt::format("<h2>Quantized constants without a DequantizeLinear <small>{}</small></h2>\n",
                  grouped(static_cast<int64_t>(others_))) +
      left_out(others_) + open_table("others", "Quantized constants without a DequantizeLinear") +
      header({{"Name", "", false},
              {"Type", "", false},
              {"Shape", "", false},
              {"Bytes"},
              {"Read by", "operator, node, and which of its inputs", false}}) +
      "<tbody>\n"));
  DEQUANT_CHECK(other_rows_.write(out_));
  return out_.write("</tbody>" + std::string(kCloseTable));
}

Status Page::end(const InspectTotals& totals) {
  const std::string title = html(model_.substr(model_.find_last_of('/') + 1));
  DEQUANT_CHECK(out_.write(head(title + " – dequant inspect") + "<header>\n<h1><bdi>" + title +
                           "</bdi></h1>\n" + summary(totals) + kinds() +
                           "</header>\n<main>\n<h2>DequantizeLinear of constants</h2>\n"));
  DEQUANT_CHECK(write_tensors());
  DEQUANT_CHECK(write_open_nodes());
  DEQUANT_CHECK(write_others());
  return out_.write(
      fmt::format("{}</main>\n<footer>Made by dequant {}.</footer>\n</body>\n</html>\n", kNotes,
                  DEQUANT_VERSION));
}

}  // namespace dequant::tools
