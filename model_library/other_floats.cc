// Bands of stored floats as another float type.
#include "model_library/other_floats.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "format/model/floats.h"

namespace dequant::model_library {
namespace {

constexpr size_t kStep = 4096;  // elements: both buffers stay in the first cache

struct Buffers {
  std::array<float, kStep> wide;
  std::array<std::byte, kStep * sizeof(float)> narrow;
};

size_t bytes_of(Element element) { return static_cast<size_t>(bits(element)) / 8; }

}  // namespace

format::Sink other_floats(Element from, Element to, const format::Sink& sink) {
  return [from, to, &sink,
          buffers = std::make_shared<Buffers>()](std::span<const std::byte> in) -> Status {
    while (!in.empty()) {
      const size_t count = std::min(kStep, in.size() / bytes_of(from));
      const std::span<float> numbers = std::span(buffers->wide).first(count);
      const std::span<std::byte> out = std::span(buffers->narrow).first(count * bytes_of(to));
      format::widen(from, in.first(count * bytes_of(from)), numbers);
      format::narrow(to, numbers, out);
      DEQUANT_CHECK(sink(out));
      in = in.subspan(count * bytes_of(from));
    }
    return {};
  };
}

}  // namespace dequant::model_library
