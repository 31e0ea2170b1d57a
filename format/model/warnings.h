// What a model's users should know, although the model can be used.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

namespace dequant::format {

/// Sentences. A file may give rise to as many as it has bytes, so only the first are kept.
class Warnings {
 public:
  void add(std::string sentence) {
    if (first_.size() < kMost) {
      first_.push_back(std::move(sentence));
    } else {
      ++more_;
    }
  }

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
