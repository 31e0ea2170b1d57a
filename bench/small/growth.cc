// Both reports run plans on one thread, on memory that was written before.
#include "growth.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "dequant/dequant.hpp"
#include "timing.h"

namespace small_bench {
namespace {

using dequant::Element;
using dequant::Granularity;
using dequant::Plan;

/// Memory for the largest of the plans: varying codes, scales near one, and constant zero points.
class Memory {
 public:
  explicit Memory(const std::vector<Plan>& plans) {
    size_t x = 0;
    size_t scale = 0;
    size_t zero = 0;
    for (const Plan& plan : plans) {
      const dequant::Extents e = extents(plan);
      const auto grow = [](size_t& size, Element element, int64_t count) {
        size = std::max(size, static_cast<size_t>(dequant::packed_bytes(element, count).value()));
      };
      grow(x, plan.input, e.x);
      grow(scale, plan.scale, e.scale);
      grow(zero, plan.input, e.zero_point);
      grow(y_size_, plan.output, e.y);
    }
    x_.resize(x);
    for (size_t i = 0; i < x; ++i) x_[i] = static_cast<std::byte>(i * 2654435761U >> 8);
    scale_.resize(scale, std::byte{0x3F});
    zero_.resize(zero, std::byte{0x88});
    y_ = std::make_unique<std::byte[]>(y_size_);
  }

  void run(const Plan& plan) {
    const bool zeros = plan.has_zero_point;
    const auto status = dequant::run(
        plan,
        {.x = x_,
         .scale = scale_,
         .zero_point = zeros ? std::span<const std::byte>(zero_) : std::span<const std::byte>(),
         .y = {y_.get(), y_size_}},
        {.executor = dequant::sequential_executor()});
    if (status) return;
    std::fprintf(stderr, "small_bench: %s\n", status.error().message.c_str());
    std::exit(1);
  }

 private:
  std::vector<std::byte> x_;
  std::vector<std::byte> scale_;
  std::vector<std::byte> zero_;
  std::unique_ptr<std::byte[]> y_;
  size_t y_size_ = 0;
};

struct Cell {
  std::string name;
  Plan plan;
  int neighbour = -1;  ///< index of the cell to compare with; -1: none
};

/// Times all cells alternately.
std::vector<Cost> time_cells(const std::vector<Cell>& cells, int rounds, double sample) {
  std::vector<Plan> plans;
  for (const Cell& cell : cells) plans.push_back(cell.plan);
  Memory memory(plans);
  std::vector<Contestant> contestants;
  for (const Cell& cell : cells) {
    contestants.push_back({.name = cell.name, .calls = [&memory, &cell](int64_t times) {
                             for (; times > 0; --times) memory.run(cell.plan);
                           }});
  }
  time_all(contestants, rounds, sample);
  std::vector<Cost> costs;
  for (size_t i = 0; i < cells.size(); ++i) {
    const int64_t count = element_count(cells[i].plan);
    costs.push_back({.cell = cells[i].name,
                     .neighbour = {},
                     .elements = count,
                     .nanoseconds = contestants[i].nanoseconds / static_cast<double>(count),
                     .ratio = 0});
  }
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].neighbour < 0) continue;
    const auto n = static_cast<size_t>(cells[i].neighbour);
    costs[i].neighbour = cells[n].name;
    costs[i].ratio = costs[i].nanoseconds / costs[n].nanoseconds;
  }
  return costs;
}

constexpr int64_t kElements = int64_t{3} << 20;

struct Types {
  const char* name;
  Element x;
  Element y;
};

Plan packed(const Types& t, Granularity granularity, int64_t outer, int64_t axis, int64_t inner,
            int64_t block = 1) {
  return {.input = t.x,
          .scale = t.y,
          .output = t.y,
          .has_zero_point = true,
          .granularity = granularity,
          .outer = outer,
          .axis = axis,
          .inner = inner,
          .block = block};
}

/// Adds cells of increasing sizes. Each is compared with the next larger one.
template <class Make>
void add_ladder(std::vector<Cell>& cells, const std::string& name, std::vector<int64_t> sizes,
                Make make) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool top = i + 1 == sizes.size();
    cells.push_back({name + std::to_string(sizes[i]), make(sizes[i]),
                     top ? -1 : static_cast<int>(cells.size()) + 1});
  }
}

/// Adds axes of length 1, which have one scale, to compare with the per-tensor cell.
void add_ones(std::vector<Cell>& cells, const Types& t) {
  const std::string prefix = std::string(t.name) + " ";
  const int plain = static_cast<int>(cells.size());
  cells.push_back({prefix + "per tensor", packed(t, Granularity::per_tensor, 1, 1, kElements)});
  const auto add = [&](const char* name, const Plan& plan) {
    cells.push_back({prefix + name, plan, plain});
  };
  add("axis of 1, inner of 1", packed(t, Granularity::per_axis, kElements, 1, 1));
  add("axis of 1, outer of 1", packed(t, Granularity::per_axis, 1, 1, kElements));
  add("axis of 1, inner of 3", packed(t, Granularity::per_axis, kElements / 3, 1, 3));
  add("block on axis of 1, outer of 1", packed(t, Granularity::blocked, 1, 1, kElements, 1));
  add("block on axis of 1, inner of 1", packed(t, Granularity::blocked, kElements, 1, 1, 1));
}

/// Adds a tensor of eight dimensions that cannot be merged, to compare with one of two dimensions.
void add_ranks(std::vector<Cell>& cells, const Types& t) {
  Plan plan = packed(t, Granularity::strided, 1, 1, 1);
  plan.dimensions = {{kElements / 16, 17, 0, 0, 16}, {16, 1, 1, 1, 1}};
  const int plain = static_cast<int>(cells.size());
  cells.push_back({std::string(t.name) + " rank 2, strided", plan});
  std::vector<dequant::Dimension> eight;
  int64_t x = 1;
  int64_t y = 1;
  // x has a gap after every second dimension, so no two dimensions can be merged.
  for (const int64_t size : {16, 4, 4, 4, 4, 4, 3, 64}) {
    eight.insert(eight.begin(), {size, x, eight.empty() ? 1 : 0, eight.empty() ? 1 : 0, y});
    x *= size + (eight.size() % 2 == 0 ? 1 : 0);
    y *= size;
  }
  plan.dimensions = eight;
  cells.push_back({std::string(t.name) + " rank 8, strided", plan, plain});
}

}  // namespace

std::vector<Cost> straight_line(int last) {
  std::vector<Cell> cells;
  for (int log = 10; log <= last; ++log) {
    const Plan plan{.input = Element::uint8, .has_zero_point = true, .inner = int64_t{1} << log};
    cells.push_back({"2^" + std::to_string(log), plan, static_cast<int>(cells.size()) - 1});
  }
  return time_cells(cells, 11, 2e6);
}

std::vector<Cost> cliffs() {
  std::vector<Cell> cells;
  constexpr Types kTypes[] = {{"u8->f32", Element::uint8, Element::float32},
                              {"i4->bf16", Element::int4, Element::bfloat16}};
  for (const Types& t : kTypes) {
    const std::string prefix = std::string(t.name) + " ";
    add_ladder(cells, prefix + "channels of ", {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 64, 128},
               [&](int64_t inner) {
                 return packed(t, Granularity::per_axis, 1, kElements / inner, inner);
               });
    add_ladder(
        cells, prefix + "rows of ", {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 64, 128},
        [&](int64_t axis) { return packed(t, Granularity::per_axis, kElements / axis, axis, 1); });
    add_ladder(cells, prefix + "blocks of ", {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 64, 128},
               [&](int64_t block) {
                 return packed(t, Granularity::blocked, kElements / 4096, 4096, 1, block);
               });
    add_ladder(cells, prefix + "middle blocks, inner of ", {2, 3, 4, 8, 15, 16, 17, 32, 64, 128},
               [&](int64_t inner) {
                 return packed(t, Granularity::blocked, 1, kElements / inner, inner, 32);
               });
    add_ones(cells, t);
    add_ranks(cells, t);
  }
  return time_cells(cells, 9, 4e6);
}

}  // namespace small_bench
