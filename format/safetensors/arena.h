// Memory for many short arrays that are freed at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace dequant::format::safetensors {

/// Copies of arrays, which stay where they are until the arena is destroyed, also when it is moved.
/// Takes at most an eighth more than they, and 128 KiB; few arrays take little.
template <class T>
class Arena {
 public:
  std::span<const T> add(std::span<const T> values) {
    // Long arrays are alone, so that no chunk ends with much that is unused.
    const bool alone = values.size() > kMostChunk / 8;
    if (!alone && values.size() > room_.size()) {
      room_ = allocate(std::max(chunk_, values.size()));
      chunk_ = std::min(2 * chunk_, kMostChunk);
    }
    const std::span<T> copy = alone ? allocate(values.size()) : room_.first(values.size());
    if (!alone) room_ = room_.subspan(values.size());
    std::copy(values.begin(), values.end(), copy.begin());
    return copy;
  }

 private:
  static constexpr size_t kFirstChunk = (size_t{1} << 10) / sizeof(T);
  static constexpr size_t kMostChunk = (size_t{1} << 16) / sizeof(T);

  std::span<T> allocate(size_t size) {
    chunks_.push_back(std::make_unique_for_overwrite<T[]>(size));
    return {chunks_.back().get(), size};
  }

  size_t chunk_ = kFirstChunk;  ///< elements of the next chunk of many arrays
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::span<T> room_;  ///< the unused end of the last chunk of many arrays
};

}  // namespace dequant::format::safetensors
