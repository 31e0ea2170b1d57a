// NaN and infinity among the scales of the tensors that a conversion computes.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "format/checkpoint/groups.h"
#include "format/model/chunks.h"

namespace dequant::format::checkpoint {

/// How many numbers of a type are NaN or infinite.
struct SpecialNumbers {
  int64_t numbers = 0;
  int64_t nan = 0;
  int64_t infinite = 0;
  int64_t tiny = 0;  ///< float32 numbers whose inverse is infinite, such as 0

  void add(Element element, std::span<const std::byte> bytes);
};

/// The scales of one dense tensor, with those of the whole tensor and with zero points that are
/// floats, where some are NaN or infinite.
struct SpecialScales {
  const Group* group;
  SpecialNumbers scales;

  /// A sentence for people.
  std::string text() const;
};

/// Counts them while a conversion reads its parameters, each once.
class ScaleCounter {
 public:
  explicit ScaleCounter(const Shards& shards) : shards_(shards) {}

  /// Counts what will be read by these readers of a group's inputs. One group at a time.
  void watch(const Group& group, RecipeReaders& readers);
  /// To be called after the group is converted, or without watch() where it is not converted again.
  /// Reads what was not read as a whole; `memory` as for open_part(). Fails as fill() does.
  Status finish(const Group& group, int64_t memory);

  const std::vector<SpecialScales>& found() const { return found_; }

 private:
  /// What was read of one part.
  struct Counted {
    const Part* part;
    SpecialNumbers numbers;
  };

  /// Of all elements of a part: what was read of it, or else what reading it says.
  Result<SpecialNumbers> count(const Part& part, int64_t memory) const;

  const Shards& shards_;
  std::deque<Counted> counted_;  ///< of the group that is watched
  std::vector<SpecialScales> found_;
};

}  // namespace dequant::format::checkpoint
