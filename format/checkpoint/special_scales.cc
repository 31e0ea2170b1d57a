// NaN and infinity among scales.
#include "format/checkpoint/special_scales.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {

/// Elements that are read at once.
constexpr int64_t kStep = int64_t{1} << 20;

/// Numbers whose exponent has all bits set: `exponent` are these bits of a code.
template <class Code>
void add_floats(SpecialNumbers& found, std::span<const std::byte> bytes, Code exponent,
                Code fraction) {
  int64_t nan = 0;
  int64_t infinite = 0;
  for (size_t at = 0; at + sizeof(Code) <= bytes.size(); at += sizeof(Code)) {
    Code code;
    std::memcpy(&code, bytes.data() + at, sizeof code);
    const bool special = (code & exponent) == exponent;
    nan += special && (code & fraction) != 0 ? 1 : 0;
    infinite += special && (code & fraction) == 0 ? 1 : 0;
  }
  found.nan += nan;
  found.infinite += infinite;
}

/// float32 numbers from -2^-128 to 2^-128: 1 divided by these is infinite.
void add_tiny(SpecialNumbers& found, std::span<const std::byte> bytes) {
  for (size_t at = 0; at + sizeof(uint32_t) <= bytes.size(); at += sizeof(uint32_t)) {
    uint32_t code = 0;
    std::memcpy(&code, bytes.data() + at, sizeof code);
    found.tiny += (code & 0x7FFFFFFF) <= 0x00200000 ? 1 : 0;
  }
}

/// Each code that is special is searched for: there are few.
void add_codes(SpecialNumbers& found, Element element, std::span<const std::byte> bytes) {
  for (uint32_t code = 0; code < 256; ++code) {
    const double value = value_of(element, code);
    if (std::isfinite(value)) continue;
    (std::isnan(value) ? found.nan : found.infinite) +=
        std::count(bytes.begin(), bytes.end(), static_cast<std::byte>(code));
  }
}

bool has_special(Element element) { return kind(element) == Kind::floating && bits(element) >= 8; }

/// Calls visit(part, reader) for the inputs that are counted; the readers may be null.
template <class Visit>
void for_each_counted(const Group& group, RecipeReaders& readers, Visit visit) {
  const auto look = [&](const Part& part, std::unique_ptr<StoredReader>& reader) {
    if (part && has_special(part.element)) visit(part, reader);
  };
  look(group.scale, readers.scale);
  look(group.tensor_scale, readers.tensor_scale);
  look(group.zero_point, readers.zero_point);
}

/// Counts what is read from front to back.
class CountedReader : public StoredReader {
 public:
  CountedReader(std::unique_ptr<StoredReader> inner, std::string label, SpecialNumbers& found)
      : StoredReader(inner->element(), inner->count()),
        inner_(std::move(inner)),
        label_(std::move(label)),
        found_(found) {}

  bool seekable() const override { return inner_->seekable(); }
  Status read_at(Range elements, std::span<std::byte> out) const override {
    return inner_->read_at(elements, out);
  }
  Status finish() override { return inner_->finish(); }

 private:
  Status read_next(Range elements, std::span<std::byte> out) override {
    DEQUANT_CHECK(inner_->read(elements.end - elements.begin, out));
    found_.add(element_, out);
    return {};
  }
  std::string label() const override { return label_; }

  const std::unique_ptr<StoredReader> inner_;
  const std::string label_;
  SpecialNumbers& found_;
};

}  // namespace

void SpecialNumbers::add(Element element, std::span<const std::byte> bytes) {
  numbers += static_cast<int64_t>(bytes.size()) * 8 / bits(element);
  switch (element) {
    case Element::float32:
      add_tiny(*this, bytes);
      return add_floats<uint32_t>(*this, bytes, 0x7F800000, 0x007FFFFF);
    case Element::float16: return add_floats<uint16_t>(*this, bytes, 0x7C00, 0x03FF);
    case Element::bfloat16: return add_floats<uint16_t>(*this, bytes, 0x7F80, 0x007F);
    default: return add_codes(*this, element, bytes);
  }
}

std::string SpecialScales::text() const {
  std::string what =
      scales.nan > 0 ? fmt::format("{} of {} scales are NaN", scales.nan, scales.numbers)
                     : fmt::format("{} of {} scales are infinite", scales.infinite, scales.numbers);
  if (scales.nan > 0 && scales.infinite > 0)
    what += fmt::format(" and {} are infinite", scales.infinite);
  return fmt::format("tensor {}: {}; its floats are computed with them as IEEE 754 says",
                     escaped(group->name), what);
}

void ScaleCounter::watch(const Group& group, RecipeReaders& readers) {
  counted_.clear();
  for_each_counted(group, readers, [&](const Part& part, std::unique_ptr<StoredReader>& reader) {
    Counted& counted = counted_.emplace_back(Counted{&part, {}});
    reader = std::make_unique<CountedReader>(
        std::move(reader), fmt::format("tensor {}", escaped(part.name())), counted.numbers);
  });
}

Status ScaleCounter::finish(const Group& group, int64_t memory) {
  SpecialScales found{&group, {}};
  Status status;
  RecipeReaders none;
  for_each_counted(group, none, [&](const Part& part, std::unique_ptr<StoredReader>&) {
    if (!status) return;
    auto numbers = count(part, memory);
    if (!numbers) {
      status = std::move(numbers).error();
      return;
    }
    if (&part == &group.tensor_scale && group.plan.parameters.tensor_scale == TensorScale::divide)
      numbers->infinite = numbers->tiny;
    if (part.element == Element::float8e8m0 && group.plan.parameters.infinite_e8m0)
      std::swap(numbers->nan, numbers->infinite);
    found.scales.numbers += numbers->numbers;
    found.scales.nan += numbers->nan;
    found.scales.infinite += numbers->infinite;
  });
  counted_.clear();
  if (found.scales.nan > 0 || found.scales.infinite > 0) found_.push_back(found);
  return status;
}

Result<SpecialNumbers> ScaleCounter::count(const Part& part, int64_t memory) const {
  for (const Counted& counted : counted_) {
    if (counted.part == &part && counted.numbers.numbers == part.count) return counted.numbers;
  }
  SpecialNumbers numbers;
  DEQUANT_TRY(const auto reader, open_part(shards_, part, memory));
  while (reader->left() > 0) {
    DEQUANT_TRY(const auto bytes, reader->next(std::min(kStep, reader->left())));
    numbers.add(part.element, bytes);
  }
  DEQUANT_CHECK(reader->finish());
  return numbers;
}

}  // namespace dequant::format::checkpoint
