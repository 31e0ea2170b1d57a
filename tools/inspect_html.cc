// Text and numbers as HTML.
#include "tools/inspect_html.h"

#include <fmt/format.h>

#include <cmath>

#include "format/io/errors.h"
#include "tools/table.h"

namespace dequant::tools {

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string html(std::string_view text) {
  return html_text(format::escaped(text, std::string_view::npos));
}

std::string html_name_in(std::string_view graph, std::string_view name) {
  return html_name(graph.empty() ? std::string(name) : fmt::format("{}/{}", graph, name));
}

std::string html_name(std::string_view name) {
  std::string out = "<bdi>";
  const std::string text = html(name);
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    const bool between = i > 0 && i + 1 < text.size();
    if (between && (text[i] == '/' || text[i] == '.' || text[i] == '_')) out += "<wbr>";
  }
  return out + "</bdi>";
}

std::string grouped(int64_t number) {
  const std::string digits = fmt::format("{}", number);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && digits[i - 1] != '-' && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string brief(double number) { return fmt::format("{:.5g}", number); }

std::string exact_title(double number) {
  const std::string all = fmt::format("{}", number);
  return all == brief(number) ? "" : fmt::format(" title='{}'", all);
}

std::string exact(double number) {
  if (std::isnan(number)) return "";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return fmt::format("{}", number);
}

std::string share(int64_t part, int64_t whole) {
  if (whole == 0) return "–";
  const double percent = 100 * static_cast<double>(part) / static_cast<double>(whole);
  if (part > 0 && percent < 0.01) return "&lt;0.01 %";
  if (part < whole && percent > 99.99) return "&gt;99.99 %";
  return fmt::format("{:.2f} %", percent);
}

std::string index_text(int64_t index, const std::vector<int64_t>& shape) {
  std::vector<int64_t> indices(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    indices[i] = index % shape[i];
    index /= shape[i];
  }
  return shape_text(indices);
}

}  // namespace dequant::tools
