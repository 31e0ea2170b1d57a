// Readers of numbers in a TFLite model.
#include "dequant/codes.h"
#include "format/io/errors.h"
#include "format/model/region_reader.h"
#include "format/tflite/constants.h"

namespace dequant::format::tflite {
namespace {

/// Numbers of 64 bits as codes of an element that can hold them: zero points, biases.
class NarrowingReader : public RegionReader {
 public:
  using RegionReader::RegionReader;

  Status read_at(Range elements, std::span<std::byte> out) const override {
    constexpr int64_t kStep = 4096;
    constexpr int64_t kWide = sizeof(int64_t);
    std::vector<int64_t> wide(static_cast<size_t>(std::min(kStep, elements.end - elements.begin)));
    for (int64_t at = elements.begin; at < elements.end; at += kStep) {
      const std::span part(wide.data(), static_cast<size_t>(std::min(kStep, elements.end - at)));
      DEQUANT_CHECK(file_.read(offset_ + at * kWide, std::as_writable_bytes(part)));
      for (size_t i = 0; i < part.size(); ++i) {
        store_code(bits(element_), out.data(), at - elements.begin + static_cast<int64_t>(i),
                   static_cast<uint32_t>(part[i]));
      }
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<StoredReader> open_stored(const InputFile& file, const Stored& stored) {
  std::string label = stored.name.empty() ? std::string("quantization parameters")
                                          : fmt::format("tensor \"{}\"", escaped(stored.name));
  if (stored.int64) {
    return std::make_unique<NarrowingReader>(file, stored.data.offset, stored.element, stored.count,
                                             std::move(label));
  }
  return std::make_unique<RegionReader>(file, stored.data.offset, stored.element, stored.count,
                                        std::move(label));
}

}  // namespace dequant::format::tflite
