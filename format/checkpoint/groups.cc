// What the stored tensors of a checkpoint are for.
#include "format/checkpoint/groups.h"

#include <algorithm>

#include "format/checkpoint/codes.h"
#include "format/checkpoint/model_classes.h"
#include "format/checkpoint/unclaimed.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {

constexpr size_t kLongestSentence = 1000;

/// The plans of all output types, where these differ in more than the output from `plan`.
Result<std::vector<Plan>> variants_of(SchemeNode node, const Plan& plan) {
  std::vector<Plan> plans;
  for (const Element output : {Element::float32, Element::float16, Element::bfloat16}) {
    node.output = output;
    DEQUANT_TRY(auto other, plan_scheme(node));
    plans.push_back(std::move(other.plan));
  }
  const bool same = std::all_of(plans.begin(), plans.end(), [&](Plan other) {
    other.output = plan.output;
    return other == plan;
  });
  if (same) plans.clear();
  return plans;
}

}  // namespace

Element Groups::output_for(Element scale) {
  if (const auto type = config_.dtype()) return *type;
  if (is_output(scale)) return scale;
  asks_for_dtype_ = true;
  return Element::float32;
}

Status Groups::add(std::string name, std::string_view scheme, std::span<const Named> tensors,
                   std::span<const SchemeOption> options, std::optional<Element> output) {
  DEQUANT_TRY(Group group, group_of(std::move(name), scheme, tensors, options, output));
  return add(std::move(group));
}

Result<Group> Groups::group_of(std::string name, std::string_view scheme,
                               std::span<const Named> tensors,
                               std::span<const SchemeOption> options,
                               std::optional<Element> output) {
  std::vector<SchemeTensor> types;
  std::vector<Part> parts;
  parts.reserve(tensors.size());            // types refer to shapes of parts
  Element of_scales = Element::float8e8m0;  // which says nothing of the output
  for (const Named& t : tensors) {
    if (t.entry == nullptr && !t.part) continue;
    if (t.part) {
      parts.push_back(*t.part);
    } else {
      DEQUANT_TRY(parts.emplace_back(), part_of(*t.entry));
    }
    const Part& part = parts.back();
    const bool is_scale = t.name.find("scale") != t.name.npos || t.name == "SCB";
    if (is_scale && is_output(part.element)) of_scales = part.element;
    types.push_back({t.name, {part.element, part.shape()}});
  }
  const SchemeNode node{scheme, types, options, output ? *output : output_for(of_scales),
                        is_transposed(config_, scheme, name)};
  auto dense = plan_scheme(node);
  auto variants = dense ? variants_of(node, dense->plan) : std::vector<Plan>();
  if (!dense || !variants) {
    Error error = dense ? std::move(variants).error() : std::move(dense).error();
    if (error.code == ErrorCode::invalid_argument) error.code = ErrorCode::malformed;
    // The core quotes options as they are, and these are texts of config.json.
    error.message = escaped(error.message, kLongestSentence);
    return in(fmt::format("tensor {}", escaped(name)), std::move(error));
  }
  Group group;
  group.name = std::move(name);
  group.scheme = scheme;
  group.shape = std::move(dense->shape);
  group.plan = std::move(dense->plan);
  group.variants = *std::move(variants);
  const auto input = [&](std::optional<size_t> i, Element element) {
    if (!i) return Part{};
    const Part& part = parts[*i];
    return part.is_stored() ? part_of(*part.entry, element) : part;
  };
  group.codes = input(dense->x, group.plan.input);
  group.scale = input(dense->scale, group.plan.scale);
  group.zero_point = input(dense->zero_point, zero_point_element(group.plan));
  group.tensor_scale = input(dense->tensor_scale, Element::float32);
  group.group_index = input(dense->group_index, Element::int32);
  group.codebook = input(dense->codebook, Element::float32);
  if (!dense->values.empty()) group.codebook = part_of(dense->values);
  return group;
}

Status Groups::add(Group group) {
  if (auto status = check_inputs(group.plan, group); !status)
    return in(fmt::format("tensor {}", escaped(group.name)), std::move(status).error());
  if (const Entry* same = find(group.name); same != nullptr && same != group.codes.entry) {
    return failure(ErrorCode::malformed, "tensor {} is stored, and {} would become it",
                   escaped(group.name), escaped(group.codes.name()));
  }
  groups_.push_back(std::move(group));
  const Group& added = groups_.back();
  Status status;
  for_each_entry(added, [&](const Entry& entry) {
    if (status) status = use(entry, &added);
  });
  DEQUANT_CHECK(std::move(status));
  const auto [same, is_first] = by_name_.emplace(added.name, &added);
  if (is_first) return {};
  return failure(ErrorCode::malformed, "tensors {} and {} would both become {}",
                 escaped(same->second->codes.name()), escaped(added.codes.name()),
                 escaped(added.name));
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

Status Groups::leave(Unread tensor) {
  DEQUANT_CHECK(use(*tensor.codes, nullptr));
  for (const Entry* part : tensor.parts) DEQUANT_CHECK(use(*part, nullptr));
  unread_by_codes_.emplace(tensor.codes, unread_.size());
  unread_.push_back(std::move(tensor));
  return {};
}

const Unread* Groups::unread_of(const Entry& codes) const {
  const auto found = unread_by_codes_.find(&codes);
  return found == unread_by_codes_.end() ? nullptr : &unread_[found->second];
}

Result<Warnings> Groups::warnings() const {
  Warnings all = warnings_;
  for (const auto& sentence : later_) {
    DEQUANT_TRY(std::string text, sentence());
    if (!text.empty()) all.add(std::move(text));
  }
  return all;
}

Status Groups::finish(bool keep_unknown) {
  for (const Entry& entry : shards_.entries()) {
    if (is_used(entry)) continue;
    const Unclaimed use = decide_on(*this, entry);
    if (use.refused && !keep_unknown) return *use.refused;
    if (use.refused) unknown_.push_back({&entry, "nothing says how it is quantized"});
    if (!use.dropped.empty()) DEQUANT_CHECK(drop(entry, use.dropped));
  }
  if (keep_unknown) keep_unread();
  if (std::string warning = warning_of_integers(*this); !warning.empty()) warn(std::move(warning));
  return {};
}

void Groups::keep_unread() {
  for (Unread& tensor : unread_) {
    uses_.erase(tensor.codes);
    for (const Entry* part : tensor.parts) uses_.erase(part);
    unknown_.push_back({tensor.codes, std::move(tensor.reason)});
  }
  unread_.clear();
  unread_by_codes_.clear();
}

const Group* Groups::find_group(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const Group* Groups::group_of_codes(const Entry& entry) const {
  const auto found = uses_.find(&entry);
  if (found == uses_.end() || found->second == nullptr) return nullptr;
  return found->second->codes.entry == &entry ? found->second : nullptr;
}

}  // namespace dequant::format::checkpoint
