// The list of schemes.
#include "dialect/scheme.h"

#include <algorithm>
#include <utility>

#include "dialect/transposed.h"

namespace dequant {
namespace {

/// In the order of their names.
constexpr std::array kEntries{
    &kAwqScheme,
    &kBitnetScheme,
    &kBitsandbytesScheme,
    &kBitsandbytesAbsmaxScheme,
    &kBitsandbytesInt8Scheme,
    &kCompressedTensorsScheme,
    &kFp8Scheme,
    &kGgufScheme,
    &kGptOssScheme,
    &kGptqScheme,
    &kHqqScheme,
    &kMlxScheme,
    &kModelOptScheme,
    &kMxScheme,
    &kQuantoScheme,
    &kQuarkScheme,
    &kTorchaoScheme,
};

template <class List>
bool has(const List& list, std::string_view name) {
  return std::any_of(list.begin(), list.end(), [&](const auto& e) { return e.name == name; });
}

Error wrong(std::string_view option, std::string_view value, std::string_view what) {
  return invalid(option, ": \"", value, "\" is not ", what);
}

/// Demands that every name is known, that none comes twice, and that nothing required is missing.
Status check_names(const Scheme& scheme, const SchemeNode& node) {
  for (size_t i = 0; i < node.tensors.size(); ++i) {
    const std::string_view name = node.tensors[i].name;
    if (!has(scheme.inputs, name)) return invalid(scheme.name, " has no tensor \"", name, "\"");
    if (has(node.tensors.first(i), name)) return invalid(name, " is given twice");
  }
  for (size_t i = 0; i < node.options.size(); ++i) {
    const std::string_view name = node.options[i].name;
    if (!has(scheme.settings, name)) return invalid(scheme.name, " has no option \"", name, "\"");
    if (has(node.options.first(i), name)) return invalid(name, " is given twice");
  }
  for (const SchemeInput& input : scheme.inputs) {
    if (input.required && !has(node.tensors, input.name))
      return invalid(scheme.name, " needs a tensor ", input.name);
  }
  return {};
}

/// The names of the plan's inputs. They are those of the list, as texts of the node may end.
BufferNames names_of(const Scheme& scheme, const SchemeNode& node, const SchemePlan& plan) {
  BufferNames out;
  const auto name = [&](std::optional<size_t> i, std::string_view& of) {
    if (i) of = std::ranges::find(scheme.inputs, node.tensors[*i].name, &SchemeInput::name)->name;
  };
  name(plan.x, out.x);
  name(plan.scale, out.scale);
  name(plan.zero_point, out.zero_point);
  name(plan.tensor_scale, out.tensor_scale);
  name(plan.group_index, out.group_index);
  name(plan.codebook, out.codebook);
  return out;
}

Status transpose(SchemePlan& plan) {
  if (plan.shape.size() != 2) {
    return invalid("transposed: the dense tensor ", to_string(Shape(plan.shape)), " is no matrix");
  }
  DEQUANT_TRY(plan.plan, transposed_plan(std::move(plan.plan), plan.shape[0], plan.shape[1]));
  std::swap(plan.shape[0], plan.shape[1]);
  return {};
}

}  // namespace

std::optional<size_t> SchemeArguments::index(std::string_view name) const {
  for (size_t i = 0; i < node_.tensors.size(); ++i) {
    if (node_.tensors[i].name == name) return i;
  }
  return {};
}

std::optional<TensorType> SchemeArguments::optional_type(std::string_view name) const {
  const auto i = index(name);
  return i ? std::optional(node_.tensors[*i].type) : std::nullopt;
}

std::optional<std::string_view> SchemeArguments::text(std::string_view option) const {
  for (const SchemeOption& o : node_.options) {
    if (o.name == option) return o.value;
  }
  return {};
}

Result<std::vector<int64_t>> SchemeArguments::integers(std::string_view option) const {
  std::vector<int64_t> out;
  const auto whole = text(option);
  if (!whole) return out;
  const char* at = whole->data();
  const char* const end = at + whole->size();
  for (;;) {
    int64_t number = 0;
    const auto [rest, error] = std::from_chars(at, end, number);
    if (error != std::errc() || (rest != end && *rest != ','))
      return wrong(option, *whole, "a list of integers");
    out.push_back(number);
    if (rest == end) return out;
    at = rest + 1;
  }
}

Result<int64_t> SchemeArguments::integer(std::string_view option, int64_t otherwise) const {
  DEQUANT_TRY(const auto list, integers(option));
  if (list.empty()) return otherwise;
  if (list.size() > 1) return wrong(option, *text(option), "one integer");
  return list[0];
}

Result<size_t> SchemeArguments::one_of(std::string_view option,
                                       std::span<const std::string_view> names,
                                       size_t otherwise) const {
  const auto value = text(option);
  if (!value) return otherwise;
  const auto found = std::find(names.begin(), names.end(), *value);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  std::string all;
  for (const std::string_view n : names) all += concat(all.empty() ? "" : ", ", n);
  return wrong(option, *value, concat("one of ", all));
}

Result<bool> SchemeArguments::flag(std::string_view option, bool otherwise) const {
  constexpr std::array<std::string_view, 2> kNames{"false", "true"};
  DEQUANT_TRY(const size_t i, one_of(option, kNames, otherwise ? 1 : 0));
  return i == 1;
}

std::span<const Scheme> schemes() noexcept {
  static const auto all = [] {
    std::array<Scheme, kEntries.size()> out;
    std::transform(kEntries.begin(), kEntries.end(), out.begin(),
                   [](const SchemeEntry* e) { return e->scheme; });
    return out;
  }();
  return all;
}

Result<SchemePlan> plan_scheme(const SchemeNode& node) {
  for (const SchemeEntry* entry : kEntries) {
    if (entry->scheme.name != node.scheme) continue;
    DEQUANT_CHECK(check_names(entry->scheme, node));
    DEQUANT_CHECK(check_output(node.output));
    DEQUANT_TRY(SchemePlan plan, entry->plan(SchemeArguments(node)));
    if (node.transposed) DEQUANT_CHECK(transpose(plan));
    plan.names = names_of(entry->scheme, node, plan);
    return plan;
  }
  return invalid("\"", node.scheme, "\" is no scheme");
}

}  // namespace dequant
