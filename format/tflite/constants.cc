// The constant tensors of a TFLite model, and what becomes of each.
#include "format/tflite/constants.h"

#include <algorithm>
#include <unordered_set>

#include "dequant/onnx.h"
#include "format/io/errors.h"
#include "format/tflite/field_numbers.h"
#include "format/tflite/names.h"
#include "format/tflite/quantization.h"

namespace dequant::format::tflite {
namespace {

class Decisions {
 public:
  Decisions(const InputFile& file, const Model& model)
      : model_(model), statistics_(file), uses_(model.buffers.size()) {}

  Result<Constants> decide() {
    for (const Subgraph& graph : model_.subgraphs) DEQUANT_CHECK(collect(graph));
    for (size_t i = 0; i < found_.size(); ++i) {
      Constant& constant = out_.all[i];
      const auto decided = decide(*found_[i].graph, *found_[i].tensor, constant);
      if (decided) continue;
      const Error& error = decided.error();
      // Legal, but nothing that is computed exactly: the other tensors can be.
      if (error.code != ErrorCode::unsupported)
        return in(fmt::format("tensor \"{}\"", escaped(constant.name)), error);
      constant.use = Use::left;
      constant.reason = error.message;
      constant.computed.reset();
    }
    for (size_t i = 0; i < found_.size(); ++i) {
      Constant& constant = out_.all[i];
      if (constant.use == Use::copied && scales_.contains(found_[i].tensor))
        constant.use = Use::parameter;
      constant.shared = uses_[found_[i].tensor->buffer] > 1;
      out_.by_name.emplace(constant.name, &constant);
    }
    if (!model_.buffers.empty() && model_.buffers[0].size > 0) {
      out_.warnings.add(fmt::format(
          "buffer 0 has {} bytes, which are not read: it stands for tensors without data",
          model_.buffers[0].size));
    }
    warn_of_rotation();
    return std::move(out_);
  }

 private:
  struct Found {
    const Subgraph* graph;
    const Tensor* tensor;
  };

  const Bytes& data_of(const Tensor& tensor) const { return model_.buffers[tensor.buffer]; }
  /// Buffer 0 stands for no data, whatever it has: TFLite never reads it.
  bool is_constant(const Tensor& tensor) const {
    return tensor.external_buffer != 0 || (tensor.buffer != 0 && data_of(tensor).size > 0);
  }

  Status collect(const Subgraph& graph) {
    const auto index = static_cast<size_t>(&graph - model_.subgraphs.data());
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
      const Tensor& tensor = graph.tensors[i];
      if (!is_constant(tensor)) {
        const Type* type = find_type(tensor.type);
        const bool codes = type != nullptr && type->meaning == Meaning::quantized;
        if (!codes || tensor.quantization.scale.empty()) continue;
        DEQUANT_CHECK(model_.flatbuffer->take(sizeof(Activation)));
        out_.activations.push_back({&tensor, tensor.name});
        continue;
      }
      if (names_.known(graph, tensor) != nullptr) continue;
      // The name, and the same once more in a table of names.
      DEQUANT_CHECK(model_.flatbuffer->take(sizeof(Constant) + 2 * tensor.name.size()));
      Constant& constant = out_.all.emplace_back();
      constant.name = names_.add(graph, tensor, fmt::format("{}.{}", index, i));
      ++uses_[tensor.buffer];
      found_.push_back({&graph, &tensor});
    }
    return {};
  }

  /// Fails with unsupported for a tensor that is left.
  Status decide(const Subgraph& graph, const Tensor& tensor, Constant& out) {
    out.data = data_of(tensor);
    out.type = find_type(tensor.type);
    for (size_t i = 0; i < tensor.shape.size(); ++i) out.shape.push_back(tensor.shape[i]);
    const auto count = element_count(out.shape);
    if (!count) return Error{ErrorCode::malformed, count.error().message};
    if (tensor.external_buffer != 0) {
      return failure(ErrorCode::unsupported, "its data are in another file: external buffer {}",
                     tensor.external_buffer);
    }
    if (tensor.sparse)
      return failure(ErrorCode::unsupported, "its data are sparse, which dequant does not read");
    if (out.type == nullptr)
      return failure(ErrorCode::unsupported, "type {} is not known", tensor.type);
    if (out.type->bits == 0) return dropped(out);
    DEQUANT_CHECK(check_size(*out.type, *count, out.data));
    if (!is_quantized(tensor.quantization)) {
      if (!tensor.quantization.zero_point.empty())
        warn(out, "zero points without scales are ignored");
      return out.type->dtype.empty() ? dropped(out) : Status();
    }
    if (out.type->meaning == Meaning::none) {
      warn(out, fmt::format("quantization parameters of a {} tensor are ignored", out.type->name));
      return out.type->dtype.empty() ? dropped(out) : Status();
    }
    if (out.type->meaning == Meaning::undefined) {
      return failure(ErrorCode::unsupported, "no operator of TFLite dequantizes type {}",
                     out.type->name);
    }
    return compute(graph, tensor.quantization, *count, out);
  }

  static Status dropped(Constant& out) {
    out.use = Use::dropped;
    out.reason = fmt::format("safetensors files have no type {}", out.type->name);
    return {};
  }

  static Status check_size(const Type& type, int64_t count, const Bytes& data) {
    int64_t bits = 0;
    if (__builtin_mul_overflow(count, int64_t{type.bits}, &bits)) {
      return failure(ErrorCode::malformed,
                     "its {} values of type {} take more than 2^63 - 1 bits, and its data {} bytes",
                     count, type.name, data.size);
    }
    const int64_t bytes = bits / 8 + (bits % 8 != 0 ? 1 : 0);
    if (bytes == data.size) return {};
    return failure(ErrorCode::malformed, "its {} values of type {} take {} bytes, and its data {}",
                   count, type.name, bytes, data.size);
  }

  /// AI Edge Quantizer has a custom operator for the rotation, or matrices of these names.
  void warn_of_rotation() {
    static constexpr std::string_view kMatrix = "_hadamard_matrix";
    const auto matrix =
        std::find_if(out_.all.begin(), out_.all.end(),
                     [](const Constant& constant) { return constant.name.ends_with(kMatrix); });
    if (!model_.has_rotation && matrix == out_.all.end()) return;
    out_.warnings.add(fmt::format(
        "{}: weights are rotated; their floats are too, and need the same rotation of activations",
        model_.has_rotation ? fmt::format("operator {}", kRotation)
                            : fmt::format("tensor \"{}\"", escaped(matrix->name))));
  }

  void warn(const Constant& constant, const std::string& sentence) {
    out_.warnings.add(fmt::format("tensor \"{}\": {}", escaped(constant.name), sentence));
  }

  Status compute(const Subgraph& graph, const Quantization& q, int64_t count, Constant& out) {
    Computed& computed = out.computed.emplace();
    out.use = Use::computed;
    DEQUANT_TRY(computed.codes, codes_of(out, count));
    switch (q.details) {
      case field::details::none: return compute_affine(q, out);
      case field::details::blockwise: return compute_blockwise(graph, q.blockwise, out);
      case field::details::custom:
        return failure(ErrorCode::unsupported, "its quantization is custom");
      case field::details::multi_axis:
        return failure(ErrorCode::unsupported,
                       "its quantization is along several axes, which dequant does not compute");
      default:
        return failure(ErrorCode::unsupported, "details {} of its quantization are not known",
                       q.details);
    }
  }

  Result<Stored> codes_of(const Constant& constant, int64_t count) {
    Stored codes{constant.name, constant.data, constant.type->element.value_or(Element::int32),
                 constant.shape, count};
    if (constant.type->element) return codes;
    codes.int64 = true;
    DEQUANT_TRY(const Integers range, statistics_.of(constant.data, constant.type->bits));
    if (range.least >= INT32_MIN && range.greatest <= INT32_MAX) return codes;
    return failure(ErrorCode::unsupported,
                   "its codes of {} to {} take more than 32 bits, which dequant does not compute",
                   range.least, range.greatest);
  }

  Status compute_affine(const Quantization& q, Constant& out) {
    Computed& computed = *out.computed;
    computed.scheme = "QuantizationParameters";
    const Element element = computed.codes.element;
    const bool is_signed = element != Element::uint8 && element != Element::uint4;
    DEQUANT_TRY(const Affine affine,
                check_affine(q, out.shape, out.type->bits, is_signed, statistics_));
    if (!affine.warning.empty()) warn(out, affine.warning);
    std::vector<int64_t> shape;
    if (affine.axis) shape.push_back(out.shape[*affine.axis]);
    const auto scales = static_cast<int64_t>(q.scale.size());
    computed.scale = {{}, {q.scale.offset(), 4 * scales}, Element::float32, shape, scales};
    if (affine.has_zero_points)
      computed.zero_point = {{}, {q.zero_point.offset(), 8 * scales}, element, shape, scales, true};
    if (affine.axis) computed.axis = static_cast<int64_t>(*affine.axis);
    return set_plan(out.shape, computed, {});
  }

  /// Blocks are neighbours in the last dimension, whatever quantized_dimension says.
  Status compute_blockwise(const Subgraph& graph, const Blockwise& blocks, Constant& out) {
    Computed& computed = *out.computed;
    computed.scheme = kBlockwise;
    DEQUANT_TRY(const Tensor* const scales, tensor_at(graph, blocks.scales, "scales"));
    if (blocks.block_size <= 0 || out.shape.empty() || out.shape.back() % blocks.block_size != 0) {
      return failure(ErrorCode::malformed, "blocks of {} in rows of {}", blocks.block_size,
                     out.shape.empty() ? 1 : out.shape.back());
    }
    DEQUANT_CHECK(check_block_shape(blocks, out.shape));
    std::vector<int64_t> shape = out.shape;
    shape.back() /= blocks.block_size;
    const int64_t count = computed.codes.count / blocks.block_size;
    DEQUANT_TRY(computed.scale, scales_of(*scales, std::move(shape), count));
    if (blocks.zero_points >= 0) DEQUANT_CHECK(check_zero_points(graph, blocks, count));
    computed.axis = static_cast<int64_t>(out.shape.size()) - 1;
    DEQUANT_CHECK(set_plan(out.shape, computed, blocks.block_size));
    const Tensor* const known = names_.known(graph, *scales);
    scales_.insert(known == nullptr ? scales : known);
    return {};
  }

  /// TFLite's kernels have blocks that are parts of rows, and do not read block_shape.
  static Status check_block_shape(const Blockwise& blocks, Shape shape) {
    const Numbers<int32_t>& sizes = blocks.block_shape;
    if (sizes.empty()) return {};
    bool are_parts_of_rows = sizes.size() == shape.size();
    for (size_t i = 0; are_parts_of_rows && i < shape.size(); ++i)
      are_parts_of_rows = sizes[i] == (i + 1 < shape.size() ? 1 : blocks.block_size);
    if (are_parts_of_rows) return {};
    return failure(ErrorCode::unsupported,
                   "its block_shape is not that of {} neighbours in a row, which its block_size "
                   "says and TFLite's kernels read",
                   blocks.block_size);
  }

  static Result<const Tensor*> tensor_at(const Subgraph& graph, int64_t index, const char* what) {
    if (index >= 0 && index < static_cast<int64_t>(graph.tensors.size()))
      return &graph.tensors[static_cast<size_t>(index)];
    return failure(ErrorCode::malformed, "its {} are tensor {} of {} tensors", what, index,
                   graph.tensors.size());
  }

  Result<Stored> scales_of(const Tensor& tensor, std::vector<int64_t> shape, int64_t count) const {
    const Type* type = find_type(tensor.type);
    const bool floats = type != nullptr && type->element && is_output(*type->element);
    if (!is_constant(tensor) || tensor.sparse || tensor.external_buffer != 0 || !floats) {
      return failure(ErrorCode::unsupported, "its scales \"{}\" are not constant floats",
                     escaped(tensor.name));
    }
    const Bytes& data = data_of(tensor);
    if (const auto checked = check_size(*type, count, data); !checked)
      return in(fmt::format("its scales \"{}\"", escaped(tensor.name)), checked.error());
    return Stored{tensor.name, data, *type->element, std::move(shape), count};
  }

  /// TFLite's kernels do not read zero points of blocks, and writers give index 0 for none: a
  /// tensor that is not one number for each block is none, nor are floats at index 0, which may be
  /// the scales. Zero points other than 0 are refused.
  Status check_zero_points(const Subgraph& graph, const Blockwise& blocks, int64_t count) {
    DEQUANT_TRY(const Tensor* const zero, tensor_at(graph, blocks.zero_points, "zero points"));
    const Type* type = find_type(zero->type);
    const bool numbers =
        type != nullptr && (type->meaning != Meaning::none || blocks.zero_points > 0);
    if (!numbers || !is_constant(*zero) || !check_size(*type, count, data_of(*zero))) return {};
    // Packed ones are 0 where their bytes are.
    DEQUANT_TRY(const Integers range, statistics_.of(data_of(*zero), std::max(type->bits, 8)));
    if (range.least == 0 && range.greatest == 0) return {};
    return failure(ErrorCode::unsupported,
                   "its blocks have zero points other than 0, which TFLite's kernels do not read");
  }

  static Status set_plan(Shape shape, Computed& computed, std::optional<int64_t> block_size) {
    dequant::onnx::DequantizeLinear node;
    node.x = {computed.codes.element, shape};
    node.x_scale = {computed.scale.element, computed.scale.shape};
    node.axis = computed.axis;
    node.block_size = block_size;
    node.output_dtype = onnx_code(Element::float32);
    if (computed.zero_point)
      node.x_zero_point = TensorType{computed.zero_point->element, computed.zero_point->shape};
    auto plan = dequant::onnx::dequantize_linear(node);
    if (!plan) return Error{ErrorCode::malformed, plan.error().message};
    computed.plan = *std::move(plan);
    return {};
  }

  const Model& model_;
  Statistics statistics_;
  Names names_;
  std::vector<Found> found_;                  ///< as Constants::all
  std::vector<int> uses_;                     ///< of each buffer
  std::unordered_set<const Tensor*> scales_;  ///< of blocks
  Constants out_;
};

}  // namespace

Result<Constants> constants_of(const InputFile& file, const Model& model) {
  return Decisions(file, model).decide();
}

}  // namespace dequant::format::tflite
