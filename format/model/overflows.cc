// Counts numbers that are infinite in float16.
#include "format/model/overflows.h"

#include <fmt/format.h>

#include <utility>

#include "format/io/errors.h"
#include "format/model/value_range.h"
#include "format/model/warnings.h"

namespace dequant::format {

void Overflows::add(std::string_view tensor, std::span<const std::byte> float16) {
  const int64_t count = infinite_float16(float16);
  if (count == 0) return;
  const std::lock_guard lock(adding_);
  const auto at = infinite_.find(tensor);
  if (at == infinite_.end()) {
    infinite_.emplace(tensor, count);
  } else {
    at->second += count;
  }
}

std::vector<std::string> Overflows::warnings() const {
  Warnings warnings;
  for (const auto& [tensor, count] : infinite_) {
    warnings.add(fmt::format(
        "tensor {}: {} value{} infinite in float16, whose largest number is 65504; bfloat16 has "
        "the range of float32",
        escaped(tensor), count, count == 1 ? " is" : "s are"));
  }
  return warnings.sentences();
}

OffsetSink counted(const StreamOptions& options, std::string_view tensor, Element element,
                   OffsetSink sink) {
  if (options.overflows == nullptr || element != Element::float16) return sink;
  return [&overflows = *options.overflows, tensor, sink = std::move(sink)](
             int64_t offset, std::span<const std::byte> bytes) {
    overflows.add(tensor, bytes);
    return sink(offset, bytes);
  };
}

}  // namespace dequant::format
