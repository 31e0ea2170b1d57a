// Python's json module writes floats that JSON does not have as words: NaN, Infinity, -Infinity.
// Here each word has a number of the same length that stands for it while a text is parsed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dequant::format {

/// The text with the numbers that stand for words outside of strings. Other numbers are spelled
/// differently there, with the same value: no byte moves.
std::string with_numbers_for_words(std::string_view text);

/// The float of the word that a number of such a text stands for, if it stands for one.
std::optional<double> float_of_word(std::string_view number);

/// The word of a float that is infinite or NaN.
std::string_view word_of(double value);

}  // namespace dequant::format
