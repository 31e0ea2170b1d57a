// The files of a GGUF model.
#include "format/gguf/parts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "format/io/below.h"

namespace dequant::format::gguf {
namespace {

constexpr const char* kWhat = "part";

/// What a file says of the model whose part it is.
struct Split {
  int64_t number = 0;
  int64_t count = 1;  ///< at most 1: the file is the whole model
  int64_t tensors = 0;
};

Result<Split> split_of(const Metadata& metadata) {
  Split split;
  DEQUANT_TRY(const auto count, metadata.integer(kSplitCount));
  if (!count || *count <= 1) return split;
  DEQUANT_TRY(const auto number, metadata.integer(kSplitNumber));
  DEQUANT_TRY(const auto tensors, metadata.integer(kSplitTensors));
  if (*count > 65'535 || !number || *number >= *count || !tensors) {
    const auto shown = [](auto n) { return n ? std::to_string(*n) : std::string("missing"); };
    return failure(ErrorCode::malformed, "{} is {}, {} is {} and {} is {}: no part of a model",
                   kSplitCount, *count, kSplitNumber, shown(number), kSplitTensors, shown(tensors));
  }
  return Split{*number, *count, *tensors};
}

/// The name of a model by that of a part: what comes before its number.
Result<std::string> model_of(const std::string& file, const Split& split) {
  const std::string tail = part_name("", split.number, split.count);
  if (file.size() > tail.size() && file.ends_with(tail))
    return file.substr(0, file.size() - tail.size());
  return failure(ErrorCode::malformed,
                 "the file is part {} of {} of a model, and its name does not end with \"{}\", so "
                 "the other parts cannot be found",
                 split.number + 1, split.count, tail);
}

/// The shape that a pair of the metadata gives a tensor.
Result<std::vector<int64_t>> original_shape(const Part& part, const Pair& pair,
                                            const Tensor& tensor) {
  const bool is_array = pair.type == ValueType::array;
  if (!is_array || bytes_of(pair.element) == 0 || !Number{pair.element, 0}.is_integer()) {
    return failure(ErrorCode::malformed, "a value of type {}{}, not an array of integers",
                   is_array ? "array of " : "", name(is_array ? pair.element : pair.type));
  }
  if (pair.number > kMaxRank) {
    return failure(ErrorCode::malformed, "a shape of {} dimensions, more than {}", pair.number,
                   kMaxRank);
  }
  std::vector<int64_t> shape;
  const auto add = [&](Number number) { shape.push_back(number.integer()); };
  DEQUANT_CHECK(
      visit_elements(part.file, part.header.big_endian(), pair, kMaxRank, add, /*text=*/{}));
  DEQUANT_TRY(const int64_t stored, element_count(tensor.shape));
  const auto count = element_count(shape);
  if (count && *count == stored) return shape;
  return failure(ErrorCode::malformed, "a shape of [{}] for a tensor of {} elements",
                 fmt::join(shape, ", "), stored);
}

}  // namespace

std::string part_name(std::string_view model, int64_t number, int64_t count) {
  return fmt::format("{}-{:05}-of-{:05}.gguf", model, number + 1, count);
}

Result<std::unique_ptr<Parts>> Parts::open(InputFile file) {
  const std::string path = file.name();
  std::unique_ptr<Parts> parts(new Parts);
  DEQUANT_CHECK(parts->open_all(std::move(file)));
  for (uint32_t i = 0; i < parts->files_.size(); ++i) {
    for (const Tensor& tensor : parts->files_[i].header.tensors())
      parts->entries_.push_back({&tensor, i});
  }
  if (auto added = parts->index_names(); !added) return in(escaped(path), std::move(added).error());
  if (auto found = parts->find_original_shapes(); !found)
    return in(escaped(path), std::move(found).error());
  return parts;
}

Status Parts::open_all(InputFile file) {
  const std::string path = file.name();
  DEQUANT_TRY(Header header, Header::read(file));
  const std::string name = std::filesystem::path(path).filename().string();
  const auto split = split_of(header.metadata());
  if (!split) return in(escaped(path), split.error());
  if (split->count <= 1) {
    files_.push_back({name, std::move(file), std::move(header)});
    return {};
  }
  const auto model = model_of(name, *split);
  if (!model) return in(escaped(path), model.error());
  size_t tensors = 0;
  for (int64_t number = 0; number < split->count; ++number) {
    const std::string own = part_name(*model, number, split->count);
    DEQUANT_TRY(InputFile part, open_below(kWhat, path, own));
    DEQUANT_TRY(Header own_header, Header::read(part));
    const auto says = split_of(own_header.metadata());
    if (!says) return in(escaped(own), says.error());
    if (says->number != number || says->count != split->count || says->tensors != split->tensors ||
        own_header.big_endian() != header.big_endian()) {
      return failure(ErrorCode::malformed,
                     "{} is part {} of {} with {} tensors, and {} is part {} of {} with {}: no "
                     "parts of one model",
                     escaped(name), split->number + 1, split->count, split->tensors, escaped(own),
                     says->number + 1, says->count, says->tensors);
    }
    tensors += own_header.tensors().size();
    files_.push_back({own, std::move(part), std::move(own_header)});
  }
  if (tensors == static_cast<uint64_t>(split->tensors)) return {};
  return failure(ErrorCode::malformed, "{}: {} is {}, but the parts have {} tensors", escaped(path),
                 kSplitTensors, split->tensors, tensors);
}

Status Parts::set_entries(std::vector<Entry> entries, std::deque<View> views) {
  entries_ = std::move(entries);
  views_ = std::move(views);
  return index_names();
}

Status Parts::index_names() {
  const auto name_of = [&](size_t i) { return entries_[i].name(); };
  names_ = safetensors::NameIndex(entries_.size(), name_of);
  if (const auto repeated = names_.repeated(name_of)) {
    return failure(ErrorCode::malformed, "tensor \"{}\" is there twice",
                   escaped(name_of(*repeated)));
  }
  return {};
}

/// Keys of tensors that are not there change nothing, as in ComfyUI-GGUF.
Status Parts::find_original_shapes() {
  for (const Pair& pair : metadata().pairs()) {
    if (!pair.key.starts_with(kOriginalShape)) continue;
    const auto index = names_.find(pair.key.substr(kOriginalShape.size()),
                                   [&](size_t i) { return entries_[i].name(); });
    if (!index) continue;
    auto shape = original_shape(files_[0], pair, *entries_[*index].tensor);
    if (!shape) return in(fmt::format("key \"{}\"", escaped(pair.key)), std::move(shape).error());
    entries_[*index].original = &original_shapes_.emplace_back(*std::move(shape));
  }
  return {};
}

const Entry* Parts::find(std::string_view name) const {
  const auto found = names_.find(name, [&](size_t i) { return entries_[i].name(); });
  return found ? &entries_[*found] : nullptr;
}

Status Parts::check_unchanged() const {
  for (const Part& part : files_) DEQUANT_CHECK(part.file.check_unchanged());
  return {};
}

int64_t Parts::bytes() const {
  int64_t sum = 0;
  for (const Part& part : files_) sum += part.file.size();
  return sum;
}

}  // namespace dequant::format::gguf
