// What becomes of each tensor of a GGUF model.
#include "format/gguf/tensors.h"

#include <algorithm>

#include "dequant/gguf.h"
#include "format/model/region_reader.h"

namespace dequant::format::gguf {
namespace {

constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kFactor = ".scale";

/// True for blocks that have bytes only, and no numbers of several bytes.
bool has_no_order(BlockType type) { return type == BlockType::MXFP4 || type == BlockType::NVFP4; }

/// A region whose numbers have their highest byte first.
class SwappedReader : public RegionReader {
 public:
  SwappedReader(const InputFile& file, int64_t offset, Element element, int64_t count,
                std::string label, int64_t width)
      : RegionReader(file, offset, element, count, std::move(label)),
        width_(static_cast<size_t>(width)) {}

  Status read_at(Range elements, std::span<std::byte> out) const override {
    DEQUANT_CHECK(RegionReader::read_at(elements, out));
    for (size_t at = 0; at + width_ <= out.size(); at += width_)
      std::reverse(out.begin() + static_cast<std::ptrdiff_t>(at),
                   out.begin() + static_cast<std::ptrdiff_t>(at + width_));
    return {};
  }

 private:
  const size_t width_;  ///< bytes of a number
};

}  // namespace

Result<Uses> Uses::of(const Parts& parts) {
  Uses uses;
  for (const Entry& entry : parts.entries()) {
    if (auto added = uses.add(parts, entry); !added)
      return in(fmt::format("tensor \"{}\"", escaped(entry.name())), std::move(added).error());
  }
  for (const Entry& entry : parts.entries()) {
    if (auto checked = uses.check_factor(entry); !checked)
      return in(fmt::format("tensor \"{}\"", escaped(entry.name())), std::move(checked).error());
  }
  return uses;
}

/// llama.cpp multiplies the product with any tensor by its factor; models of transformers have no
/// factors, so that one that is left over would be lost.
Status Uses::check_factor(const Entry& entry) const {
  if (entry.view == nullptr || !entry.name().ends_with(kFactor) || !is_copied(entry)) return {};
  return failure(ErrorCode::unsupported,
                 "names hf: it is a factor, and \"{}{}\", which it multiplies, is no tensor of "
                 "blocks",
                 escaped(entry.name().substr(0, entry.name().size() - kFactor.size())), kWeight);
}

Status Uses::add(const Parts& parts, const Entry& entry) {
  if (entry.view != nullptr && !entry.view->dropped.empty()) {
    dropped_.push_back({&entry, entry.view->dropped});
    uses_.emplace(&entry, nullptr);
    return {};
  }
  const Type& type = entry.type();
  if (parts.big_endian() && (type.block ? !has_no_order(*type.block) : type.name == "BF16")) {
    return failure(ErrorCode::unsupported,
                   "type {} in a big-endian file: tools that write such files differ on the order "
                   "of its bytes",
                   type.name);
  }
  if (!type.block) return {};
  Blocks& blocks = blocks_.emplace_back();
  blocks.entry = &entry;
  blocks.bytes_shape.assign(entry.shape().begin(), entry.shape().end());
  blocks.bytes_shape.back() = blocks.bytes_shape.back() / type.elements * type.bytes;
  if (*type.block == BlockType::NVFP4 || entry.view != nullptr)
    DEQUANT_CHECK(add_factor(parts, blocks));
  DEQUANT_TRY(blocks.plan, dequant::gguf::dequantize({.type = *type.block,
                                                      .shape = entry.shape(),
                                                      .has_scale = blocks.scale != nullptr,
                                                      .scale_per_expert = blocks.experts}));
  uses_.emplace(&entry, &blocks);
  return {};
}

/// Blocks may have a factor in a tensor of their own, or one for each expert of a stack: of
/// "a.weight" it is "a.scale". Under the names of GGUF it is part of NVFP4 alone; beside other
/// types it stays the tensor that it is, as their floats have no factor in ggml. That of its input,
/// "a.input_scale", is not needed by floats; of another type than float32 it is a tensor like any
/// other.
Status Uses::add_factor(const Parts& parts, Blocks& blocks) {
  const std::string_view name = blocks.entry->name();
  const std::string base(name.ends_with(kWeight) ? name.substr(0, name.size() - kWeight.size())
                                                 : name);
  const Entry* input = parts.find(fmt::format("{}.input_scale", base));
  if (input != nullptr && input->type().element == Element::float32 &&
      uses_.emplace(input, &blocks).second)
    dropped_.push_back({input, "the scale of an activation"});
  const Entry* scale = parts.find(fmt::format("{}{}", base, kFactor));
  if (scale == nullptr) return {};
  const int64_t count = scale->bytes() / 4;
  if (scale->type().element != Element::float32 || count == 0) {
    return failure(ErrorCode::malformed, "its factor \"{}\" has {} bytes of type {}, not a float32",
                   escaped(scale->name()), scale->bytes(), scale->type().name);
  }
  const Shape shape = blocks.entry->shape();
  blocks.experts = shape.size() > 1 && count == shape[0] && count != 1;
  if (count != 1 && !blocks.experts) {
    return failure(ErrorCode::unsupported,
                   "its factor \"{}\" has {} numbers, neither one nor one for each index of the "
                   "first dimension",
                   escaped(scale->name()), count);
  }
  if (const Blocks* other = uses_.emplace(scale, &blocks).first->second; other != &blocks) {
    return failure(ErrorCode::malformed, "its factor \"{}\" is {}", escaped(scale->name()),
                   other == nullptr
                       ? "dropped"
                       : fmt::format("also that of tensor \"{}\"", escaped(other->entry->name())));
  }
  blocks.scale = scale;
  return {};
}

const Blocks* Uses::user_of(const Entry& entry) const {
  const auto found = uses_.find(&entry);
  if (found == uses_.end() || found->second == nullptr) return nullptr;
  return found->second->entry == &entry ? nullptr : found->second;
}

const Blocks* Uses::blocks_of(const Entry& entry) const {
  const auto found = uses_.find(&entry);
  if (found == uses_.end() || found->second == nullptr) return nullptr;
  return found->second->entry != &entry ? nullptr : found->second;
}

std::unique_ptr<StoredReader> open_entry(const Parts& parts, const Entry& entry) {
  const Type& type = entry.type();
  const InputFile& file = parts.part_of(entry).file;
  const Element element = type.element.value_or(Element::uint8);
  const int64_t count = type.element ? entry.bytes() / type.bytes : entry.bytes();
  std::string label = fmt::format("tensor \"{}\"", escaped(entry.name()));
  std::unique_ptr<StoredReader> reader;
  if (parts.big_endian() && !type.block && type.bytes > 1) {
    reader = std::make_unique<SwappedReader>(file, entry.offset(), element, count, std::move(label),
                                             type.bytes);
  } else {
    reader = std::make_unique<RegionReader>(file, entry.offset(), element, count, std::move(label));
  }
  if (entry.is_stored()) return reader;
  const int64_t row = entry.view->head > 0 ? count / entry.shape()[0] : 0;
  return open_view(*entry.view, std::move(reader), row);
}

}  // namespace dequant::format::gguf
