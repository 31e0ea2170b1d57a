// Reading the structure of GraphProto, FunctionProto, NodeProto and AttributeProto.
#include "format/onnx/read_graph.h"

#include <array>
#include <bit>
#include <map>

#include "format/io/errors.h"
#include "format/onnx/fields.h"

namespace dequant::format::onnx {
namespace {

Status status_of(const Result<const Value*>& value) {
  return value ? Status() : Status(value.error());
}

class GraphReader {
 public:
  GraphReader(Model& model, StructureMemory& memory)
      : model_(model), source_(model.source), store_(model.store), memory_(memory) {}

  /// The recursion is bounded: check_message() limits the depth of messages.
  Status read_graph(const Field& field, int32_t parent, Graph& graph) {
    const int32_t frame = add_frame(field, parent);
    if (graph.frame < 0) graph.frame = frame;
    return for_each_field(source_, Message::graph, field.payload, [&](const Field& f) -> Status {
      DEQUANT_CHECK(read_graph_field(f, frame, graph));
      return check_limit(f.whole.end);
    });
  }

  /// Reads a TrainingInfoProto, whose graphs are not changed.
  Status read_training(const Field& field) {
    return for_each_field(
        source_, Message::training, field.payload, [&](const Field& graph) -> Status {
          if (graph.number != field::training::initialization &&
              graph.number != field::training::algorithm)
            return {};
          return for_each_field(
              source_, Message::graph, graph.payload, [&](const Field& f) -> Status {
                return f.number == field::graph::initializer ? refuse_external(f) : Status{};
              });
        });
  }

  Status read_function(const Field& field) {
    Graph& body = model_.functions.add(store_);
    body.is_function = true;
    memory_.add_graph();
    body.frame = add_frame(field, -1);
    // First the operator sets of the function, which may come behind its nodes in the file.
    DEQUANT_CHECK(
        for_each_field(source_, Message::function, field.payload, [&](const Field& f) -> Status {
          if (f.number != field::function::opset_import) return {};
          return read_opset(model_, f.payload, body.opsets);
        }));
    return for_each_field(source_, Message::function, field.payload, [&](const Field& f) -> Status {
      switch (f.number) {
        case field::function::name: return text(f, body.name);
        case field::function::input:
          memory_.add_definition(body);
          return text(f, body.inputs.add(store_).name);
        case field::function::output:
          memory_.add_use();
          return text(f, body.outputs.add(store_).name);
        case field::function::node: return read_node(f, body.frame, body);
        case field::function::domain: return text(f, body.domain);
        case field::function::value_info: return status_of(read_value(f, body.frame, body.values));
        case field::function::overload: return text(f, body.overload);
        default: return {};
      }
    });
  }

 private:
  Status read_graph_field(const Field& f, int32_t frame, Graph& graph) {
    switch (f.number) {
      case field::graph::node: return read_node(f, frame, graph);
      case field::graph::name: return text(f, graph.name);
      case field::graph::initializer: return read_initializer(f, frame, graph);
      case field::graph::input: {
        memory_.add_definition(graph);
        DEQUANT_TRY(const Value* value, read_value(f, frame, graph.inputs));
        return check_named(value->name, "input", f);
      }
      case field::graph::output:
        memory_.add_use();
        return status_of(read_value(f, frame, graph.outputs));
      case field::graph::value_info: return status_of(read_value(f, frame, graph.values));
      case field::graph::quantization_annotation: return read_annotation(f, frame, graph);
      case field::graph::sparse_initializer: return read_sparse(f, &graph);
      default: return {};
    }
  }

  Status read_initializer(const Field& f, int32_t frame, Graph& graph) {
    memory_.add_definition(graph);
    Tensor& tensor = graph.initializers.add(store_).tensor;
    tensor.frame = add_frame(f, frame);
    DEQUANT_CHECK(read(f.payload, tensor));
    return check_named(tensor.name, "initializer", f);
  }

  Status read(Span message, Tensor& tensor) {
    DEQUANT_TRY(const int64_t data, read_tensor(source_, message, store_, tensor));
    memory_.add_data(data);
    return {};
  }

  Status check_named(std::string_view name, const char* what, const Field& f) const {
    if (!name.empty()) return {};
    return failure(ErrorCode::malformed, "{} at byte {} has no name", what, f.whole.begin);
  }

  Status read_node(const Field& field, int32_t graph_frame, Graph& graph) {
    Node& node = graph.nodes.add(store_);
    node.frame = add_frame(field, graph_frame);
    memory_.add_node();
    // Nodes of inner graphs append theirs behind these, and remove them again.
    const size_t input = inputs_.size();
    const size_t output = outputs_.size();
    const size_t attribute = attributes_.size();
    Operator op;
    DEQUANT_CHECK(
        for_each_field(source_, Message::node, field.payload, [&](const Field& f) -> Status {
          switch (f.number) {
            case field::node::input: return read_input(f);
            case field::node::output: return read_name(f, outputs_);
            case field::node::name: return text(f, node.name);
            case field::node::op_type: return text(f, op.type);
            case field::node::attribute: return read_attribute(f, node, graph);
            case field::node::domain: return text(f, op.domain);
            case field::node::overload: return text(f, op.overload);
            default: return {};
          }
        }));
    node.op = &shared(op);
    for (size_t i = output; i < outputs_.size(); ++i) memory_.add_definition(graph);
    node.inputs = take(inputs_, input);
    node.outputs = take(outputs_, output);
    node.attributes = take(attributes_, attribute);
    return check_named(op.type, "operator of the node", field);
  }

  /// Moves the elements from `begin` on to the store.
  template <class T>
  std::span<T> take(std::vector<T>& from, size_t begin) {
    const auto taken = store_.array(std::span<const T>(from).subspan(begin));
    from.resize(begin);
    return taken;
  }

  Status read_input(const Field& f) {
    memory_.add_use();
    return read_name(f, inputs_);
  }

  Status read_name(const Field& f, std::vector<Name>& names) {
    DEQUANT_TRY(const Text name, text(f));
    names.push_back({name});
    return check_limit(f.whole.end);
  }

  const Operator& shared(const Operator& op) {
    const auto [known, is_new] =
        operators_.try_emplace({op.type.entry(), op.domain.entry(), op.overload.entry()});
    if (is_new) {
      known->second = &(store_.create<Operator>() = op);
      memory_.add_operator();
    }
    return *known->second;
  }

  Status read_attribute(const Field& field, Node& node, Graph& graph) {
    Attribute a;
    std::vector<float> floats;
    int32_t frame = -1;  // only these attributes have a message that an Edit may change
    const auto frame_of = [&] { return frame < 0 ? frame = add_frame(field, node.frame) : frame; };
    DEQUANT_CHECK(
        for_each_field(source_, Message::attribute, field.payload, [&](const Field& f) -> Status {
          switch (f.number) {
            case field::attribute::name: return text(f, a.name);
            case field::attribute::f:
              floats = {std::bit_cast<float>(static_cast<uint32_t>(f.value))};
              return {};
            case field::attribute::i: a.i = static_cast<int64_t>(f.value); return {};
            case field::attribute::t: return read_attribute_tensor(f, frame_of(), a);
            case field::attribute::g:
            case field::attribute::graphs: {
              const bool is_new =
                  f.number == field::attribute::graphs || a.graphs.empty();  // else protobuf merges
              Graph& inner = is_new ? add_subgraph(node, graph, a) : a.graphs.back();
              DEQUANT_CHECK(check_limit(f.payload.begin));
              return read_graph(f, frame_of(), inner);
            }
            case field::attribute::floats: return read_floats(f, floats);
            case field::attribute::tensors: return refuse_external(f);
            case field::attribute::type: a.type = static_cast<int32_t>(f.value); return {};
            case field::attribute::ref_attr_name: return text(f, a.reference);
            case field::attribute::sparse_tensor:
            case field::attribute::sparse_tensors: return read_sparse(f, nullptr);
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
    memory_.add_graph();
    return inner;
  }

  Status read_attribute_tensor(const Field& f, int32_t frame, Attribute& a) {
    if (a.tensor != nullptr) {  // protobuf would merge both; no known writer splits a tensor
      return failure(ErrorCode::unsupported, "attribute {} has its tensor in two parts",
                     escaped(a.name));
    }
    a.tensor = &store_.create<Tensor>();
    a.tensor->frame = add_frame(f, frame);
    return read(f.payload, *a.tensor);
  }

  /// Refuses external data in tensors that are copied unchanged: the output does not have these
  /// files.
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

  /// Reads ValueInfoProto.type.tensor_type.elem_type and the range of its field.
  Result<const Value*> read_value(const Field& field, int32_t frame, List<Value>& values) {
    Value& value = values.add(store_);
    value.whole = ShortSpan(field.whole);
    value.frame = frame;
    DEQUANT_CHECK(
        for_each_field(source_, Message::value, field.payload, [&](const Field& f) -> Status {
          if (f.number == field::value::name) return text(f, value.name);
          if (f.number != field::value::type) return {};
          return for_each_field(
              source_, Message::type, f.payload, [&](const Field& type) -> Status {
                if (type.number != field::type::tensor_type) return {};
                return for_each_field(source_, Message::tensor_type, type.payload,
                                      [&](const Field& t) -> Status {
                                        if (t.number != field::tensor_type::elem_type) return {};
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
          if (f.number == field::annotation::tensor_name) return text(f, a.tensor);
          if (f.number != field::annotation::quant_parameter_tensor_names) return {};
          return for_each_field(
              source_, Message::entry, f.payload, [&](const Field& entry) -> Status {
                return entry.number == field::entry::value ? read_input(entry) : Status{};
              });
        }));
    a.parameters = take(inputs_, begin);
    return {};
  }

  /// Reads a sparse tensor; the name of a sparse initializer is added to the graph.
  Status read_sparse(const Field& field, Graph* graph) {
    return for_each_field(source_, Message::sparse_tensor, field.payload,
                          [&](const Field& f) -> Status {
                            if (f.number == field::sparse_tensor::indices)
                              return refuse_external(f);
                            if (f.number != field::sparse_tensor::values) return {};
                            Text name;
                            DEQUANT_CHECK(refuse_external(f, &name));
                            if (graph == nullptr) return {};
                            memory_.add_definition(*graph);
                            graph->sparse_initializers.add(store_).name = name;
                            return {};
                          });
  }

  /// Fails with limit when the structure up to this byte of the file needs too much memory.
  Status check_limit(int64_t at) const {
    // Temporary lists of the nodes that are being read.
    const size_t names = (inputs_.capacity() + outputs_.capacity()) * sizeof(Name);
    const size_t lists = names + attributes_.capacity() * sizeof(Attribute);
    return memory_.check(at, static_cast<int64_t>(lists * 3 / 2));
  }

  Result<Text> text(const Field& f) { return read_text(source_, f.payload, store_); }

  Status text(const Field& f, Text& out) {
    DEQUANT_TRY(out, text(f));
    return {};
  }

  int32_t add_frame(const Field& f, int32_t parent) {
    model_.frames.emplace_back(f.number, f.whole, f.payload, parent);
    memory_.add_frame();
    return static_cast<int32_t>(model_.frames.size()) - 1;
  }

  Model& model_;
  Source& source_;
  Store& store_;
  StructureMemory& memory_;
  // Lists of the node that is being read, behind those of the nodes around it.
  std::vector<Name> inputs_;
  std::vector<Name> outputs_;
  std::vector<Attribute> attributes_;
  using OperatorKey = std::array<const Text::Entry*, 3>;
  std::map<OperatorKey, const Operator*> operators_;
};

}  // namespace

Status read_opset(Model& model, Span message, Opsets& opsets) {
  Text domain;
  int64_t version = 0;
  DEQUANT_CHECK(
      for_each_field(model.source, Message::opset, message, [&](const Field& f) -> Status {
        if (f.number == field::opset::version) version = static_cast<int64_t>(f.value);
        if (f.number == field::opset::domain) {
          DEQUANT_TRY(domain, read_text(model.source, f.payload, model.store));
        }
        return {};
      }));
  std::optional<int64_t>* slot = domain.empty() || domain == "ai.onnx" ? &opsets.onnx
                                 : domain == "com.microsoft"           ? &opsets.microsoft
                                                                       : nullptr;
  if (slot == nullptr) return {};
  if (*slot && **slot != version) {
    model.warnings.add(fmt::format("opset_import: {} twice, versions {} and {}: the last counts",
                                   slot == &opsets.onnx ? "ai.onnx" : escaped(domain), **slot,
                                   version));
  }
  *slot = version;
  return {};
}

Status read_bodies(Model& model, StructureMemory& memory, const Bodies& bodies) {
  GraphReader reader(model, memory);
  for (const Field& f : bodies.training) DEQUANT_CHECK(reader.read_training(f));
  for (const Field& f : bodies.graphs) DEQUANT_CHECK(reader.read_graph(f, -1, model.graph));
  for (const Field& f : bodies.functions) DEQUANT_CHECK(reader.read_function(f));
  return {};
}

}  // namespace dequant::format::onnx
