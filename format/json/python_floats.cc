// Words of Python for floats.
#include "format/json/python_floats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace dequant::format {
namespace {

struct Word {
  std::string_view word;
  std::string_view number;
  double value;
};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array kWords{
    Word{"NaN", "0e0", std::numeric_limits<double>::quiet_NaN()},
    Word{"Infinity", "0e000000", kInfinity},
    Word{"-Infinity", "-0e000000", -kInfinity},
};

/// True for characters of words and numbers.
bool is_of_token(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
         c == '+' || c == '.';
}

/// The end of the string that begins at `at`, behind its closing quote if there is one.
size_t end_of_string(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

}  // namespace

std::string with_numbers_for_words(std::string_view text) {
  std::string out(text);
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      at = end_of_string(text, at);
      continue;
    }
    size_t end = at;
    while (end < text.size() && is_of_token(text[end])) ++end;
    const std::string_view token = text.substr(at, end - at);
    for (const Word& w : kWords) {
      if (token == w.word) out.replace(at, token.size(), w.number);
      if (token == w.number) out[at + token.find('e')] = '.';
    }
    at = std::max(end, at + 1);
  }
  return out;
}

std::optional<double> float_of_word(std::string_view number) {
  for (const Word& w : kWords) {
    if (number == w.number) return w.value;
  }
  return {};
}

std::string_view word_of(double value) {
  return kWords[std::isnan(value) ? 0 : value > 0 ? 1 : 2].word;
}

}  // namespace dequant::format
