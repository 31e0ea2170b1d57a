// What the stored tensors of a checkpoint are for.
#include "format/checkpoint/groups.h"

#include <algorithm>
#include <array>

#include "format/io/errors.h"
#include "format/model/region_reader.h"

namespace dequant::format::checkpoint {
namespace {

/// Ends of the names of tensors that quantize activations or caches, never weights.
constexpr std::array<std::string_view, 11> kActivations{
    ".input_scale",       ".input_global_scale",
    ".input_zero_point",  ".output_scale",
    ".output_zero_point", ".activation_scale",
    ".qscale_act",        ".scale_input",
    ".k_scale",           ".v_scale",
    ".q_scale",
};

/// Types of tensors that hold codes, alone or packed.
constexpr std::array<std::string_view, 10> kCodes{
    "F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F8_E8M0",
    "F6_E2M3", "F6_E3M2", "F4",          "U8",          "I8",
};

template <class List>
bool ends_in(std::string_view name, const List& ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) {
    return name.ends_with(end) || name == end.substr(1);
  });
}

/// Demands that a stored tensor has the elements that the plan reads.
Status check(const Part& part, const char* what, int64_t needed) {
  if (!part && needed == 0) return {};
  if (part && part.count >= needed && needed > 0) return {};
  return failure(ErrorCode::malformed, "{} {}: {} elements of {}, where {} are needed", what,
                 part ? escaped(part.entry->name()) : "", part.count, name(part.element), needed);
}

}  // namespace

std::unique_ptr<StoredReader> open_part(const Shards& shards, const Part& part) {
  return std::make_unique<RegionReader>(shards.file_of(*part.entry).file,
                                        part.entry->tensor->offset, part.element, part.count,
                                        fmt::format("tensor {}", escaped(part.entry->name())));
}

Result<Part> Groups::part(const Entry& entry) {
  const auto element = entry.tensor->dtype->element;
  if (element) return part(entry, *element);
  return failure(ErrorCode::unsupported, "tensor {}: type {} is not one that dequant reads",
                 escaped(entry.name()), entry.dtype());
}

Part Groups::part(const Entry& entry, Element element) {
  // A file has so many bytes: 8 times these do not overflow.
  return {&entry, element, entry.tensor->bytes * 8 / bits(element)};
}

Element Groups::output_for(Element scale) {
  if (const auto type = config_.dtype()) return *type;
  for (const Element e : {Element::float32, Element::float16, Element::bfloat16}) {
    if (scale == e) return e;
  }
  asks_for_dtype_ = true;
  return Element::float32;
}

Status Groups::add(std::string name, std::string_view scheme, std::span<const Named> tensors,
                   std::span<const SchemeOption> options) {
  std::vector<SchemeTensor> types;
  std::vector<const Entry*> entries;
  Element of_scales = Element::float8e8m0;  // which says nothing of the output
  for (const Named& t : tensors) {
    if (t.entry == nullptr) continue;
    DEQUANT_TRY(const Part stored, part(*t.entry));
    if (t.name.find("scale") != t.name.npos && is_output(stored.element))
      of_scales = stored.element;
    types.push_back({t.name, {stored.element, t.entry->shape()}});
    entries.push_back(t.entry);
  }
  auto dense = plan_scheme({scheme, types, options, output_for(of_scales)});
  if (!dense) {
    Error error = std::move(dense).error();
    if (error.code == ErrorCode::invalid_argument) error.code = ErrorCode::malformed;
    return in(fmt::format("tensor {}", escaped(name)), std::move(error));
  }
  Group group{.name = std::move(name), .scheme = scheme, .shape = std::move(dense->shape)};
  const auto input = [&](std::optional<size_t> i, Element element) {
    return i ? part(*entries[*i], element) : Part{};
  };
  group.plan = std::move(dense->plan);
  group.codes = input(dense->x, group.plan.input);
  group.scale = input(dense->scale, group.plan.scale);
  group.zero_point = input(dense->zero_point, zero_point_element(group.plan));
  group.tensor_scale = input(dense->tensor_scale, Element::float32);
  group.group_index = input(dense->group_index, Element::int32);
  return add(std::move(group));
}

Status Groups::add(Group group) {
  const Extents needed = extents(group.plan);
  const auto checked = [&]() -> Status {
    DEQUANT_CHECK(check(group.codes, "codes", needed.x));
    DEQUANT_CHECK(check(group.scale, "scale", needed.scale));
    DEQUANT_CHECK(check(group.zero_point, "zero point", needed.zero_point));
    DEQUANT_CHECK(check(group.tensor_scale, "tensor scale", needed.tensor_scale));
    return check(group.group_index, "group index", needed.group_index);
  };
  if (auto status = checked(); !status)
    return in(fmt::format("tensor {}", escaped(group.name)), std::move(status).error());
  if (const Entry* same = find(group.name); same != nullptr && same != group.codes.entry) {
    return failure(ErrorCode::malformed, "tensor {} is stored, and {} would become it",
                   escaped(group.name), escaped(group.codes.entry->name()));
  }
  groups_.push_back(std::move(group));
  const Group& added = groups_.back();
  for (const Part* part :
       {&added.codes, &added.scale, &added.zero_point, &added.tensor_scale, &added.group_index}) {
    if (*part) DEQUANT_CHECK(use(*part->entry, &added));
  }
  return {};
}

Status Groups::use(const Entry& entry, const Group* group) {
  const auto [other, added] = uses_.emplace(&entry, group);
  if (added) return {};
  return failure(ErrorCode::malformed, "tensor {} is needed twice: by {} and by {}",
                 escaped(entry.name()), other->second ? escaped(other->second->name) : "nothing",
                 group ? escaped(group->name) : "nothing");
}

Status Groups::drop(const Entry& entry, std::string_view reason) {
  DEQUANT_CHECK(use(entry, nullptr));
  dropped_.push_back({&entry, reason});
  return {};
}

Status Groups::finish(bool keep_unknown) {
  for (const Entry& entry : shards_.entries()) {
    if (is_used(entry)) continue;
    if (ends_in(entry.name(), kActivations)) {
      DEQUANT_CHECK(drop(entry, "it quantizes activations or a cache"));
    } else if (std::find(kCodes.begin(), kCodes.end(), entry.dtype()) != kCodes.end()) {
      if (!keep_unknown) {
        return failure(ErrorCode::unsupported,
                       "tensor {} of type {}: nothing in the checkpoint says how it is quantized "
                       "(no scale belongs to it); keep-unknown copies such tensors as they are",
                       escaped(entry.name()), entry.dtype());
      }
      unknown_.push_back(&entry);
    }
  }
  return {};
}

const Group* Groups::group_of_codes(const Entry& entry) const {
  const auto found = uses_.find(&entry);
  if (found == uses_.end() || found->second == nullptr) return nullptr;
  return found->second->codes.entry == &entry ? found->second : nullptr;
}

}  // namespace dequant::format::checkpoint
