// Counts numbers that are infinite in float16, whose range quantized weights of other types leave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dequant/element.h"
#include "format/model/stream.h"

namespace dequant::format {

/// The infinite numbers of each tensor that is computed in float16. Any thread may add some.
class Overflows {
 public:
  /// Whole numbers of a tensor.
  void add(std::string_view tensor, std::span<const std::byte> float16);

  /// A sentence for each tensor that has infinite numbers, in the order of their names.
  std::vector<std::string> warnings() const;

 private:
  std::mutex adding_;
  std::map<std::string, int64_t, std::less<>> infinite_;
};

/// The sink, which also counts in options.overflows where that is set and the type is float16. The
/// options and the texts must outlive the result.
OffsetSink counted(const StreamOptions& options, std::string_view tensor, Element element,
                   OffsetSink sink);

}  // namespace dequant::format
