// Folding names: names with the same text between their numbers are tuples of numbers, and a set of
// tuples is written as few products of sets.
#include "format/model/fold_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>

namespace dequant::format {
namespace {

/// Numbers of a name that are folded at most: a name may have as many as it has characters.
constexpr size_t kMostNumbers = 8;
/// Digits of a number at most, so that numbers fit in 64 bits.
constexpr size_t kMostDigits = 18;
/// Stands for a number in the text of a name. No UTF-8 text has this byte.
constexpr char kNumber = '\xFF';

struct Tuple {
  std::vector<uint64_t> numbers;
  size_t name = 0;
};

/// Names as products: one set for each number.
struct Product {
  std::vector<std::vector<uint64_t>> sets;
  std::vector<size_t> names;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The text of a name with kNumber for each number, and the numbers.
std::string split(std::string_view name, std::vector<uint64_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < name.size();) {
    size_t end = i;
    while (end < name.size() && is_digit(name[end])) ++end;
    const bool folds = end > i && end - i <= kMostDigits && numbers.size() < kMostNumbers &&
                       (name[i] != '0' || end == i + 1);
    if (!folds) {
      end = std::max(end, i + 1);
      text += name.substr(i, end - i);
    } else {
      uint64_t number = 0;
      for (size_t d = i; d < end; ++d) number = 10 * number + static_cast<uint64_t>(name[d] - '0');
      numbers.push_back(number);
      text += kNumber;
    }
    i = end;
  }
  return text;
}

/// Folds tuples that are sorted and have the same numbers before index `at`. Calls itself for the
/// later numbers of a tuple, so at most kMostNumbers deep.
std::vector<Product> fold(std::span<const Tuple> tuples, size_t at) {
  if (at == tuples[0].numbers.size()) {
    Product all;
    for (const Tuple& t : tuples) all.names.push_back(t.name);
    return {all};
  }
  // Numbers whose later numbers are the same sets share a product.
  std::map<std::vector<std::vector<std::vector<uint64_t>>>, std::vector<Product>> by_rest;
  for (size_t begin = 0; begin < tuples.size();) {
    const uint64_t number = tuples[begin].numbers[at];
    size_t end = begin;
    while (end < tuples.size() && tuples[end].numbers[at] == number) ++end;
    std::vector<Product> rest = fold(tuples.subspan(begin, end - begin), at + 1);
    std::vector<std::vector<std::vector<uint64_t>>> key;
    for (const Product& p : rest) key.push_back(p.sets);
    auto [same, added] = by_rest.try_emplace(std::move(key));
    for (size_t i = 0; i < rest.size(); ++i) {
      if (added) {
        same->second.push_back({rest[i].sets, {}});
        same->second[i].sets.insert(same->second[i].sets.begin(), std::vector<uint64_t>());
      }
      Product& product = same->second[i];
      product.sets[0].push_back(number);
      product.names.insert(product.names.end(), rest[i].names.begin(), rest[i].names.end());
    }
    begin = end;
  }
  std::vector<Product> out;
  for (auto& [key, products] : by_rest) {
    for (Product& p : products) out.push_back(std::move(p));
  }
  return out;
}

/// "7", "{0..60}", "{1,3}", "{0..2,5}".
std::string text_of(const std::vector<uint64_t>& set) {
  if (set.size() == 1) return std::to_string(set[0]);
  std::string text;
  for (size_t i = 0; i < set.size();) {
    size_t last = i;
    while (last + 1 < set.size() && set[last + 1] == set[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", set[i]);
    if (last > i) text += fmt::format("{}{}", last > i + 1 ? ".." : ",", set[last]);
    i = last + 1;
  }
  return "{" + text + "}";
}

std::string pattern_of(std::string_view text, const Product& product) {
  std::string out;
  size_t number = 0;
  for (const char c : text) {
    if (c == kNumber) {
      out += text_of(product.sets[number++]);
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::vector<FoldedNames> fold_names(std::span<const std::string_view> names) {
  std::unordered_map<std::string, std::vector<Tuple>> by_text;
  for (size_t i = 0; i < names.size(); ++i) {
    Tuple tuple{{}, i};
    const std::string text = split(names[i], tuple.numbers);
    by_text[text].push_back(std::move(tuple));
  }
  std::vector<FoldedNames> out;
  for (auto& [text, tuples] : by_text) {
    std::stable_sort(tuples.begin(), tuples.end(),
                     [](const Tuple& a, const Tuple& b) { return a.numbers < b.numbers; });
    for (Product& p : fold(tuples, 0)) {
      std::sort(p.names.begin(), p.names.end());
      out.push_back({pattern_of(text, p), std::move(p.names)});
    }
  }
  std::sort(out.begin(), out.end(),
            [](const FoldedNames& a, const FoldedNames& b) { return a.names[0] < b.names[0]; });
  return out;
}

}  // namespace dequant::format
