// Evaluating models made of DequantizeLinear, Constant and Identity only.
#include "format/onnx/evaluate.h"

#include <map>
#include <protozero/pbf_writer.hpp>

#include "format/io/errors.h"
#include "format/onnx/check_message.h"
#include "format/onnx/dequantization.h"
#include "format/onnx/tensor_reader.h"
#include "format/onnx/told_shapes.h"

namespace dequant::format::onnx {
namespace {

/// Bytes of a tensor at most. The models of `dequant run` are tests of operators; large models are
/// for `convert`.
constexpr int64_t kMostOfArray = int64_t{1} << 32;

class Evaluator {
 public:
  Evaluator(Model& model, const Executor& executor)
      : model_(model), files_(model.path), executor_(executor) {}

  Result<std::vector<NamedTensor>> run(std::vector<NamedTensor> inputs) {
    DEQUANT_CHECK(take_inputs(std::move(inputs)));
    for (const Node& node : model_.graph.nodes) {
      if (auto status = evaluate(node); !status) {
        return in(fmt::format("node {}", escaped(node.label())), std::move(status).error());
      }
    }
    std::vector<NamedTensor> outputs;
    for (const Value& v : model_.graph.outputs) {
      const auto it = values_.find(v.name.str());
      if (it == values_.end())
        return failure(ErrorCode::malformed, "output {} is never computed", escaped(v.name));
      if (has_other_type(v, it->second.element)) {
        return failure(ErrorCode::malformed, "output {} is {}, the model declares {}",
                       escaped(v.name), name(it->second.element), type_text(v));
      }
      outputs.push_back({v.name.str(), it->second});
    }
    return outputs;
  }

 private:
  /// True where the model declares a type, and another one.
  static bool has_other_type(const Value& declared, Element element) {
    return declared.elem_type != 0 && declared.elem_type != onnx_code(element);
  }
  static std::string type_text(const Value& declared) {
    const auto element = element_from_onnx(declared.elem_type);
    return element ? std::string(name(*element)) : fmt::format("type {}", declared.elem_type);
  }

  Status take_inputs(std::vector<NamedTensor> inputs) {
    std::map<std::string, const Value*> wanted;
    for (const Value& v : model_.graph.inputs) wanted[v.name.str()] = &v;
    for (NamedTensor& t : inputs) {
      const auto it = wanted.find(t.name);
      if (it == wanted.end()) {
        return failure(ErrorCode::invalid_argument, "the model has no input {}", escaped(t.name));
      }
      if (has_other_type(*it->second, t.data.element)) {
        return failure(ErrorCode::invalid_argument, "input {} is {}, the model wants {}",
                       escaped(t.name), name(t.data.element), type_text(*it->second));
      }
      DEQUANT_CHECK(check_shape(*it->second, t));
      if (!values_.emplace(t.name, std::move(t.data)).second) {
        return failure(ErrorCode::invalid_argument, "input {} is given twice", escaped(t.name));
      }
    }
    for (const Initializer& i : model_.graph.initializers) {
      if (values_.contains(i.tensor.name.str())) continue;  // an input overrides the initializer
      DEQUANT_TRY(TensorData data, read_tensor_data(model_.source, files_, i.tensor, kMostOfArray));
      values_.emplace(i.tensor.name.str(), std::move(data));
    }
    for (const Value& v : model_.graph.inputs) {
      if (!values_.contains(v.name.str())) {
        return failure(ErrorCode::invalid_argument, "input {} is missing", escaped(v.name));
      }
    }
    return {};
  }

  /// A dimension that the model does not tell, or tells by a name, may have any size.
  Status check_shape(const Value& input, const NamedTensor& given) const {
    DEQUANT_TRY(const auto wanted, told_shape(model_, input));
    if (!wanted) return {};
    const std::vector<int64_t>& shape = given.data.shape;
    bool fits = shape.size() == wanted->size();
    std::string text;
    for (size_t i = 0; i < wanted->size(); ++i) {
      const int64_t size = (*wanted)[i];
      fits = fits && (size == kUnknownSize || size == shape[i]);
      text += (i == 0 ? "" : ", ") + (size == kUnknownSize ? "?" : std::to_string(size));
    }
    if (fits) return {};
    return failure(ErrorCode::invalid_argument, "input {} has the shape [{}], the model wants [{}]",
                   escaped(given.name), fmt::join(shape, ", "), text);
  }

  Status evaluate(const Node& node) {
    const bool known = node.is_dequantize() || node.is("Identity") || node.is("Constant");
    if (known && node.outputs.size() != 1)
      return failure(ErrorCode::malformed, "{} outputs", node.outputs.size());
    if (node.is_dequantize()) return dequantize(node);
    if (node.is("Identity")) {
      DEQUANT_TRY(const TensorData* x, value(node, 0));
      values_[node.output(0).str()] = TensorData(*x);
      return {};
    }
    if (node.is("Constant")) {
      Resolved r = constant_of(node);
      if (!r.constant) return failure(ErrorCode::unsupported, "its value {}", r.reason);
      TensorData& y = values_[node.output(0).str()];
      if (r.constant->literal) {
        y = *std::move(r.constant->literal);
      } else {
        DEQUANT_TRY(y, read_tensor_data(model_.source, files_, *r.constant->tensor, kMostOfArray));
      }
      return {};
    }
    return failure(ErrorCode::unsupported,
                   "operator {}: only DequantizeLinear, Constant and Identity are evaluated",
                   escaped(node.op_type()));
  }

  Result<const TensorData*> value(const Node& node, size_t i) const {
    const auto it = values_.find(std::string(node.input(i)));
    if (it != values_.end()) return &it->second;
    return failure(ErrorCode::malformed, "input {} \"{}\" is not computed before it", i,
                   escaped(node.input(i)));
  }

  Status dequantize(const Node& node) {
    if (node.inputs.size() < 2 || node.inputs.size() > 3) {
      return failure(ErrorCode::malformed, "{} inputs, where 2 or 3 are allowed",
                     node.inputs.size());
    }
    DEQUANT_TRY(const TensorData* x, value(node, 0));
    DEQUANT_TRY(const TensorData* scale, value(node, 1));
    const TensorData* zero = nullptr;
    if (!node.input(2).empty()) {
      DEQUANT_TRY(zero, value(node, 2));
    }
    std::optional<TensorType> zero_type;
    if (zero != nullptr) zero_type = zero->type();
    auto plan = plan_node(model_.graph, node, x->type(), scale->type(), zero_type);
    if (!plan) return as_file_error(std::move(plan).error());

    DEQUANT_TRY(const int64_t bytes, packed_bytes(plan->output, element_count(*plan)));
    if (bytes > kMostOfArray)
      return failure(ErrorCode::limit, "{} bytes of output, over {}", bytes, kMostOfArray);
    TensorData y{plan->output, x->shape, std::vector<std::byte>(static_cast<size_t>(bytes))};
    Buffers buffers{x->bytes, scale->bytes, {}, y.bytes};
    if (zero != nullptr) buffers.zero_point = zero->bytes;
    if (auto status = ::dequant::run(*plan, buffers, {executor_, Stores::automatic}); !status) {
      return as_file_error(std::move(status).error());
    }
    values_[node.output(0).str()] = std::move(y);
    return {};
  }

  /// An invalid argument of a dialect is here a malformed model.
  static Error as_file_error(Error error) {
    if (error.code == ErrorCode::invalid_argument) error.code = ErrorCode::malformed;
    return error;
  }

  Model& model_;
  ExternalFiles files_;
  Executor executor_;
  std::map<std::string, TensorData> values_;
};

}  // namespace

Result<NamedTensor> read_tensor_pb(const std::string& path) {
  DEQUANT_TRY(InputFile file, InputFile::open(path));
  Source source(std::move(file));
  ExternalFiles files(path);
  Store store;
  Tensor tensor;
  const auto read = [&]() -> Result<NamedTensor> {
    DEQUANT_CHECK(check_message(source, Message::tensor));
    DEQUANT_TRY([[maybe_unused]] const int64_t data_bytes,
                read_tensor(source, source.all(), store, tensor));
    if (tensor.data_type == 0) return failure(ErrorCode::malformed, "the tensor has no data_type");
    DEQUANT_TRY(TensorData data, read_tensor_data(source, files, tensor, kMostOfArray));
    return NamedTensor{tensor.name.str(), std::move(data)};
  };
  auto result = read();
  if (!result) return in(escaped(path), std::move(result).error());
  return result;
}

std::string tensor_pb(const NamedTensor& tensor) {
  std::string out;
  protozero::pbf_writer writer(out);
  for (const int64_t d : tensor.data.shape) writer.add_int64(field::tensor::dims, d);
  writer.add_int32(field::tensor::data_type, onnx_code(tensor.data.element));
  writer.add_string(field::tensor::name, tensor.name);
  writer.add_bytes(field::tensor::raw_data, reinterpret_cast<const char*>(tensor.data.bytes.data()),
                   tensor.data.bytes.size());
  return out;
}

Result<std::vector<InputType>> input_types(const std::string& model_path) {
  DEQUANT_TRY(const auto model, read_model(model_path));
  std::vector<InputType> inputs;
  for (const Value& v : model->graph.inputs) {
    inputs.push_back(
        {v.name.str(), v.elem_type == 0 ? std::nullopt : element_from_onnx(v.elem_type)});
  }
  return inputs;
}

Result<std::vector<NamedTensor>> evaluate(const std::string& model_path,
                                          std::vector<NamedTensor> inputs,
                                          const Executor& executor) {
  DEQUANT_TRY(const auto model, read_model(model_path));
  auto result = Evaluator(*model, executor).run(std::move(inputs));
  if (!result) return in(escaped(model_path), std::move(result).error());
  return result;
}

}  // namespace dequant::format::onnx
