// The inputs of plans.
#include "format/checkpoint/part.h"

#include <cstring>

#include "format/io/errors.h"
#include "format/model/region_reader.h"

namespace dequant::format::checkpoint {
namespace {

/// Demands that a part has the elements that the plan reads, and that it reads some.
Status check(const Part& part, const char* what, int64_t needed) {
  if (!part && needed == 0) return {};
  if (part && part.count >= needed && needed > 0) return {};
  return failure(ErrorCode::malformed, "{} {}: {} elements of {}, where {} are needed", what,
                 escaped(part.name()), part.count, name(part.element), needed);
}

/// For messages.
std::string label_of(const Part& part) {
  return part.entry == nullptr ? "numbers" : fmt::format("tensor {}", escaped(part.name()));
}

Result<SharedBytes> compute(const Shards& shards, const Part& part, int64_t memory) {
  const Computed& computed = *part.computed;
  DEQUANT_TRY(const int64_t size, packed_bytes(part.element, part.count));
  if (size > memory) {
    return failure(ErrorCode::limit, "{}: {} bytes of scales, more than the {} that mem leaves",
                   label_of(part), size, memory);
  }
  StreamOptions options;
  options.memory = memory;
  DEQUANT_TRY(RecipeReaders readers, open_inputs(shards, computed.inputs, memory));
  auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(size));
  DEQUANT_CHECK(fill(computed.plan, std::move(readers), options, *bytes));
  return SharedBytes(std::move(bytes));
}

}  // namespace

const void* Part::identity() const {
  if (computed != nullptr) return computed.get();
  return entry == nullptr ? static_cast<const void*>(bytes.get()) : entry->tensor;
}

TensorType Part::stored_type() const {
  const auto own = is_stored() ? entry->tensor->dtype->element : std::optional<Element>();
  return own ? TensorType{*own, entry->shape()} : TensorType{element, Shape(&count, 1)};
}

Result<Part> part_of(const Entry& entry) {
  const auto element = entry.tensor->dtype->element;
  if (element) return part_of(entry, *element);
  return failure(ErrorCode::unsupported, "tensor {}: type {} is not one that dequant reads",
                 escaped(entry.name()), entry.dtype());
}

Part part_of(const Entry& entry, Element element) {
  // A file has so many bytes: 8 times these do not overflow.
  return {&entry, element, entry.tensor->bytes * 8 / bits(element)};
}

Part part_of(std::span<const float> floats) {
  auto bytes = std::make_shared<std::vector<std::byte>>(floats.size_bytes());
  std::memcpy(bytes->data(), floats.data(), bytes->size());
  return {nullptr, Element::float32, static_cast<int64_t>(floats.size()), std::move(bytes)};
}

Status check_inputs(const Plan& plan, const Inputs& inputs) {
  if (element_count(plan) == 0) return {};  // then it reads none of any part
  Extents needed = extents(plan);
  // Packed codes are read as bytes.
  if (has_packed_codes(plan)) needed.x = x_bytes_of(plan, {0, needed.x}).end;
  if (has_packed_zero_points(plan))
    needed.zero_point = zero_point_bytes_of(plan, {0, needed.zero_point}).end;
  DEQUANT_CHECK(check(inputs.codes, "codes", needed.x));
  DEQUANT_CHECK(check(inputs.scale, "scale", needed.scale));
  DEQUANT_CHECK(check(inputs.zero_point, "zero point", needed.zero_point));
  DEQUANT_CHECK(check(inputs.codebook, "codebook", needed.codebook));
  DEQUANT_CHECK(check(inputs.tensor_scale, "tensor scale", needed.tensor_scale));
  return check(inputs.group_index, "group index", needed.group_index);
}

Result<Part> computed_part(Plan plan, Inputs inputs) {
  DEQUANT_CHECK(check_inputs(plan, inputs));
  const Entry* entry = inputs.codes.entry;
  const Element output = plan.output;
  const int64_t count = element_count(plan);
  return Part{entry, output, count, nullptr,
              std::make_shared<const Computed>(Computed{std::move(plan), std::move(inputs)})};
}

int64_t stored_bytes(const Part& part) {
  int64_t sum = 0;
  for_each_entry(part, [&](const Entry& entry) { sum += entry.tensor->bytes; });
  return sum;
}

Result<std::unique_ptr<StoredReader>> open_part(const Shards& shards, const Part& part,
                                                int64_t memory) {
  SharedBytes bytes = part.bytes;
  if (part.computed != nullptr) {
    DEQUANT_TRY(bytes, compute(shards, part, memory));
  }
  std::unique_ptr<StoredReader> reader;
  if (bytes != nullptr) {
    reader =
        std::make_unique<BytesReader>(std::move(bytes), part.element, part.count, label_of(part));
  } else {
    reader =
        std::make_unique<RegionReader>(shards.file_of(*part.entry).file, part.entry->tensor->offset,
                                       part.element, part.count, label_of(part));
  }
  return reader;
}

Result<RecipeReaders> open_inputs(const Shards& shards, const Inputs& inputs, int64_t memory) {
  RecipeReaders readers;
  const auto open = [&](const Part& part, std::unique_ptr<StoredReader>& reader) -> Status {
    if (!part) return {};
    DEQUANT_TRY(reader, open_part(shards, part, memory));
    return {};
  };
  DEQUANT_CHECK(open(inputs.codes, readers.codes));
  DEQUANT_CHECK(open(inputs.scale, readers.scale));
  DEQUANT_CHECK(open(inputs.zero_point, readers.zero_point));
  DEQUANT_CHECK(open(inputs.tensor_scale, readers.tensor_scale));
  DEQUANT_CHECK(open(inputs.group_index, readers.group_index));
  DEQUANT_CHECK(open(inputs.codebook, readers.codebook));
  return readers;
}

}  // namespace dequant::format::checkpoint
