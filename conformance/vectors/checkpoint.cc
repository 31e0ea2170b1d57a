// Filling and breaking the nodes of all schemes of checkpoints.
#include "conformance/vectors/checkpoint.h"

#include <algorithm>

#include "dequant/scheme.h"
#include "format/io/errors.h"

namespace dequant::conformance::vectors {
namespace {

using enum Element;

MakeNode maker_of(std::string_view scheme) {
  for (const auto make_of : {integers_of, floats_of}) {
    if (const MakeNode make = make_of(scheme); make != nullptr) return make;
  }
  return block_types_of(scheme);
}

/// Codes whose bytes step through all values, with another distance in each tensor.
CaseTensor stepping(Random& random, Element element, const Sizes& shape) {
  auto byte = static_cast<uint64_t>(random.in(0, 255));
  const auto step = static_cast<uint64_t>(random.in(0, 127) * 2 + 1);
  const uint64_t mask = (uint64_t{1} << bits(element)) - 1;
  return tensor_of(element, shape, [&] {
    uint64_t code = 0;
    for (int i = 0; i < (bits(element) + 7) / 8; ++i, byte = (byte + step) & 255)
      code |= byte << (8 * i);
    return code & mask;
  });
}

/// A scale of float8e8m0: often 2^-127 or NaN, which readers get wrong.
uint64_t exponent(Random& random) {
  switch (random.in(0, 3)) {
    case 0: return 0;
    case 1: return 255;
    case 2: return random.of(edge_scales(float8e8m0));
    default: return plain_scale(random, float8e8m0);
  }
}

CaseTensor filled(Random& random, const Stored& tensor, bool codes) {
  if (tensor.below > 0) {
    return tensor_of(tensor.element, tensor.shape,
                     [&] { return static_cast<uint64_t>(random.in(0, tensor.below - 1)); });
  }
  const Element element = tensor.as.value_or(tensor.element);
  const bool scales = !codes && (is_output(element) || element == float8e8m0);
  if (!scales) {
    CaseTensor out = stepping(random, tensor.element, tensor.shape);
    for (const auto& [i, code] : tensor.set) out.bits[i] = code;
    return out;
  }
  CaseTensor out = tensor_of(element, tensor.shape, [&] {
    return element == float8e8m0 ? exponent(random) : random_scale(random, element);
  });
  out.type = name(tensor.element);
  return out;
}

Case case_of(const Collector& out, std::string name, const CheckpointNode& node) {
  Case c = out.begin(std::move(name));
  Random random = out.random(c.name);
  c.attributes = node.attributes;
  for (const Stored& tensor : node.tensors) {
    c.inputs[std::string(tensor.name)] = filled(random, tensor, &tensor == &node.tensors.front());
  }
  return c;
}

/// A node with its type of results.
CheckpointNode made(MakeNode make, Choices& choices) {
  CheckpointNode node = make(choices);
  if (!node.attributes.contains("dtype"))
    node.attributes["dtype"] = std::string(name(choices.each({float32, float16, bfloat16})));
  return node;
}

/// Breaks a node in one place each: its tensors' types and shapes, its settings, its indices.
class CheckpointRefusals {
 public:
  CheckpointRefusals(Collector& out, const CheckpointNode& node) : out_(out), node_(node) {}

  void tensors() {
    for (size_t i = 0; i < node_.tensors.size(); ++i) {
      CheckpointNode broken = node_;
      Stored& tensor = broken.tensors[i];
      for (const Element element : {int16, uint4, uint2}) {
        tensor.element = element;  // of no tensor of any scheme
        refuse(broken, "tensor_type", fmt::format("{}/{}", tensor.name, name(element)));
      }
      tensor = node_.tensors[i];
      if (tensor.any_rows) {
        tensor.shape = {};
      } else {
        if (tensor.shape.empty()) tensor.shape = {1};
        ++(i == 0 ? tensor.shape.front() : tensor.shape.back());
      }
      refuse(broken, "tensor_shape", tensor.name);
    }
  }

  void settings(const Scheme& scheme) {
    const auto with = [&](std::string_view name, const std::string& value,
                          const std::string& rule) {
      CheckpointNode broken = node_;
      broken.attributes[std::string(name)] = value;
      refuse(broken, rule, rule == "output_type" ? value : name);
    };
    for (const SchemeSetting& setting : scheme.settings) with(setting.name, "no", "setting_value");
    with("no_such_setting", "1", "unknown_attribute");
    for (const Element element : {int8, float8e5m2, float8e8m0})
      with("dtype", std::string(name(element)), "output_type");
  }

  /// A group that the scales do not have.
  void indices() {
    for (const Stored& tensor : node_.tensors) {
      if (tensor.below == 0) continue;
      const std::pair<const char*, uint64_t> wrong[]{{"next", static_cast<uint64_t>(tensor.below)},
                                                     {"largest", 0x7FFFFFFF},
                                                     {"negative", 0xFFFFFFFE}};
      for (const auto& [variant, group] : wrong) {
        Case c = case_of(out_, "reject", node_);
        c.inputs.at(std::string(tensor.name)).bits.back() = group;
        out_.refuse(c, "group_index", variant);
      }
    }
  }

 private:
  void refuse(const CheckpointNode& node, const std::string& rule, std::string_view variant) {
    out_.refuse(case_of(out_, "reject", node), rule, variant);
  }

  Collector& out_;
  const CheckpointNode& node_;
};

}  // namespace

Groups groups_of(Choices& choices, std::string_view form) {
  const int64_t size = choices.in(2, 8);
  const int64_t whole = choices.in(1, 2) * size;
  if (form == "groups" || form == "act_order") return {2 * whole, size, 2 * whole / size};
  if (form == "short_group") {
    const int64_t columns = whole + choices.in(1, size - 1);
    return {columns, size, blocks_of(columns, size)};
  }
  return {whole, whole, 1};
}

void add_checkpoint(Collector& out, std::string_view scheme) {
  const MakeNode make = maker_of(scheme);
  int64_t number = 0;
  const auto random = [&] { return out.random(fmt::format("combination {}", number++)); };
  Choices choices(Choices::Order::systematic, random());
  std::optional<CheckpointNode> first;
  std::optional<CheckpointNode> indexed;
  do {
    const CheckpointNode node = made(make, choices);
    out.accept(case_of(out, choices.name(), node), node.granularity);
    if (!first) first = node;
    const bool index = std::ranges::any_of(node.tensors, [](auto& t) { return t.below > 0; });
    if (index && !indexed) indexed = node;
  } while (choices.next(random()));
  CheckpointRefusals refusals(out, *first);
  refusals.tensors();
  refusals.settings(*std::ranges::find(schemes(), scheme, &Scheme::name));
  if (indexed) CheckpointRefusals(out, *indexed).indices();
}

void add_checkpoint_random(Collector& out, std::string_view scheme, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("random/{:05}", i);
    Choices choices(Choices::Order::random, out.random(name + " node"));
    const CheckpointNode node = made(maker_of(scheme), choices);
    out.accept(case_of(out, name, node), node.granularity);
  }
}

}  // namespace dequant::conformance::vectors
