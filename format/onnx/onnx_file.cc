// ONNX models as model files.
#include "format/onnx/onnx_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "format/io/errors.h"
#include "format/onnx/constant_reader.h"
#include "format/onnx/convert.h"
#include "format/onnx/format.h"
#include "format/onnx/inputs.h"
#include "format/onnx/operators/expansion.h"
#include "format/onnx/original_name.h"
#include "format/onnx/quantized.h"
#include "format/onnx/readers.h"
#include "format/onnx/tensor_reader.h"

namespace dequant::format::onnx {
namespace {

std::optional<Location> location_of(const Constant& constant) {
  if (constant.tensor == nullptr) return {};
  const Tensor& t = *constant.tensor;
  if (t.external != nullptr)
    return Location{t.external->location, t.external->offset, stored_bytes(constant)};
  if (t.data != DataField::raw_data) return {};
  return Location{{}, t.raw.begin, t.raw.size()};
}

StoredTensor stored_tensor(const Constant& constant) {
  return {constant.name(),       constant.type(),     stored_bytes(constant),
          location_of(constant), constant.identity(), &constant};
}

/// The constant to which the origin of a stored tensor points.
const Constant& constant_of(const StoredTensor& tensor) {
  return *static_cast<const Constant*>(tensor.origin);
}

}  // namespace

OnnxFile::OnnxFile(std::unique_ptr<Model> model, Scopes scopes, const Options& own)
    : ModelFile(kFormat, model->path),
      model_(std::move(model)),
      scopes_(std::move(scopes)),
      own_(own),
      files_(model_->anchor, own.checksums),
      constants_(*model_, files_, scopes_, true),
      parameters_(*model_, files_, scopes_, constants_) {}

Result<std::unique_ptr<ModelFile>> OnnxFile::open(const std::string& path,
                                                  const OpenOptions& options) {
  DEQUANT_TRY(const Options own, read_options(options.own));
  DEQUANT_TRY(InputFile file, open_input(path, options));
  DEQUANT_TRY(auto model, read_model(std::move(file), {options.memory}));
  if (options.bytes) {
    const std::string& folder = options.bytes->folder;
    model->anchor = folder.empty() ? "" : folder + "/model.onnx";  // any name
  }
  auto scopes = Scopes::build(*model);
  if (!scopes) return in(escaped(path), std::move(scopes).error());
  return std::unique_ptr<ModelFile>(new OnnxFile(std::move(model), *std::move(scopes), own));
}

// The whole file.

nlohmann::ordered_json OnnxFile::facts() const {
  const Opsets& opsets = model_->opsets;
  nlohmann::ordered_json j = nlohmann::ordered_json::object();
  j["ir_version"] = model_->ir_version;
  j["opset"] = opsets.onnx ? nlohmann::ordered_json(*opsets.onnx) : nlohmann::ordered_json();
  j["opsets"] = nlohmann::ordered_json::object();
  if (opsets.onnx) j["opsets"]["ai.onnx"] = *opsets.onnx;
  if (opsets.microsoft) j["opsets"]["com.microsoft"] = *opsets.microsoft;
  return j;
}

Headline OnnxFile::headline() const {
  const Opsets& opsets = model_->opsets;
  std::string text;
  if (opsets.onnx) text = fmt::format("ai.onnx {}", *opsets.onnx);
  if (opsets.microsoft)
    text += fmt::format("{}com.microsoft {}", text.empty() ? "" : ", ", *opsets.microsoft);
  return {"Operator sets", text.empty() ? "none known" : text,
          fmt::format("IR version {}", model_->ir_version)};
}

Status OnnxFile::check_output(const std::string& output) const {
  return onnx::check_output(*model_, scopes_, output);
}

Result<ConvertReport> OnnxFile::write(const std::string& output, const WriteOptions& options) {
  if (expanded_) {
    return failure(ErrorCode::invalid_argument, "{}: its tensors have been visited; open it again",
                   escaped(path()));
  }
  if (output.ends_with(".safetensors") || output.ends_with(".gguf")) {
    return failure(ErrorCode::invalid_argument,
                   "{}: an ONNX model becomes an ONNX model, not a file of another format",
                   escaped(output));
  }
  return convert(*model_, files_, scopes_, own_, output, options);
}

std::string OnnxFile::instead() const {
  const QuantizedOperators quantized(*model_);
  OperatorCounts counts;
  for (const Graph* graph : scopes_.graphs()) {
    for (const Node& node : graph->nodes) {
      if (!quantized.reason(node).empty()) ++counts[node.op_type().str()];
    }
  }
  return counts.empty() ? "the model has no quantized operator"
                        : "its quantized operators are " + counts_text(counts);
}

// Nodes.

std::string_view OnnxFile::name_of(const Graph& graph) const {
  return &graph == &model_->graph ? std::string_view() : std::string_view(graph.name);
}

TensorFacts OnnxFile::facts_of(const Graph& graph, const Node& node, size_t codes) const {
  const Node& op = operator_of(node);
  const bool microsoft = op.domain() == "com.microsoft";
  const std::string_view of_codes = original_name(node.input(codes));
  return {node.output(0),
          node.input(codes),
          op.name,
          name_of(graph),
          op.domain(),
          microsoft ? graph.opsets.microsoft : graph.opsets.onnx,
          of_codes.empty() ? original_name(node.output(0)) : of_codes,
          op.op_type()};
}

DenseTensor OnnxFile::dense_tensor(std::shared_ptr<const Dequantization> d) const {
  DenseTensor tensor;
  static_cast<TensorFacts&>(tensor) = facts_of(*d->graph, *d->node);
  tensor.shape = d->x.type().shape;
  tensor.stored = stored_tensor(d->x);
  tensor.recipe = {d->plan, d->axis, {}, {}};
  if (d->scale) tensor.recipe->scale = stored_tensor(*d->scale);
  if (d->zero_point) tensor.recipe->zero_point = stored_tensor(*d->zero_point);
  if (d->group_index) tensor.recipe->group_index = stored_tensor(*d->group_index);
  if (d->codebook) {
    tensor.recipe->codebook = stored_tensor(*d->codebook);
    tensor.recipe->codebook->identity = d->node;  // the table is the operator's own
  }
  tensor.shared = may_come_again(*d->graph, *d->node);
  tensor.origin = std::move(d);
  return tensor;
}

LeftTensor OnnxFile::left_tensor(const Graph& graph, const Node& node, std::string reason) {
  LeftTensor left;
  static_cast<TensorFacts&>(left) = facts_of(graph, node);
  left.reason = std::move(reason);
  if (!resolve_constant(scopes_, graph, node.input(0), true).constant)
    left.parameters = [this, &graph, &node] { return parameters_.find(graph, node); };
  return left;
}

bool OnnxFile::may_come_again(const Graph& graph, const Node& node) const {
  const WeightOperator* op = weight_operator(node);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (op != nullptr && !is_of_weight(node, i)) continue;
    const Definition* d = scopes_.find(graph, node.inputs[i].text);
    if (d != nullptr && d->live <= 1 && !d->is_identity()) return false;
  }
  return true;
}

Status OnnxFile::expand() {
  if (expanded_) return {};
  const bool keep_unused = true;
  expanded_.emplace(*model_, scopes_, true, keep_unused);
  return expand([this](const Graph& graph, const Node& node, const ArithmeticOperator& op) {
    return any_of_codes(op, node, [&](Text name) {
      return is_moved(graph, name) ||
             resolve_constant(scopes_, graph, name, true).constant.has_value();
    });
  });
}

Status OnnxFile::expand_rest() {
  DEQUANT_CHECK(expand());
  if (std::exchange(all_expanded_, true)) return {};
  return expand([](const Graph&, const Node&, const ArithmeticOperator&) { return true; });
}

Status OnnxFile::expand(
    std::function<Result<bool>(const Graph&, const Node&, const ArithmeticOperator&)> wanted) {
  const auto done = [this](const Expanded& e) {
    for (const Node* made : e.made) operators_[made] = &e.node;
  };
  return expand_all(*model_, files_, constants_, *expanded_, {std::move(wanted), done});
}

const Node& OnnxFile::operator_of(const Node& node) const {
  const auto made = operators_.find(&node);
  return made == operators_.end() ? node : *made->second;
}

Status OnnxFile::visit(const TensorVisitor& visitor) {
  DEQUANT_CHECK(expand());
  for (Graph* graph : scopes_.graphs()) {
    for (Node& node : graph->nodes) {
      const WeightOperator* op = weight_operator(node);
      if (op == nullptr && !node.is_dequantize()) continue;
      Status status = op == nullptr ? visit_node(*graph, node, visitor)
                                    : visit_weights(*graph, node, *op, visitor);
      if (!status)
        return in(fmt::format("node {}", escaped(node.label())), std::move(status).error());
    }
  }
  return visit_moved(visitor);
}

Status OnnxFile::visit_node(Graph& graph, Node& node, const TensorVisitor& visitor) {
  DEQUANT_TRY(Decision decision, constants_.consider(graph, node));
  if (decision.dequantization) {
    // Of the equal weights of two operators convert writes one.
    if (is_made(node) && comes_again({0, *decision.dequantization})) return {};
    DenseTensor tensor =
        dense_tensor(std::make_shared<const Dequantization>(*std::move(decision.dequantization)));
    tensor.inner = only_quantizers_read(graph, node.output(0));
    return visitor.dense(tensor);
  }
  if (is_made(node)) return {};  // an activation
  const Definition* x = scopes_.find(graph, node.input(0));
  if (x != nullptr && x->node != nullptr && is_made(*x->node))
    decision.reason = computed_by(node.input(0), operator_of(*x->node));
  return visitor.left(left_tensor(graph, node, std::move(decision.reason)));
}

// Constants.

Result<std::unique_ptr<StoredReader>> OnnxFile::open(const StoredTensor& tensor, int64_t memory) {
  return open_constant(*model_, files_, constant_of(tensor), memory);
}

void OnnxFile::for_each_source(const StoredTensor& tensor, const SourceVisitor& visitor) const {
  onnx::for_each_source(constant_of(tensor), visitor);
}

/// The constant of that name in the main graph, or else in another graph.
Result<std::optional<Constant>> OnnxFile::constant(const std::string& name) const {
  Resolved main = resolve_constant(scopes_, model_->graph, name, true);
  if (main.constant) return std::move(main.constant);
  std::optional<Constant> found;
  for (const Graph* graph : scopes_.graphs()) {
    Resolved r = resolve_constant(scopes_, *graph, name, true);
    if (!r.constant) continue;
    if (found && found->identity() != r.constant->identity()) {
      return failure(ErrorCode::invalid_argument, "{}: constants of several graphs have that name",
                     escaped(name));
    }
    found = std::move(r.constant);
  }
  return found;
}

/// A tensor without a recipe; its names are not set.
DenseTensor OnnxFile::copied_tensor(std::shared_ptr<const Constant> constant) {
  DenseTensor tensor;
  tensor.stored = stored_tensor(*constant);
  tensor.shape = tensor.stored.type.shape;
  tensor.origin = std::move(constant);
  return tensor;
}

Result<std::optional<DenseTensor>> OnnxFile::stored(const std::string& name) {
  DEQUANT_TRY(auto found, constant(name));
  if (!found) return std::optional<DenseTensor>();
  if (!found->readable()) {
    return failure(ErrorCode::unsupported, "{}: data type {} is not one dequant reads",
                   escaped(name), found->data_type());
  }
  DenseTensor tensor = copied_tensor(std::make_shared<const Constant>(*std::move(found)));
  tensor.name = model_->store.find(name);
  return std::optional(std::move(tensor));
}

const Tensor* OnnxFile::tensor_of(const Graph& graph, std::string_view name) const {
  if (name.empty()) return nullptr;
  const Resolved r = resolve_constant(scopes_, graph, name, true);
  return r.constant ? r.constant->tensor : nullptr;
}

void OnnxFile::know_codes_and_zero_points() {
  if (known_) return;
  std::vector<const Tensor*>& known = known_.emplace();
  const auto add = [&](const Graph& graph, std::string_view name) {
    if (const Tensor* tensor = tensor_of(graph, name)) known.push_back(tensor);
    // Codes may be computed from stored ones: by a Transpose, a Reshape, a Slice.
    const auto computed = name.empty() ? Resolved() : constants_.resolve(graph, name);
    if (!computed || !computed->constant) return;  // a broken one fails where it is visited
    onnx::for_each_source(*computed->constant, [&](const void* identity, int64_t) {
      known.push_back(static_cast<const Tensor*>(identity));
    });
  };
  for (const Graph* graph : scopes_.graphs()) {
    for (const Node& node : graph->nodes) {
      if (node.is_dequantize()) add(*graph, node.input(0));
      if (node.is_dequantize() || node.is_quantize()) add(*graph, node.input(2));
      if (const WeightOperator* op = weight_operator(node)) {
        for (const size_t input : op->quantized) add(*graph, node.input(input));
      }
    }
  }
  for (const auto& dequantization : *moved_)
    onnx::for_each_source(dequantization->x, [&](const void* identity, int64_t) {
      known.push_back(static_cast<const Tensor*>(identity));
    });
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
}

bool OnnxFile::is_other(const Tensor& tensor) const {
  const auto element = tensor.element();
  return element && is_input(*element) && bits(*element) <= 16 &&
         !std::binary_search(known_->begin(), known_->end(), &tensor);
}

Status OnnxFile::visit_others(const OtherVisitor& visitor) {
  DEQUANT_CHECK(expand());
  DEQUANT_CHECK(plan_moved());
  know_codes_and_zero_points();
  for (const Graph* graph : scopes_.graphs()) {
    for (const Initializer& i : graph->initializers) {
      if (is_other(i.tensor)) DEQUANT_CHECK(visit_other(*graph, i.tensor.name, i.tensor, visitor));
    }
    for (const Node& node : graph->nodes) {
      if (!node.is("Constant") || node.outputs.empty()) continue;
      const Resolved r = onnx::constant_of(node);
      if (!r.constant || r.constant->tensor == nullptr || !is_other(*r.constant->tensor)) continue;
      DEQUANT_CHECK(visit_other(*graph, node.outputs[0].text, *r.constant->tensor, visitor));
    }
  }
  return {};
}

/// Opens the tensor, which checks that its bytes exist.
Status OnnxFile::visit_other(const Graph& graph, std::string_view name, const Tensor& tensor,
                             const OtherVisitor& visitor) {
  DEQUANT_TRY(const auto reader, TensorReader::open(model_->source, files_, tensor));
  const Constant constant{&tensor, {}};
  return visitor({name, name_of(graph), stored_tensor(constant), [&](const auto& visit) {
                    Readers(scopes_, graph, name).for_each([&](const Reader& r) {
                      if (is_made(r.node)) return;
                      visit({r.node.label(), r.node.op_type(), r.node.domain(), r.input});
                    });
                  }});
}

}  // namespace dequant::format::onnx
