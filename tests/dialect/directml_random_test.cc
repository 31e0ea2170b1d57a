// Random descriptions, executed and compared bit by bit with the index formula of DirectML's
// documents: the offset of an element is the dot product of its index and the strides.
#include <algorithm>
#include <numeric>

#include "directml_desc.h"
#include "element/codes.h"
#include "element/reference.h"
#include "support/float_bits.h"
#include "support/guarded_buffer.h"
#include "support/packed.h"
#include "support/random.h"

namespace dequant::directml_random_test {
namespace {

using namespace testing;

Element element_of(DML_TENSOR_DATA_TYPE type) {
  switch (type) {
    case DML_TENSOR_DATA_TYPE_FLOAT32: return Element::float32;
    case DML_TENSOR_DATA_TYPE_FLOAT16: return Element::float16;
    case DML_TENSOR_DATA_TYPE_UINT32: return Element::uint32;
    case DML_TENSOR_DATA_TYPE_UINT16: return Element::uint16;
    case DML_TENSOR_DATA_TYPE_UINT8: return Element::uint8;
    case DML_TENSOR_DATA_TYPE_INT32: return Element::int32;
    case DML_TENSOR_DATA_TYPE_INT16: return Element::int16;
    case DML_TENSOR_DATA_TYPE_INT8: return Element::int8;
    case DML_TENSOR_DATA_TYPE_UINT4: return Element::uint4;
    default: return Element::int4;
  }
}

/// Strides in a random order of dimensions, each with some room after it now and then.
Uints apart(Random& random, const Uints& sizes) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  if (random.coin()) {
    for (size_t i = order.size(); i-- > 1;) {
      std::swap(order[i], order[static_cast<size_t>(random.in(0, static_cast<int64_t>(i)))]);
    }
  }
  Uints strides(sizes.size());
  UINT next = random.in(0, 4) == 0 ? static_cast<UINT>(random.in(1, 3)) : 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = next;
    next = next * sizes[order[i]] + (random.in(0, 3) == 0 ? static_cast<UINT>(random.in(0, 5)) : 0);
  }
  return strides;
}

/// As `apart`, and some of them zero, or anything at all.
Uints any_strides(Random& random, const Uints& sizes) {
  Uints strides = apart(random, sizes);
  const int64_t kind = random.in(0, 5);
  for (UINT& s : strides) {
    if (kind == 0 || (kind <= 2 && random.coin())) s = 0;
    if (kind == 3 && random.coin()) s = static_cast<UINT>(random.in(0, 20));
  }
  return strides;
}

DmlTensor random_tensor(Random& random, DML_TENSOR_DATA_TYPE type, Uints sizes, bool output) {
  DmlTensor tensor{.type = type, .sizes = std::move(sizes)};
  if (random.in(0, 2) != 0) {
    tensor.strides = output ? apart(random, tensor.sizes) : any_strides(random, tensor.sizes);
  }
  if (random.in(0, 3) == 0) {
    tensor.bytes = tensor.least_bytes() + static_cast<UINT64>(random.in(0, 40));
  }
  return tensor;
}

/// A divisor of a size.
UINT random_divisor(Random& random, UINT size) {
  UINT d = 0;
  do d = static_cast<UINT>(random.in(1, size));
  while (size % d != 0);
  return d;
}

/// Sizes of blocks that nest with those of `other` on every axis.
Uints random_param_sizes(Random& random, const Uints& sizes, const Uints* other) {
  Uints param_sizes;
  for (size_t d = 0; d < sizes.size(); ++d) {
    UINT blocks = 0;
    do blocks = random_divisor(random, sizes[d]);
    while (other != nullptr && blocks % (*other)[d] != 0 && (*other)[d] % blocks != 0);
    param_sizes.push_back(blocks);
  }
  return param_sizes;
}

Uints random_sizes(Random& random) {
  const auto rank = static_cast<size_t>(random.in(1, 8));
  Uints sizes(rank, 1);
  UINT count = 1;
  for (UINT& size : sizes) {
    const UINT room = std::max(1U, 3000 / count);
    const int64_t kind = random.in(0, 11);
    const int64_t most = kind == 0 ? 1500 : kind <= 3 ? 70 : 6;
    size = static_cast<UINT>(random.in(1, std::min<int64_t>(most, room)));
    count *= size;
  }
  return sizes;
}

DmlNode random_node(Random& random) {
  static constexpr DML_TENSOR_DATA_TYPE kElementWise[] = {
      DML_TENSOR_DATA_TYPE_INT32,  DML_TENSOR_DATA_TYPE_INT16,  DML_TENSOR_DATA_TYPE_INT8,
      DML_TENSOR_DATA_TYPE_UINT32, DML_TENSOR_DATA_TYPE_UINT16, DML_TENSOR_DATA_TYPE_UINT8};
  static constexpr DML_TENSOR_DATA_TYPE kDequantize[] = {
      DML_TENSOR_DATA_TYPE_INT8, DML_TENSOR_DATA_TYPE_INT4, DML_TENSOR_DATA_TYPE_UINT8,
      DML_TENSOR_DATA_TYPE_UINT4};
  const bool blocked = random.coin();
  const Uints sizes = random_sizes(random);
  const auto input = blocked ? kDequantize[random.in(0, 3)] : kElementWise[random.in(0, 5)];
  const auto scale = random.coin() ? DML_TENSOR_DATA_TYPE_FLOAT32 : DML_TENSOR_DATA_TYPE_FLOAT16;
  DmlNode node;
  if (blocked) node.type = DML_OPERATOR_DEQUANTIZE;
  node.input = random_tensor(random, input, sizes, false);
  node.scale = random_tensor(random, scale,
                             blocked ? random_param_sizes(random, sizes, nullptr) : sizes, false);
  node.zero_point.reset();
  if (random.in(0, 3) != 0) {
    const Uints param_sizes = !blocked ? sizes
                              : random.coin()
                                  ? node.scale.sizes
                                  : random_param_sizes(random, sizes, &node.scale.sizes);
    node.zero_point = random_tensor(random, input, param_sizes, false);
  }
  node.output = random_tensor(random, scale, sizes, true);
  return node;
}

/// Where the element of an index lies in a tensor whose sizes divide those of the index.
int64_t offset_of(const DmlTensor& tensor, const Uints& sizes, const Uints& index) {
  int64_t offset = 0;
  int64_t packed = 1;
  for (size_t d = index.size(); d-- > 0;) {
    const int64_t stride = tensor.strides ? int64_t{(*tensor.strides)[d]} : packed;
    offset += index[d] / (sizes[d] / tensor.sizes[d]) * stride;
    packed *= tensor.sizes[d];
  }
  return offset;
}

/// The next index in row-major order; false after the last.
bool advance(const Uints& sizes, Uints& index) {
  for (size_t d = sizes.size(); d-- > 0;) {
    if (++index[d] < sizes[d]) return true;
    index[d] = 0;
  }
  return false;
}

Bytes expected(const DmlNode& node, const std::vector<Bytes>& inputs, Bytes y) {
  const Element input = element_of(node.input.type);
  const Element scale = element_of(node.scale.type);
  const size_t y_bytes = bytes_for(scale, 1);
  const bool midpoint =
      node.type == DML_OPERATOR_DEQUANTIZE && kind(input) == Kind::unsigned_integer;
  const Uints& sizes = node.input.sizes;
  Uints index(sizes.size(), 0);
  do {
    const auto code = [&](size_t i, const DmlTensor& tensor) {
      return code_at(element_of(tensor.type), inputs[i], offset_of(tensor, sizes, index));
    };
    int64_t zero = midpoint ? int64_t{1} << (bits(input) - 1) : 0;
    if (node.zero_point) zero = integer_value(input, code(2, *node.zero_point));
    const uint32_t out = reference_dequantize(input, code(0, node.input), zero,
                                              float_value(scale, code(1, node.scale)), scale);
    const auto at = static_cast<size_t>(offset_of(node.output, sizes, index)) * y_bytes;
    std::memcpy(y.data() + at, &out, y_bytes);
  } while (advance(sizes, index));
  return y;
}

Bytes random_input(Random& random, const DmlTensor& tensor) {
  const auto size = static_cast<size_t>(tensor.bytes.value_or(tensor.least_bytes()));
  if (tensor.type != DML_TENSOR_DATA_TYPE_FLOAT32) return random_bytes(random, size);
  Bytes bytes(size);
  for (size_t at = 0; at + 4 <= size; at += 4) {
    const uint32_t code = random_scale(random);
    std::memcpy(bytes.data() + at, &code, sizeof code);
  }
  return bytes;
}

/// Memory that ends at a page which nobody may read or write.
class AtTheEnd {
 public:
  explicit AtTheEnd(const Bytes& bytes)
      : buffer_(bytes.size()), begin_(buffer_.before_end(bytes.size())), size_(bytes.size()) {
    if (size_ > 0) std::memcpy(begin_, bytes.data(), size_);
  }
  std::span<std::byte> span() const { return {reinterpret_cast<std::byte*>(begin_), size_}; }
  Bytes bytes() const { return {span().begin(), span().end()}; }

 private:
  GuardedBuffer buffer_;
  uint8_t* begin_;
  size_t size_;
};

std::string shown(const DmlNode& node) {
  std::string out;
  const auto add = [&](const char* name, const DmlTensor& t) {
    out += std::string(name) + " type " + std::to_string(t.type) + " [";
    for (const UINT s : t.sizes) out += std::to_string(s) + " ";
    out += "] strides [";
    for (const UINT s : t.strides.value_or(Uints{})) out += std::to_string(s) + " ";
    out += "]\n";
  };
  add("input", node.input);
  add("scale", node.scale);
  if (node.zero_point) add("zero point", *node.zero_point);
  add("output", node.output);
  return out;
}

TEST(DirectMLRandom, ExecutesEveryDescriptionAsTheIndexFormulaSays) {
  Random random(20260601);
  for (int round = 0; round < testing::random_cases(3000); ++round) {
    const DmlNode node = random_node(random);
    SCOPED_TRACE("round " + std::to_string(round) + "\n" + shown(node));
    const auto op = compile(node);
    ASSERT_TRUE(succeeds(op));
    std::vector<Bytes> inputs;
    for (const DmlTensor* tensor : node.inputs()) inputs.push_back(random_input(random, *tensor));
    const Bytes before(op->output_bytes, std::byte{0xA5});
    const Bytes want = expected(node, inputs, before);

    std::vector<std::unique_ptr<AtTheEnd>> held;
    std::vector<std::span<const std::byte>> bound;
    for (const Bytes& bytes : inputs) {
      held.push_back(std::make_unique<AtTheEnd>(bytes));
      bound.push_back(held.back()->span());
    }
    const AtTheEnd y(before);
    ASSERT_TRUE(succeeds(directml::execute(*op, bound, y.span())));
    ASSERT_EQ(y.bytes(), want) << to_string(op->plan);
  }
}

TEST(DirectMLRandom, PlansReadNoFurtherThanTheirExtents) {
  Random random(20260602);
  for (int round = 0; round < 500; ++round) {
    const DmlNode node = random_node(random);
    SCOPED_TRACE("round " + std::to_string(round) + "\n" + shown(node));
    const auto op = compile(node);
    ASSERT_TRUE(succeeds(op));
    const Extents held = extents(op->plan);
    const Plan& plan = op->plan;
    const AtTheEnd x(random_bytes(random, bytes_for(plan.input, held.x)));
    const AtTheEnd scale(random_bytes(random, bytes_for(plan.scale, held.scale)));
    const AtTheEnd zero(random_bytes(random, bytes_for(plan.input, held.zero_point)));
    const AtTheEnd y(Bytes(bytes_for(plan.output, held.y)));
    Buffers buffers{.x = x.span(), .scale = scale.span(), .zero_point = {}, .y = y.span()};
    if (plan.has_zero_point) buffers.zero_point = zero.span();
    ASSERT_TRUE(succeeds(run(plan, buffers)));
  }
}

}  // namespace
}  // namespace dequant::directml_random_test
