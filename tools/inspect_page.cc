// The whole page: summary, tables, notes.
#include "tools/inspect_page.h"

#include <fmt/format.h>

#include <cctype>
#include <filesystem>

#include "dequant/version.h"
#include "format/model/plan_words.h"
#include "tools/inspect_html.h"
#include "tools/inspect_sinks.h"
#include "tools/page/embedded.h"
#include "tools/table.h"

namespace dequant::tools {
namespace {

using format::InspectTotals;
using format::OtherTensor;
using format::Parameters;
using format::TensorInfo;

/// Bytes of a string of Rows, from which on a new string is begun.
constexpr size_t kPagePart = size_t{1} << 20;

std::string card(std::string_view what, const std::string& value, const std::string& more = "") {
  return fmt::format("<div><dt>{}</dt><dd>{}{}</dd></div>\n", what, value,
                     more.empty() ? "" : fmt::format(" <small>{}</small>", more));
}

struct Column {
  std::string title;
  std::string hint = "";  ///< an explanation of the title
  bool number = true;     ///< the sort key is the number in data-v
};

std::string header(std::initializer_list<Column> columns) {
  std::string out = "<thead><tr>";
  for (const Column& c : columns) {
    out += fmt::format("<th scope='col'{}{}>{}</th>", c.number ? " class='n'" : "",
                       c.hint.empty() ? "" : fmt::format(" title='{}'", c.hint), c.title);
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

/// The sentence about rows that are left out.
std::string left_out(size_t all) {
  if (all <= kMostRows) return "";
  return fmt::format(
      "<p class='note'>The first {} of {} are shown; <code>dequant inspect --json</code> has "
      "all.</p>\n",
      grouped(kMostRows), grouped(static_cast<int64_t>(all)));
}

/// The granularity without its axis.
std::string how_divided(const TensorInfo& n) {
  if (!n.axis) return n.granularity();
  if (n.plan.granularity == Granularity::per_axis) return "per axis";
  return fmt::format("blocked by {}", n.plan.block);
}

/// The word as the title of a column, with a capital letter. A single letter is a name and stays.
std::string capital(std::string words) {
  if (words.size() > 1) words[0] = static_cast<char>(std::toupper(words[0]));
  return words;
}

/// The last name in a path, which may end with slashes; that of the folder itself for ".".
std::string last_name(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error).lexically_normal();
  const std::filesystem::path name = whole.has_filename() ? whole : whole.parent_path();
  return error || name.filename().empty() ? path : name.filename().string();
}

/// The row of a tensor that stays quantized.
std::string left_row(const TensorInfo& n) {
  const Parameters p = n.parameters.value_or(Parameters{});
  std::string row =
      fmt::format("<tr><th scope='row'>{}</th><td>{}</td><td>{}</td>",
                  html_name_in(n.graph, n.name), html_name(n.source), p.type ? name(*p.type) : "–");
  row += end_cell(p.scale, p.scale.least) + end_cell(p.scale, p.scale.greatest) +
         zero_point_cell(p.zero_point) + end_cell(p.covered, p.covered.least) +
         end_cell(p.covered, p.covered.greatest);
  return row + fmt::format("<td>{}</td></tr>\n", html_text(n.reason));
}

}  // namespace

void Rows::add(std::string_view text) {
  if (parts_.empty() || parts_.back().size() + text.size() > kPagePart) parts_.emplace_back();
  parts_.back() += text;
}

Status Rows::write(format::OutputFile& out) const {
  for (const std::string& part : parts_) DEQUANT_CHECK(out.write(part));
  return {};
}

Status Page::tensor(const TensorInfo& n) {
  if (!n.reason.empty()) {
    if (left_++ < kMostRows) left_rows_.add(left_row(n));
    return {};
  }
  Sum& sum = sums_[{fmt::format("{} → {}", format::codes_text(n.plan), name(n.plan.output)),
                    how_divided(n)}];
  ++sum.tensors;
  sum.elements += element_count(n.plan);
  sum.bytes += n.bytes_first;
  sum.remarked += remarks(n).empty() ? 0 : 1;
  if (tensors_ < kMostDetails) tensor_rows_.push_back(tensor_rows(n, words_, tensors_));
  if (tensors_ < kMostRows) packed_rows_.add(packed_row(n, words_));
  ++tensors_;
  return {};
}

Status Page::other(const OtherTensor& o) {
  if (others_++ >= kMostRows) return {};
  other_rows_.add(fmt::format(
      "<tr><th scope='row'>{}</th><td>{}</td><td>{}</td><td class='n' "
      "data-v='{}'>{}</td><td><bdi>{}</bdi></td></tr>\n",
      html_name_in(o.graph, o.name), name(o.stored.type.element), shape_text(o.stored.type.shape),
      o.stored.bytes, grouped(o.stored.bytes), html_text(readers_text(o))));
  return {};
}

std::string Page::summary(const InspectTotals& t) const {
  const format::Headline headline = file_.headline();
  const double times =
      t.bytes == 0 ? 0 : static_cast<double>(t.float_bytes) / static_cast<double>(t.bytes);
  return "<dl class='cards'>\n" +
         card(capital(std::string(words_.all)), grouped(t.dense),
              fmt::format("{}, of {}", words_.dense, grouped(t.all))) +
         card("Elements", grouped(t.elements)) +
         card("Bytes now", human_bytes(t.bytes), "with scales and zero points, each once") +
         card("As float", human_bytes(t.float_bytes),
              t.bytes == 0 ? "" : fmt::format("{:.2f} times as many", times)) +
         card(html(headline.title), html(headline.value), html(headline.more)) + "</dl>\n";
}

/// The table of types and granularities, with the sums of each.
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

/// The table of what the file says of itself.
std::string Page::metadata() const {
  std::string rows;
  size_t count = 0;
  for (const format::Headline& line : file_.details()) {
    if (count++ >= kMostRows) continue;
    rows += fmt::format("<tr><th scope='row'><bdi>{}</bdi></th><td><bdi>{}</bdi></td></tr>\n",
                        html(line.title), html(line.value));
  }
  if (count == 0) return "";
  return fmt::format("<details><summary>Metadata <small>{}</small></summary>\n{}",
                     grouped(static_cast<int64_t>(count)), left_out(count)) +
         "<div class='scroll' tabindex='0' role='region' aria-label='Metadata'><table>\n" +
         header({{"Key", "", false}, {"Value", "", false}}) + "<tbody>\n" + rows +
         "</tbody></table></div></details>\n";
}

size_t Page::details() const {
  if (tensors_ <= kMostDetails) return tensors_;
  size_t bytes = packed_rows_.block(0).size();
  size_t count = 0;
  for (const std::string& row : tensor_rows_) {
    bytes += row.size();
    if (bytes > kMostRowBytes && count >= kLeastDetails) break;
    ++count;
  }
  return count;
}

Status Page::write_tensors() {
  const size_t all = tensors_;
  if (all == 0) return out_.write(fmt::format("<p>No {}.</p>\n", words_.dense_title));
  const size_t unfold = details();
  std::string text = left_out(all);
  if (all > kMostRows) text += "<p class='note'>Remarks are of these only.</p>\n";
  if (all > unfold) {
    text += fmt::format(
        "<p class='note'>The first {0} can be unfolded and have pictures; the others have their "
        "row "
        "only.</p>\n<noscript><p class='note'>Without its script this page shows the first {0} "
        "only.</p></noscript>\n",
        grouped(static_cast<int64_t>(unfold)));
  }
  text += fmt::format(page::controls_html, fmt::arg("step", kFirstRows));
  text +=
      open_table("tensors", "Tensors") +
      header(
          {{"Tensor", fmt::format("the {}; below it {}", words_.name_title, words_.source_title),
            false},
           {"Type",
            fmt::format("of the codes and of the values; below them {}", words_.scheme_title),
            false},
           {"Shape", "sorts by elements"},
           {"Granularity", "which elements share a scale", false},
           {"Values", "sorts by the largest without sign"},
           {"Value min"},
           {"Value max"},
           {"Scales", "sorts by how many times the largest is the least"},
           {"Scale min"},
           {"Scale max"},
           {"Zero point", "sorts by the least"},
           {"Codes used", "different codes that occur, of those the type has; sorts by the share"},
           {"At lowest", "elements with the lowest code that occurs"},
           {"At highest", "elements with the highest code that occurs"},
           {"Zeros", "values that are 0"},
           {"NaN, inf", "values that are no finite number"},
           {"Bytes", "of codes, scales and zero points"}});
  DEQUANT_CHECK(out_.write(text));
  for (size_t i = 0; i < unfold; ++i) DEQUANT_CHECK(out_.write(tensor_rows_[i]));
  return out_.write(std::string(kCloseTable) + packed_rows_.block(unfold));
}

Status Page::write_left() {
  if (left_ == 0) return {};
  DEQUANT_CHECK(out_.write(fmt::format("<h2>{} <small>{}</small></h2>\n", words_.left_title,
                                       grouped(static_cast<int64_t>(left_))) +
                           left_out(left_) + open_table("open", words_.left_title) +
                           header({{capital(words_.name_title), "", false},
                                   {capital(words_.source_title), "", false},
                                   {"Type", "of the codes, where that is known", false},
                                   {"Scale min"},
                                   {"Scale max"},
                                   {"Zero point", "sorts by the least"},
                                   {"Covers from", "the value of the lowest code of the type"},
                                   {"Covers to", "the value of the highest code of the type"},
                                   {capital(words_.left_because), "", false}}) +
                           "<tbody>\n"));
  DEQUANT_CHECK(left_rows_.write(out_));
  return out_.write("</tbody>" + std::string(kCloseTable));
}

Status Page::write_others() {
  if (others_ == 0) return {};
  DEQUANT_CHECK(out_.write(fmt::format("<h2>{} <small>{}</small></h2>\n", words_.others_title,
                                       grouped(static_cast<int64_t>(others_))) +
                           left_out(others_) + open_table("others", words_.others_title) +
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
  const std::string title = html(last_name(file_.path()));
  DEQUANT_CHECK(out_.write(page_head(title + " – dequant inspect") + "<header>\n<h1><bdi>" + title +
                           "</bdi> <small>dequant inspect</small></h1>\n" + summary(totals) +
                           kinds() + metadata() + "</header>\n<main>\n<h2>" + words_.dense_title +
                           "</h2>\n"));
  DEQUANT_CHECK(write_tensors());
  DEQUANT_CHECK(write_left());
  DEQUANT_CHECK(write_others());
  return out_.write(
      fmt::format("{}</main>\n<footer>Made by dequant {}.</footer>\n</body>\n</html>\n",
                  page::notes_html, DEQUANT_VERSION));
}

}  // namespace dequant::tools
