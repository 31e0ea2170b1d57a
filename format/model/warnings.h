// Warnings about a model that can be used all the same.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

namespace dequant::format {

/// A list of sentences. A file may cause as many as it has bytes, so only the first 100 are kept.
class Warnings {
 public:
  /// Keeps the sentence, or only counts it.
  void add(std::string sentence) {
    if (first_.size() < kMost) {
      first_.push_back(std::move(sentence));
    } else {
      ++more_;
    }
  }

  /// The sentences that were kept, and one about the number of all others.
  std::vector<std::string> sentences() const {
    std::vector<std::string> out = first_;
    if (more_ > 0) out.push_back(fmt::format("{} more warnings like these", more_));
    return out;
  }

 private:
  static constexpr size_t kMost = 100;

  std::vector<std::string> first_;
  size_t more_ = 0;
};

}  // namespace dequant::format
