// ModelProto, GraphProto, NodeProto, AttributeProto and FunctionProto: structure only.
#include <array>
#include <bit>
#include <map>

#include "format/io/errors.h"
#include "format/io/look.h"
#include "format/onnx/check_message.h"
#include "format/onnx/fields.h"
#include "format/onnx/scope.h"

namespace dequant::format::onnx {
namespace {

/// What the process takes besides the structure of a model.
constexpr int64_t kProcess = int64_t{14} << 20;
constexpr int64_t kLeast = (int64_t{32} << 20) - kProcess;
constexpr int64_t kTimes = 8;
// What Scopes takes for each, with the entry of a table for what inner graphs define.
constexpr int64_t kNodeLater = sizeof(Node*);
constexpr int64_t kDefinitionLater = sizeof(Definition);
constexpr int64_t kInnerDefinitionLater = kDefinitionLater + 64;
constexpr int64_t kUseLater = sizeof(Use);
constexpr int64_t kOperatorLater = 96;
constexpr int64_t kFunctionLater = 200;
constexpr int64_t kGraphLater = 3 * sizeof(Graph*);
/// The most that places of a file are counted to; protobuf reads no more than half of it.
constexpr int64_t kLargestFile = UINT32_MAX;

Status status_of(const Result<const Value*>& value) {
  return value ? Status() : Status(value.error());
}

class Reader {
 public:
  Reader(Model& model, StructureLimit limit)
      : model_(model), source_(model.source), store_(model.store), limit_(limit) {}

  Status read() {
    if (source_.file().size() > kLargestFile) {
      return failure(ErrorCode::limit, "it has {} bytes, more than the {} that are read",
                     source_.file().size(), kLargestFile);
    }
    bool has_graph = false;
    std::vector<Field> functions;
    // Operator sets may stand behind the graph that needs them: structure first, then the bodies.
    std::vector<Field> graphs;
    DEQUANT_CHECK(
        for_each_field(source_, Message::model, source_.all(), [&](const Field& f) -> Status {
          switch (f.number) {
            case 1: return number(f, model_.ir_version);
            case 7:
              later_ += static_cast<int64_t>(2 * sizeof(Field));
              DEQUANT_CHECK(check_limit(f.whole.begin));
              graphs.push_back(f);
              has_graph = true;
              return {};
            case 8: return read_opset(f.payload, model_.opsets);
            case 20: model_.has_training = true; return read_training(f);
            case 25:
              later_ += static_cast<int64_t>(2 * sizeof(Field)) + kFunctionLater;
              DEQUANT_CHECK(check_limit(f.whole.end));
              functions.push_back(f);
              return {};
            default: return {};
          }
        }));
    if (!has_graph) return failure(ErrorCode::malformed, "it has no graph");
    model_.graph.opsets = model_.opsets;
    for (const Field& f : graphs) DEQUANT_CHECK(read_graph(f, -1, model_.graph));
    for (const Field& f : functions) DEQUANT_CHECK(read_function(f));
    const int64_t most = allowed(source_.file().size() - data_bytes_);
    model_.room = most - store_.bytes() - later_;
    model_.memory_limit = most + kProcess;
    return {};
  }

 private:
  Status number(const Field& f, int64_t& out) const {
    out = static_cast<int64_t>(f.value);
    return {};
  }

  int64_t allowed(int64_t structure) const {
    return std::max(kLeast + kTimes * structure, limit_.memory - kProcess);
  }

  /// Fails when what was read up to a place of the file takes more than its bytes allow.
  Status check_limit(int64_t at) const {
    const int64_t structure = at - data_bytes_;
    if (store_.bytes() + later_ + scratch() <= allowed(structure)) return {};
    return failure(
        ErrorCode::limit,
        "the structure takes more than {} MiB of memory at byte {}, the most for {} bytes "
        "of it; mem allows more",
        (allowed(structure) + kProcess) >> 20, at, structure);
  }

  /// What the lists of the nodes that are being read take, while they grow.
  int64_t scratch() const {
    const size_t names = (inputs_.capacity() + outputs_.capacity()) * sizeof(Name);
    return static_cast<int64_t>((names + attributes_.capacity() * sizeof(Attribute)) * 3 / 2);
  }

  Result<Text> text(const Field& f) { return read_text(source_, f.payload, store_); }

  Status text(const Field& f, Text& out) {
    DEQUANT_TRY(out, text(f));
    return {};
  }

  int32_t add_frame(const Field& f, int32_t parent) {
    model_.frames.emplace_back(f.number, f.whole, f.payload, parent);
    later_ += static_cast<int64_t>(sizeof(Frame));
    return static_cast<int32_t>(model_.frames.size()) - 1;
  }

  /// Notes that a graph defines a name.
  void add_definition(const Graph& graph) {
    later_ += &graph == &model_.graph ? kDefinitionLater : kInnerDefinitionLater;
  }

  Status read_opset(Span message, Opsets& opsets) {
    Text domain;
    int64_t version = 0;
    DEQUANT_CHECK(for_each_field(source_, Message::opset, message, [&](const Field& f) -> Status {
      if (f.number == 1) return text(f, domain);
      return f.number == 2 ? number(f, version) : Status{};
    }));
    std::optional<int64_t>* slot = domain.empty() || domain == "ai.onnx" ? &opsets.onnx
                                   : domain == "com.microsoft"           ? &opsets.microsoft
                                                                         : nullptr;
    if (slot == nullptr) return {};
    if (*slot && **slot != version) {
      model_.warnings.add(fmt::format("opset_import: {} twice, versions {} and {}: the last counts",
                                      slot == &opsets.onnx ? "ai.onnx" : escaped(domain), **slot,
                                      version));
    }
    *slot = version;
    return {};
  }

  /// Graphs within graphs are no deeper than check_message() lets pass.
  Status read_graph(const Field& field, int32_t parent, Graph& graph) {
    const int32_t frame = add_frame(field, parent);
    if (graph.frame < 0) graph.frame = frame;
    return for_each_field(source_, Message::graph, field.payload, [&](const Field& f) -> Status {
      DEQUANT_CHECK(read_graph_field(f, frame, graph));
      return check_limit(f.whole.end);
    });
  }

  Status read_graph_field(const Field& f, int32_t frame, Graph& graph) {
    switch (f.number) {
      case 1: return read_node(f, frame, graph);
      case 2: return text(f, graph.name);
      case 5: return read_initializer(f, frame, graph);
      case 11: {
        add_definition(graph);
        DEQUANT_TRY(const Value* value, read_value(f, frame, graph.inputs));
        return check_named(value->name, "input", f);
      }
      case 12: later_ += kUseLater; return status_of(read_value(f, frame, graph.outputs));
      case 13: return status_of(read_value(f, frame, graph.values));
      case 14: return read_annotation(f, frame, graph);
      case 15: return read_sparse(f, &graph);
      default: return {};
    }
  }

  Status read_initializer(const Field& f, int32_t frame, Graph& graph) {
    add_definition(graph);
    Tensor& tensor = graph.initializers.add(store_).tensor;
    tensor.frame = add_frame(f, frame);
    DEQUANT_CHECK(read(f.payload, tensor));
    return check_named(tensor.name, "initializer", f);
  }

  Status read(Span message, Tensor& tensor) {
    DEQUANT_TRY(const int64_t data, read_tensor(source_, message, store_, tensor));
    data_bytes_ += data;
    return {};
  }

  Status check_named(std::string_view name, const char* what, const Field& f) const {
    if (!name.empty()) return {};
    return failure(ErrorCode::malformed, "{} at byte {} has no name", what, f.whole.begin);
  }

  Status read_node(const Field& field, int32_t graph_frame, Graph& graph) {
    Node& node = graph.nodes.add(store_);
    node.frame = add_frame(field, graph_frame);
    later_ += kNodeLater;
    // Nodes of inner graphs put theirs behind these, and take them away again.
    const size_t input = inputs_.size();
    const size_t output = outputs_.size();
    const size_t attribute = attributes_.size();
    Operator op;
    DEQUANT_CHECK(
        for_each_field(source_, Message::node, field.payload, [&](const Field& f) -> Status {
          switch (f.number) {
            case 1: return read_name(f, kUseLater, inputs_);
            case 2: return read_name(f, 0, outputs_);
            case 3: return text(f, node.name);
            case 4: return text(f, op.type);
            case 5: return read_attribute(f, node, graph);
            case 7: return text(f, op.domain);
            case 8: return text(f, op.overload);
            default: return {};
          }
        }));
    node.op = &shared(op);
    for (size_t i = output; i < outputs_.size(); ++i) add_definition(graph);
    node.inputs = take(inputs_, input);
    node.outputs = take(outputs_, output);
    node.attributes = take(attributes_, attribute);
    return check_named(op.type, "operator of the node", field);
  }

  /// The elements from `begin` on, in the store.
  template <class T>
  std::span<T> take(std::vector<T>& from, size_t begin) {
    const auto taken = store_.array(std::span<const T>(from).subspan(begin));
    from.resize(begin);
    return taken;
  }

  Status read_name(const Field& f, int64_t later, std::vector<Name>& names) {
    DEQUANT_TRY(const Text name, text(f));
    names.push_back({name});
    later_ += later;
    return check_limit(f.whole.end);
  }

  const Operator& shared(const Operator& op) {
    const auto [known, is_new] =
        operators_.try_emplace({op.type.entry(), op.domain.entry(), op.overload.entry()});
    if (is_new) {
      known->second = &(store_.create<Operator>() = op);
      later_ += kOperatorLater;
    }
    return *known->second;
  }

  Status read_attribute(const Field& field, Node& node, Graph& graph) {
    Attribute a;
    std::vector<float> floats;
    int32_t frame = -1;  // only those attributes have one in which something may change
    const auto frame_of = [&] { return frame < 0 ? frame = add_frame(field, node.frame) : frame; };
    DEQUANT_CHECK(
        for_each_field(source_, Message::attribute, field.payload, [&](const Field& f) -> Status {
          switch (f.number) {
            case 1: return text(f, a.name);
            case 2: floats = {std::bit_cast<float>(static_cast<uint32_t>(f.value))}; return {};
            case 3: return number(f, a.i);
            case 5: return read_attribute_tensor(f, frame_of(), a);
            case 6:
            case 11: {
              const bool is_new = f.number == 11 || a.graphs.empty();  // else both are one
              Graph& inner = is_new ? add_subgraph(node, graph, a) : a.graphs.back();
              DEQUANT_CHECK(check_limit(f.payload.begin));
              return read_graph(f, frame_of(), inner);
            }
            case 7: return read_floats(f, floats);
            case 10: return refuse_external(f);
            case 20: {
              a.type = static_cast<int32_t>(f.value);
              return {};
            }
            case 21: return text(f, a.reference);
            case 22:
            case 23: return read_sparse(f, nullptr);
            default: return {};
          }
        }));
    a.floats = store_.array(std::span<const float>(floats));
    attributes_.push_back(a);
    DEQUANT_CHECK(check_limit(field.whole.end));
    return check_named(a.name, "attribute", field);
  }

  Graph& add_subgraph(Node& node, Graph& graph, Attribute& a) {
    Graph& inner = a.graphs.add(store_);
    inner.outer = &graph;
    inner.owner = &node;
    inner.opsets = graph.opsets;
    later_ += kGraphLater;
    return inner;
  }

  Status read_attribute_tensor(const Field& f, int32_t frame, Attribute& a) {
    if (a.tensor != nullptr) {  // protobuf would merge the two; no writer splits one
      return failure(ErrorCode::unsupported, "attribute {} has its tensor in two parts",
                     escaped(a.name));
    }
    a.tensor = &store_.create<Tensor>();
    a.tensor->frame = add_frame(f, frame);
    return read(f.payload, *a.tensor);
  }

  /// For tensors that stay as they are: they must not refer to a file that the output has no more.
  Status refuse_external(const Field& f, Text* name = nullptr) {
    Tensor tensor;
    DEQUANT_CHECK(read(f.payload, tensor));
    if (tensor.external != nullptr) {
      return failure(ErrorCode::unsupported,
                     "tensor {} has external data, in a sparse tensor, a list or a training graph",
                     escaped(tensor.name));
    }
    if (name != nullptr) *name = tensor.name;
    return {};
  }

  Status read_floats(const Field& f, std::vector<float>& floats) {
    if (f.wire == Wire::fixed32) {
      floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(f.value)));
      return {};
    }
    const size_t before = floats.size();
    floats.resize(before + static_cast<size_t>(f.payload.size()) / 4);
    return source_.file().read(f.payload.begin,
                               std::as_writable_bytes(std::span(floats).subspan(before)));
  }

  /// ValueInfoProto.type.tensor_type.elem_type, and where it stands.
  Result<const Value*> read_value(const Field& field, int32_t frame, List<Value>& values) {
    Value& value = values.add(store_);
    value.whole = ShortSpan(field.whole);
    value.frame = frame;
    DEQUANT_CHECK(
        for_each_field(source_, Message::value, field.payload, [&](const Field& f) -> Status {
          if (f.number == 1) return text(f, value.name);
          if (f.number != 2) return {};
          return for_each_field(
              source_, Message::type, f.payload, [&](const Field& type) -> Status {
                if (type.number != 1) return {};
                return for_each_field(source_, Message::tensor_type, type.payload,
                                      [&](const Field& t) -> Status {
                                        if (t.number != 1) return {};
                                        value.elem_type = static_cast<int32_t>(t.value);
                                        value.elem_type_field = ShortSpan(t.whole);
                                        return {};
                                      });
              });
        }));
    return &value;
  }

  Status read_annotation(const Field& field, int32_t frame, Graph& graph) {
    Annotation& a = graph.annotations.add(store_);
    a.whole = ShortSpan(field.whole);
    a.frame = frame;
    const size_t begin = inputs_.size();
    DEQUANT_CHECK(
        for_each_field(source_, Message::annotation, field.payload, [&](const Field& f) -> Status {
          if (f.number == 1) return text(f, a.tensor);
          if (f.number != 2) return {};
          return for_each_field(
              source_, Message::entry, f.payload, [&](const Field& entry) -> Status {
                return entry.number == 2 ? read_name(entry, kUseLater, inputs_) : Status{};
              });
        }));
    a.parameters = take(inputs_, begin);
    return {};
  }

  /// A sparse tensor; of an initializer, the name goes to the graph.
  Status read_sparse(const Field& field, Graph* graph) {
    return for_each_field(source_, Message::sparse_tensor, field.payload,
                          [&](const Field& f) -> Status {
                            if (f.number == 2) return refuse_external(f);
                            if (f.number != 1) return {};
                            Text name;
                            DEQUANT_CHECK(refuse_external(f, &name));
                            if (graph == nullptr) return {};
                            add_definition(*graph);
                            graph->sparse_initializers.add(store_).name = name;
                            return {};
                          });
  }

  /// TrainingInfoProto: its graphs stay as they are.
  Status read_training(const Field& field) {
    return for_each_field(
        source_, Message::training, field.payload, [&](const Field& graph) -> Status {
          if (graph.number != 1 && graph.number != 2) return {};
          return for_each_field(source_, Message::graph, graph.payload,
                                [&](const Field& f) -> Status {
                                  return f.number == 5 ? refuse_external(f) : Status{};
                                });
        });
  }

  Status read_function(const Field& field) {
    Graph& body = model_.functions.add(store_);
    body.is_function = true;
    later_ += kGraphLater;
    body.frame = add_frame(field, -1);
    // The body's operator sets first: they may stand behind its nodes.
    DEQUANT_CHECK(
        for_each_field(source_, Message::function, field.payload, [&](const Field& f) -> Status {
          if (f.number != 9) return {};
          return read_opset(f.payload, body.opsets);
        }));
    return for_each_field(source_, Message::function, field.payload, [&](const Field& f) -> Status {
      switch (f.number) {
        case 1: return text(f, body.name);
        case 4: add_definition(body); return text(f, body.inputs.add(store_).name);
        case 5: later_ += kUseLater; return text(f, body.outputs.add(store_).name);
        case 7: return read_node(f, body.frame, body);
        case 10: return text(f, body.domain);
        case 12: return status_of(read_value(f, body.frame, body.values));
        case 13: return text(f, body.overload);
        default: return {};
      }
    });
  }

  Model& model_;
  Source& source_;
  Store& store_;
  const StructureLimit limit_;
  int64_t data_bytes_ = 0;  ///< of tensors, so far
  int64_t later_ = 0;       ///< bytes that all so far will take besides the store
  // Of the node that is being read, behind those of the nodes around it.
  std::vector<Name> inputs_;
  std::vector<Name> outputs_;
  std::vector<Attribute> attributes_;
  using OperatorKey = std::array<const Text::Entry*, 3>;
  std::map<OperatorKey, const Operator*> operators_;
};

/// Why a file was not read as a model: what else it looks like, where that is known.
Error explained(const std::string& path, const InputFile& file, Error error) {
  if (error.code == ErrorCode::malformed || error.code == ErrorCode::limit) {
    if (const auto look = look_of(file)) {
      return failure(ErrorCode::unsupported, "{} looks like {}; dequant reads ONNX models{}",
                     escaped(path), look->what, look->advice);
    }
  }
  if (error.code == ErrorCode::malformed) {
    error = file.size() == 0 ? failure(ErrorCode::malformed, "it is empty")
                             : in("no ONNX model, or a damaged one", std::move(error));
  }
  return in(escaped(path), std::move(error));
}

}  // namespace

const Attribute* Node::attribute(std::string_view wanted) const {
  for (const Attribute& a : attributes) {
    if (a.name == wanted) return &a;
  }
  return nullptr;
}

Status Model::take(int64_t bytes) {
  room -= bytes;
  if (room >= 0) return {};
  return failure(
      ErrorCode::limit,
      "{}: the structure and the decisions on it take more than {} MiB of memory, the most "
      "for a structure of this size; mem allows more",
      escaped(path), memory_limit >> 20);
}

Result<Text> read_text(Source& source, Span span, Store& store) {
  constexpr int64_t kShort = 64 << 10;
  if (span.size() <= kShort) {
    const auto size = static_cast<size_t>(span.size());
    DEQUANT_TRY(const auto bytes, source.peek(span.begin, size));
    return store.text({bytes.data(), size});
  }
  DEQUANT_TRY(const std::string text, source.text(span));
  return store.text(text);
}

Result<std::unique_ptr<Model>> read_model(const std::string& path, StructureLimit limit) {
  DEQUANT_TRY(InputFile file, InputFile::open(path));
  auto model = std::make_unique<Model>(Source(std::move(file)));
  model->path = path;
  auto status = check_message(model->source);
  if (status) status = Reader(*model, limit).read();
  if (!status) {
    return explained(path, model->source.file(), std::move(status).error());
  }
  return model;
}

}  // namespace dequant::format::onnx
