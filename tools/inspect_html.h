// Text and numbers as HTML.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dequant::tools {

/// Text for an element or a quoted attribute: markup characters become character references. Names
/// in the text must already be escaped().
std::string html_text(std::string_view text);

/// html_text() of a name or a path, which is escaped() but not shortened.
std::string html(std::string_view text);

/// html() of a name of a model, with its text direction isolated. Long names may break at
/// punctuation.
std::string html_name(std::string_view name);

/// html_name() of a name with that of its graph, which is empty for the main graph.
std::string html_name_in(std::string_view graph, std::string_view name);

/// "1,234,567".
std::string grouped(int64_t number);

/// A number with at most five digits: "0.015321", "1.2e-09", "inf".
std::string brief(double number);

/// A title attribute with all digits of a number, where brief() has fewer; else empty.
std::string exact_title(double number);

/// All digits of a number, as JavaScript reads them; empty for NaN.
std::string exact(double number);

/// "12.3 %", "&lt;0.01 %"; "–" if `whole` is 0.
std::string share(int64_t part, int64_t whole);

/// "[3, 17]": the indices of a row-major index in a tensor of that shape.
std::string index_text(int64_t index, const std::vector<int64_t>& shape);

}  // namespace dequant::tools
