// Random nodes of DirectML, with any sizes and strides.
#include <algorithm>
#include <utility>

#include "conformance/vectors/directml.h"
#include "conformance/vectors/directml_node.h"
#include "format/io/errors.h"

namespace dequant::conformance::vectors {
namespace {

/// Strides of a permuted tensor, sometimes with padding, and with dimensions that repeat.
Sizes random_strides(Random& random, const Sizes& sizes) {
  Sizes order(sizes.size());
  for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int64_t>(d);
  for (size_t d = order.size(); d-- > 1;) {
    std::swap(order[d], order[static_cast<size_t>(random.in(0, static_cast<int64_t>(d)))]);
  }
  Sizes strides(sizes.size());
  int64_t step = 1;
  for (const int64_t at : order) {
    const auto d = static_cast<size_t>(at);
    strides[d] = random.in(0, 4) == 0 ? 0 : step;
    step = step * sizes[d] + (random.in(0, 5) == 0 ? 1 : 0);
  }
  return strides;
}

Layout random_layout(Random& random, Sizes sizes) {
  Layout layout{std::move(sizes)};
  if (random.coin()) layout.strides = random_strides(random, layout.sizes);
  return layout;
}

/// Sizes of blocks, each a divisor of the size of x; the sizes of x where the rules have no blocks.
Sizes random_blocks(Random& random, const DirectmlRules& rules, const Sizes& x) {
  if (!rules.blocks) return x;
  Sizes blocks;
  for (const int64_t size : x) {
    const int64_t choice = random.in(0, 2);
    blocks.push_back(choice == 0 ? 1 : choice == 1 && size % 2 == 0 ? size / 2 : size);
  }
  return blocks;
}

}  // namespace

DirectmlShapes random_shapes(Random& random, const DirectmlRules& rules, int64_t rank) {
  constexpr int64_t kMostElements = 120;
  Sizes x;
  int64_t count = 1;
  for (int64_t d = 0; d < rank; ++d) {
    x.push_back(random.in(1, std::min<int64_t>(6, kMostElements / count)));
    count *= x.back();
  }
  // Scale and zero point have the same blocks: whether different blocks must nest is not
  // documented.
  const Sizes blocks = random_blocks(random, rules, x);
  const Layout of_x = random_layout(random, x);
  const Layout of_scale = random_layout(random, blocks);
  return {of_x, of_scale, random_layout(random, blocks)};
}

void add_directml_random(Collector& out, const std::string& level, int64_t count) {
  const auto operators = directml_rules(level);
  for (int64_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("random/{:05}", i);
    Random random = out.random(name + " shape");
    const DirectmlRules rules = random.of(operators);
    const DirectmlShapes shapes =
        random_shapes(random, rules, rules.any_rank ? random.in(1, 8) : 4);
    const Element x = random.of(rules.x);
    const Element scale = random.of(rules.scale);
    const bool zero_point = random.coin() || rules.needs_zero_point;
    out.accept(directml_case(out, name, rules, x, scale, shapes, zero_point), "any_layout");
  }
}

}  // namespace dequant::conformance::vectors
