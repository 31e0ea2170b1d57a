// TFLite models from numbers, with the floats that they stand for.
#include "fuzz/support/tflite.h"

#include <flatbuffers/flatbuffers.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "dequant/codes.h"
#include "format/tflite/field_numbers.h"

namespace dequant::fuzz {
namespace {

namespace field = format::tflite::field;
using Place = flatbuffers::Offset<void>;

constexpr uint8_t kFloat32 = 0;

struct Kind {
  uint8_t type;  ///< the number in the schema
  Element element;
};

constexpr std::array<Kind, 8> kKinds{{{9, Element::int8},
                                      {3, Element::uint8},
                                      {7, Element::int16},
                                      {17, Element::int4},
                                      {20, Element::uint4},
                                      {19, Element::int2},
                                      {2, Element::int32},
                                      {9, Element::int8}}};

enum class Granularity { per_tensor, per_axis, blocks };

/// What is in one quantized tensor.
struct Contents {
  Kind kind;
  std::vector<int32_t> shape;
  std::vector<uint8_t> data;
  std::vector<float> scale;
  std::vector<int64_t> zero_point;
  int32_t axis = 0;
  int32_t block = 0;
};

class TfliteMaker {
 public:
  explicit TfliteMaker(Cursor& cursor) : c_(cursor) {}

  TfliteModel make() {
    buffers_.push_back(buffer({}));
    const uint32_t count = 1 + c_.below(3);
    for (uint32_t i = 0; i < count; ++i) add(fmt::format("t{}", i));
    finish();
    const auto* bytes = reinterpret_cast<const char*>(b_.GetBufferPointer());
    model_.bytes.assign(bytes, b_.GetSize());
    if (c_.rarely()) patch();
    return std::move(model_);
  }

 private:
  static flatbuffers::voffset_t at(uint16_t number) {
    return static_cast<flatbuffers::voffset_t>(4 + 2 * number);
  }

  /// The number, or rarely another one.
  template <class T>
  T perhaps(T number) {
    if (!c_.rarely()) return number;
    model_.odd = true;
    return static_cast<T>(c_.integer(-2, 40));
  }

  template <class T>
  void add(uint16_t number, T value) {
    b_.AddElement<T>(at(number), value);
  }
  void add_offset(uint16_t number, Place place) { b_.AddOffset(at(number), place); }

  template <class T>
  Place vector(std::vector<T> numbers) {
    if (c_.rarely()) {
      model_.odd = true;
      numbers.resize(c_.below(6));
    }
    return b_.CreateVector(numbers).Union();
  }

  Place buffer(const std::vector<uint8_t>& data) {
    const auto bytes = b_.CreateVector(data).Union();
    const auto start = b_.StartTable();
    if (!data.empty()) add_offset(field::buffer::data, bytes);
    if (c_.rarely()) {
      model_.odd = true;
      add<uint64_t>(field::buffer::offset, static_cast<uint64_t>(c_.integer(0, 2000)));
      add<uint64_t>(field::buffer::size, static_cast<uint64_t>(c_.integer(0, 64)));
    }
    return b_.EndTable(start);
  }

  Place tensor(const std::string& name, uint8_t type, const std::vector<int32_t>& shape,
               const std::vector<uint8_t>& data, Place quantization) {
    buffers_.push_back(buffer(data));
    const auto name_at = b_.CreateString(name).Union();
    const auto shape_at = vector(shape);
    const auto start = b_.StartTable();
    add_offset(field::tensor::name, name_at);
    add_offset(field::tensor::shape, shape_at);
    add(field::tensor::type, perhaps(type));
    add(field::tensor::buffer, perhaps(static_cast<uint32_t>(buffers_.size() - 1)));
    if (!quantization.IsNull()) add_offset(field::tensor::quantization, quantization);
    return b_.EndTable(start);
  }

  /// Scales and zero points, or blocks whose scales are a tensor of their own.
  Place quantization(const Contents& t) {
    Place details;
    if (t.block > 0) {
      const auto start = b_.StartTable();
      add(field::blockwise::scales, perhaps(static_cast<int32_t>(tensors_.size()) + 1));
      add(field::blockwise::zero_points, perhaps(int32_t{-1}));
      add(field::blockwise::block_size, perhaps(t.block));
      details = b_.EndTable(start);
    }
    Place scale;
    Place zero;
    if (t.block == 0) {
      scale = vector(t.scale);
      zero = vector(t.zero_point);
    }
    const auto start = b_.StartTable();
    if (t.block > 0) {
      add(field::quantization::details_type, perhaps(field::details::blockwise));
      add_offset(field::quantization::details, details);
    } else {
      add_offset(field::quantization::scale, scale);
      add_offset(field::quantization::zero_point, zero);
      add(field::quantization::quantized_dimension, perhaps(t.axis));
    }
    return b_.EndTable(start);
  }

  void add(const std::string& name) {
    const Contents t = contents();
    const Place parameters = quantization(t);
    tensors_.push_back(tensor(name, t.kind.type, t.shape, t.data, parameters));
    if (t.block == 0) return model_.tensors.push_back({name, floats(t)});
    std::vector<uint8_t> bytes(4 * t.scale.size());
    std::memcpy(bytes.data(), t.scale.data(), bytes.size());
    const auto blocks = static_cast<int32_t>(t.scale.size());
    tensors_.push_back(tensor(name + ".scales", kFloat32, {blocks}, bytes, {}));
    model_.tensors.push_back({name, floats(t)});
  }

  Contents contents() {
    Contents t{.kind = c_.pick(kKinds)};
    t.shape.resize(c_.below(4));
    int64_t count = 1;
    for (int32_t& size : t.shape) count *= size = static_cast<int32_t>(1 + c_.below(5));
    auto granularity = static_cast<Granularity>(c_.below(3));
    if (t.shape.empty()) granularity = Granularity::per_tensor;
    int64_t scales = 1;
    if (granularity == Granularity::per_axis) {
      t.axis = static_cast<int32_t>(c_.below(t.shape.size()));
      scales = t.shape[static_cast<size_t>(t.axis)];
    } else if (granularity == Granularity::blocks) {
      t.block = c_.coin() ? t.shape.back() : 1;
      scales = count / t.block;
    }
    const int bits = dequant::bits(t.kind.element);
    t.data.resize(static_cast<size_t>((count * bits + 7) / 8));
    c_.fill(std::as_writable_bytes(std::span(t.data)));
    for (int64_t i = 0; i < scales; ++i) {
      t.scale.push_back(c_.raw<float>());
      const uint32_t code = bits < 32 && t.block == 0 ? c_.raw<uint16_t>() & ((1U << bits) - 1) : 0;
      t.zero_point.push_back(static_cast<int64_t>(value_of(t.kind.element, code)));
    }
    return t;
  }

  static std::vector<float> floats(const Contents& t) {
    size_t count = 1;
    for (const int32_t size : t.shape) count *= static_cast<size_t>(size);
    size_t inner = 1;  // elements behind an index of the axis
    for (size_t d = static_cast<size_t>(t.axis) + 1; d < t.shape.size(); ++d)
      inner *= static_cast<size_t>(t.shape[d]);
    std::vector<float> out;
    for (size_t i = 0; i < count; ++i) {
      const size_t s = t.block > 0 ? i / static_cast<size_t>(t.block) : i / inner % t.scale.size();
      const uint32_t code =
          load_code(t.kind.element, std::as_bytes(std::span(t.data)), static_cast<int64_t>(i));
      const auto q = static_cast<int64_t>(value_of(t.kind.element, code));
      out.push_back(static_cast<float>(q - t.zero_point[s]) * t.scale[s]);
    }
    return out;
  }

  void finish() {
    const auto tensors = b_.CreateVector(tensors_).Union();
    const auto graph_start = b_.StartTable();
    add_offset(field::subgraph::tensors, tensors);
    const Place graph = b_.EndTable(graph_start);
    const auto graphs = b_.CreateVector(std::vector<Place>{graph}).Union();
    const auto buffers = b_.CreateVector(buffers_).Union();
    const auto start = b_.StartTable();
    add(field::model::version, perhaps(uint32_t{3}));
    add_offset(field::model::subgraphs, graphs);
    add_offset(field::model::buffers, buffers);
    b_.Finish(Place(b_.EndTable(start)), "TFL3");
  }

  /// Other bytes anywhere.
  void patch() {
    model_.odd = true;
    for (uint32_t i = 0; i <= c_.below(3); ++i)
      model_.bytes[c_.below(model_.bytes.size())] = static_cast<char>(c_.byte());
  }

  Cursor& c_;
  flatbuffers::FlatBufferBuilder b_;
  std::vector<Place> buffers_;
  std::vector<Place> tensors_;
  TfliteModel model_;
};

}  // namespace

TfliteModel tflite_model(Cursor& cursor) { return TfliteMaker(cursor).make(); }

}  // namespace dequant::fuzz
