// Vectors of WebNN: the shape of the scale decides which elements share a scale.
#include "conformance/vectors/webnn.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "conformance/vectors/values.h"
#include "format/io/errors.h"

namespace dequant::conformance::vectors {
namespace {

using enum Element;

// The specification does not list the last two, which browsers and the web platform tests have.
constexpr Element kInputs[]{uint8, int8, uint32, int32, uint4, int4};
constexpr Element kScales[]{float32, float16};

struct WebnnShapes {
  std::string_view name;
  Sizes x;
  Sizes scale;
};

std::string granularity_of(const WebnnShapes& s) {
  size_t shared = 0;
  size_t whole = 0;
  for (size_t d = 0; d < s.x.size(); ++d) {
    if (s.scale[d] != 1 && s.scale[d] != s.x[d]) return "blocked";
    if (s.scale[d] == 1) ++shared;
    if (s.scale[d] == s.x[d]) ++whole;
  }
  if (shared == s.x.size()) return "per_tensor";
  if (whole == s.x.size()) return "per_element";
  const size_t own = s.x.size() - shared;
  return own == 1 ? "per_axis" : "blocked";
}

Case random_case(const Collector& out, std::string name, Element x, Element scale,
                 const WebnnShapes& s) {
  Case c = out.begin(std::move(name));
  Random random = out.random(c.name);
  c.inputs["x"] = random_codes(random, x, s.x);
  c.inputs["scale"] = random_scales(random, scale, s.scale);
  c.inputs["zero_point"] = random_zero_points(random, x, s.scale);
  return narrowed(std::move(c));
}

/// Each of edge_scales() and of edge_codes() as zero point, for a row of x or for a block of a row.
Case edge_case(const Collector& out, std::string name, Element x, Element scale, int64_t blocks) {
  Case c = out.begin(std::move(name));
  const Codes scales = edge_scales(scale);
  Codes codes = edge_codes(x);
  if (codes.size() % 2 != 0) codes.push_back(codes.front());
  const Sizes param_sizes{static_cast<int64_t>(scales.size()), blocks};
  c.inputs["x"] = repeated(x, scales.size(), codes);
  c.inputs["scale"] = one_per_row(scale, param_sizes, scales);
  c.inputs["zero_point"] = one_per_row(x, param_sizes, codes);
  return narrowed(std::move(c));
}

void add_types(Collector& out, Element x, Element scale) {
  const std::string types = fmt::format("{}/{}", name(x), name(scale));
  const Codes codes = all_codes(x);
  Case all = random_case(out, types + "/per_tensor", x, scale,
                         {"", {static_cast<int64_t>(codes.size())}, {1}});
  all.inputs["x"].bits = codes;
  Random random = out.random(all.name);
  all.inputs["scale"].bits = {plain_scale(random, scale)};
  out.accept(narrowed(std::move(all)), "per_tensor");
  out.accept(edge_case(out, types + "/per_axis", x, scale, 1), "per_axis");
  out.accept(edge_case(out, types + "/blocked", x, scale, 2), "blocked");
  const WebnnShapes each{"", {3, 5}, {3, 5}};
  out.accept(random_case(out, types + "/per_element", x, scale, each), "per_element");
}

/// The specification casts before it subtracts, and so rounds more than once. This library computes
/// the difference exactly and rounds it once to float32.
void add_wide_differences(Collector& out, Element x, Element scale) {
  if (bits(x) != 32) return;
  const Codes codes = edge_codes(x);
  const auto rows = static_cast<int64_t>(codes.size());
  Case c = out.begin(fmt::format("{}/wide_differences/{}", name(x), name(scale)));
  Random random = out.random(c.name);
  c.inputs["x"] = repeated(x, codes.size(), codes);
  c.inputs["scale"] = tensor_of(scale, {rows, 1}, [&] { return plain_scale(random, scale); });
  c.inputs["zero_point"] = one_per_row(x, {rows, 1}, codes);
  out.accept(std::move(c), "per_axis");
}

const std::vector<WebnnShapes>& webnn_shapes() {
  static const std::vector<WebnnShapes> list{
      {"scalar", {}, {}},
      {"one", {1}, {1}},
      {"rank_1_whole", {5}, {1}},
      {"rank_1_each", {5}, {5}},
      {"rank_1_blocks", {6}, {2}},
      {"first_axis", {3, 5}, {3, 1}},
      {"last_axis", {3, 5}, {1, 5}},
      {"first_of_two", {4, 3}, {2, 1}},
      {"blocks_on_both", {4, 6}, {2, 3}},
      {"blocks_and_slices", {4, 3, 5}, {2, 3, 1}},
      {"blocks_around_one", {4, 3, 6}, {2, 1, 2}},
      {"blocks_on_all_of_rank_3", {4, 6, 10}, {2, 2, 5}},
      {"middle_axis", {2, 3, 2, 3}, {1, 3, 1, 1}},
      {"two_axes_of_rank_4", {2, 3, 2, 3}, {2, 1, 1, 3}},
      {"rank_5_each_axis_in_two", {2, 4, 2, 4, 2}, {1, 2, 1, 2, 1}},
      {"rank_5_outer_and_inner", {3, 1, 2, 1, 4}, {3, 1, 1, 1, 2}},
  };
  return list;
}

class WebnnRefusals {
 public:
  explicit WebnnRefusals(Collector& out) : out_(out) {}

  void types() {
    for (const Element e : elements()) {
      if (std::find(std::begin(kInputs), std::end(kInputs), e) == std::end(kInputs)) {
        out_.refuse(random_case(out_, "reject", e, float32, plain_), "input_type", name(e));
      }
      if (std::find(std::begin(kScales), std::end(kScales), e) == std::end(kScales)) {
        out_.refuse(random_case(out_, "reject", uint8, e, plain_), "scale_type", name(e));
      }
    }
    for (const Element e : {int8, int32, float32}) {
      Case c = random_case(out_, "reject", uint8, float32, plain_);
      c.inputs["zero_point"] = {std::string(name(e)), plain_.scale, Codes(2), {}};
      out_.refuse(c, "zero_point_type", name(e));
    }
  }

  void shapes() {
    const auto scale = [&](const WebnnShapes& s, const std::string& rule) {
      out_.refuse(random_case(out_, "reject", uint8, float32, s), rule, s.name);
    };
    scale({"lower", {2, 3}, {3}}, "scale_rank");
    scale({"scalar", {2, 3}, {}}, "scale_rank");
    scale({"higher", {3}, {1, 3}}, "scale_rank");
    scale({"of_a_scalar", {}, {1}}, "scale_rank");
    scale({"not_a_divisor", {2, 5}, {2, 2}}, "scale_shape");
    scale({"not_a_divisor_outside", {5, 2}, {3, 1}}, "scale_shape");
    scale({"larger", {2, 3}, {2, 6}}, "scale_shape");
    scale({"empty", {2, 3}, {2, 0}}, "scale_shape");
    scale({"empty_input", {2, 0}, {1, 1}}, "input_shape");
    scale({"empty_input_and_scale", {2, 0}, {2, 0}}, "input_shape");
    zero_point("whole", {1, 1});
    zero_point("of_elements", {2, 3});
    zero_point("scalar", {});
    zero_point("lower_rank", {2});
  }

  void attributes() {
    Case c = random_case(out_, "reject", uint8, float32, plain_);
    c.attributes["axis"] = int64_t{0};
    out_.refuse(c, "unknown_attribute");
  }

 private:
  void zero_point(std::string_view variant, const Sizes& shape) {
    Case c = random_case(out_, "reject", uint8, float32, plain_);
    c.inputs["zero_point"] = tensor_of(uint8, shape, [] { return 0u; });
    out_.refuse(c, "zero_point_shape", variant);
  }

  const WebnnShapes plain_{"", {2, 3}, {2, 1}};

  Collector& out_;
};

}  // namespace

void add_webnn(Collector& out) {
  for (const Element x : kInputs) {
    for (const Element scale : kScales) {
      add_types(out, x, scale);
      add_wide_differences(out, x, scale);
    }
    for (const WebnnShapes& s : webnn_shapes()) {
      const std::string name = fmt::format("{}/shapes/{}", dequant::name(x), s.name);
      out.accept(random_case(out, name, x, float32, s), granularity_of(s));
    }
  }
  WebnnRefusals refusals(out);
  refusals.types();
  refusals.shapes();
  refusals.attributes();
}

void add_webnn_random(Collector& out, int64_t count) {
  constexpr int64_t kMostElements = 120;
  for (int64_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("random/{:05}", i);
    Random random = out.random(name + " shape");
    WebnnShapes s{"", {}, {}};
    int64_t elements = 1;
    for (int64_t rank = random.in(0, 5); rank > 0; --rank) {
      const int64_t block = random.in(1, std::min<int64_t>(4, kMostElements / elements));
      const int64_t blocks = random.in(1, std::min<int64_t>(4, kMostElements / elements / block));
      s.x.push_back(block * blocks);
      s.scale.push_back(blocks);
      elements *= block * blocks;
    }
    const Element x = random.of(std::to_array(kInputs));
    const Element scale = random.of(std::to_array(kScales));
    out.accept(random_case(out, name, x, scale, s), granularity_of(s));
  }
}

}  // namespace dequant::conformance::vectors
