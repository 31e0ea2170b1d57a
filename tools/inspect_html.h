// Text and numbers as they may stand in a page.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dequant::tools {

/// Text for an element or a quoted attribute, of a sentence whose names are escaped(): the
/// characters of markup as references.
std::string html_text(std::string_view text);

/// The same of a name or a path, whatever it holds: escaped(), but never cut.
std::string html(std::string_view text);

/// The same for a name out of a model, which may be written in any direction, which ends
/// where it ends. Long ones break at their marks.
std::string html_name(std::string_view name);

/// The same of a name in a graph, which has no name itself if it is the main one.
std::string html_name_in(std::string_view graph, std::string_view name);

/// "1,234,567".
std::string grouped(int64_t number);

/// Five digits at most, for people: "0.015321", "1.2e-09", "inf".
std::string brief(double number);

/// A title attribute with all that is in a number, where brief() leaves some of it out.
std::string exact_title(double number);

/// All that is in the number, as JavaScript reads it; nothing of NaN.
std::string exact(double number);

/// "12.3 %", "&lt;0.01 %"; "–" of none.
std::string share(int64_t part, int64_t whole);

/// "[3, 17]": where an index lies in a tensor of that shape.
std::string index_text(int64_t index, const std::vector<int64_t>& shape);

}  // namespace dequant::tools
