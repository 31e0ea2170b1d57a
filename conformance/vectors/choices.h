// Choosing the parameters of a node: every combination in turn, or random ones.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/vectors/random.h"
#include "dequant/element.h"

namespace dequant::conformance::vectors {

/// A function that makes a node asks for each parameter in turn. The combinations are systematic if
/// the function asks alike after alike answers.
class Choices {
 public:
  enum class Order { systematic, random };

  Choices(Order order, Random random) : order_(order), random_(random) {}

  /// One of a list, which a systematic order has in turn. The name has it, unless it is empty.
  template <class T>
  T each(std::initializer_list<T> list, std::string_view unit = {}) {
    const T value = list.begin()[pick(list.size())];
    const std::string text = fmt::format("{}{}", text_of(value), unit);
    if (!text.empty()) name_ += (name_.empty() ? "" : "/") + text;
    return value;
  }

  /// A random number in [low, high], and a random entry of a list.
  int64_t in(int64_t low, int64_t high) { return random_.in(low, high); }
  template <class T>
  T any(std::initializer_list<T> list) {
    return list.begin()[static_cast<size_t>(in(0, static_cast<int64_t>(list.size()) - 1))];
  }

  /// True if each combination comes in turn.
  bool systematic() const { return order_ == Order::systematic; }

  /// What each() has chosen since the last call of next(): "4_bits/act_order".
  const std::string& name() const { return name_; }

  /// Starts the next combination, whose numbers come from `random`. False after the last one.
  bool next(Random random) {
    random_ = random;
    name_.clear();
    depth_ = 0;
    while (!path_.empty() && path_.back().index + 1 == path_.back().count) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().index;
    return true;
  }

 private:
  struct Step {
    size_t index;
    size_t count;
  };

  static std::string_view text_of(Element element) { return dequant::name(element); }
  static std::string_view text_of(std::string_view text) { return text; }
  static std::string text_of(int64_t number) { return std::to_string(number); }

  size_t pick(size_t count) {
    if (order_ == Order::random) return static_cast<size_t>(random_.bits() % count);
    if (depth_ == path_.size()) path_.push_back({0, count});
    return path_[depth_++].index;
  }

  Order order_;
  Random random_;
  std::string name_;
  std::vector<Step> path_;
  size_t depth_ = 0;
};

}  // namespace dequant::conformance::vectors
