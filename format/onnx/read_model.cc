// ModelProto, GraphProto, NodeProto, AttributeProto and FunctionProto: structure only.
#include <bit>

#include "format/io/errors.h"
#include "format/io/look.h"
#include "format/onnx/check_message.h"
#include "format/onnx/model.h"

namespace dequant::format::onnx {
namespace {

constexpr int kDeepestGraph = 64;
constexpr size_t kMostNodes = size_t{1} << 22;
constexpr size_t kMostFunctions = 10'000;
/// Each takes over a KiB, and two bytes of a file make one.
constexpr size_t kMostGraphs = size_t{1} << 15;

/// Fields of a message one after another: `visit(field)` for each, stopping at the first error.
template <class Visit>
Status for_each_field(Source& source, Span message, Visit&& visit) {
  Cursor cursor(source, message);
  for (Field f;;) {
    DEQUANT_TRY(const bool more, cursor.next(f));
    if (!more) return {};
    DEQUANT_CHECK(visit(f));
  }
}

class Reader {
 public:
  explicit Reader(Model& model) : model_(model), source_(model.source) {}

  Status read() {
    bool has_graph = false;
    std::vector<Field> functions;
    // Operator sets may stand behind the graph that needs them: structure first, then the bodies.
    std::vector<Field> graphs;
    DEQUANT_CHECK(for_each_field(source_, source_.all(), [&](const Field& f) -> Status {
      switch (f.number) {
        case 1: return number(f, model_.ir_version);
        case 7:
          DEQUANT_CHECK(count_graph());
          graphs.push_back(f);
          has_graph = true;
          return expect_bytes(f, "graph");
        case 8:
          DEQUANT_CHECK(expect_bytes(f, "opset_import"));
          return read_opset(f.payload, model_.opsets);
        case 20: model_.has_training = true; return read_training(f);
        case 25:
          if (functions.size() == kMostFunctions) {
            return failure(ErrorCode::limit, "more than {} functions", kMostFunctions);
          }
          functions.push_back(f);
          return expect_bytes(f, "functions");
        default: return {};
      }
    }));
    if (!has_graph) return failure(ErrorCode::malformed, "it has no graph");
    model_.graph.opsets = model_.opsets;
    for (const Field& f : graphs) DEQUANT_CHECK(read_graph(f, -1, model_.graph, 0));
    for (const Field& f : functions) DEQUANT_CHECK(read_function(f));
    return {};
  }

 private:
  Status expect_bytes(const Field& f, const char* what) const {
    if (f.wire == Wire::bytes) return {};
    return failure(ErrorCode::malformed, "field {} ({}) at byte {} has the wrong wire type",
                   f.number, what, f.whole.begin);
  }

  Status number(const Field& f, int64_t& out) const {
    DEQUANT_CHECK(expect(f, Wire::varint));
    out = static_cast<int64_t>(f.value);
    return {};
  }

  Status count_graph() {
    if (++graphs_ <= kMostGraphs) return {};
    return failure(ErrorCode::limit, "more than {} graphs", kMostGraphs);
  }

  Status text(const Field& f, std::string& out) {
    DEQUANT_CHECK(expect_bytes(f, "a text"));
    DEQUANT_TRY(out, source_.text(f.payload));
    return {};
  }

  int add_frame(const Field& f, int parent) {
    model_.frames.push_back({f.number, f.whole, f.payload, parent});
    return static_cast<int>(model_.frames.size()) - 1;
  }

  Status read_opset(Span message, Opsets& opsets) {
    std::string domain;
    int64_t version = 0;
    DEQUANT_CHECK(for_each_field(source_, message, [&](const Field& f) -> Status {
      if (f.number == 1) return text(f, domain);
      return f.number == 2 ? number(f, version) : Status{};
    }));
    std::optional<int64_t>* slot = domain.empty() || domain == "ai.onnx" ? &opsets.onnx
                                   : domain == "com.microsoft"           ? &opsets.microsoft
                                                                         : nullptr;
    if (slot == nullptr) return {};
    if (*slot && **slot != version) {
      model_.warnings.add(fmt::format("opset_import: {} twice, versions {} and {}: the last counts",
                                      slot == &opsets.onnx ? "ai.onnx" : domain, **slot, version));
    }
    *slot = version;
    return {};
  }

  Status read_graph(const Field& field, int parent, Graph& graph, int depth) {
    if (depth > kDeepestGraph) {
      return failure(ErrorCode::limit, "graphs nested more than {} deep", kDeepestGraph);
    }
    const int frame = add_frame(field, parent);
    if (graph.frame < 0) graph.frame = frame;
    return for_each_field(source_, field.payload, [&](const Field& f) -> Status {
      switch (f.number) {
        case 1: return read_node(f, frame, graph, depth);
        case 2: return text(f, graph.name);
        case 5: return read_initializer(f, frame, graph);
        case 11:
          DEQUANT_CHECK(read_value(f, frame, graph.inputs));
          return check_named(graph.inputs.back().name, "input", f);
        case 12: return read_value(f, frame, graph.outputs);
        case 13: return read_value(f, frame, graph.values);
        case 14: return read_annotation(f, frame, graph);
        case 15: return read_sparse(f, &graph.sparse_initializers);
        default: return {};
      }
    });
  }

  Status read_initializer(const Field& f, int frame, Graph& graph) {
    DEQUANT_CHECK(expect_bytes(f, "initializer"));
    Initializer& initializer = graph.initializers.emplace_back();
    initializer.whole = f.whole;
    initializer.tensor.frame = add_frame(f, frame);
    DEQUANT_CHECK(read_tensor(source_, f.payload, initializer.tensor));
    return check_named(initializer.tensor.name, "initializer", f);
  }

  Status check_named(const std::string& name, const char* what, const Field& f) const {
    if (!name.empty()) return {};
    return failure(ErrorCode::malformed, "{} at byte {} has no name", what, f.whole.begin);
  }

  Status read_node(const Field& field, int graph_frame, Graph& graph, int depth) {
    DEQUANT_CHECK(expect_bytes(field, "node"));
    if (++nodes_ > kMostNodes) return failure(ErrorCode::limit, "more than {} nodes", kMostNodes);
    Node& node = graph.nodes.emplace_back();
    node.whole = field.whole;
    node.frame = add_frame(field, graph_frame);
    DEQUANT_CHECK(for_each_field(source_, field.payload, [&](const Field& f) -> Status {
      switch (f.number) {
        case 1: return text(f, node.inputs.emplace_back(Name{{}, f.whole}).text);
        case 2: return text(f, node.outputs.emplace_back(Name{{}, f.whole}).text);
        case 3: return text(f, node.name);
        case 4: return text(f, node.op_type);
        case 5:
          DEQUANT_CHECK(expect_bytes(f, "attribute"));
          return read_attribute(f, node, graph, depth);
        case 7: return text(f, node.domain);
        case 8: return text(f, node.overload);
        default: return {};
      }
    }));
    return check_named(node.op_type, "operator of the node", field);
  }

  Status read_attribute(const Field& field, Node& node, Graph& graph, int depth) {
    Attribute& a = node.attributes.emplace_back();
    const int frame = add_frame(field, node.frame);
    const auto subgraph = [&](const Field& f, bool merge) -> Status {
      DEQUANT_CHECK(expect_bytes(f, "graph"));
      DEQUANT_CHECK(count_graph());
      if (!merge || a.graphs.empty()) {
        a.graphs.push_back(std::make_unique<Graph>());
        a.graphs.back()->outer = &graph;
        a.graphs.back()->owner = &node;
        a.graphs.back()->opsets = graph.opsets;
      }
      return read_graph(f, frame, *a.graphs.back(), depth + 1);
    };
    DEQUANT_CHECK(for_each_field(source_, field.payload, [&](const Field& f) -> Status {
      switch (f.number) {
        case 1: return text(f, a.name);
        case 2:
          DEQUANT_CHECK(expect(f, Wire::fixed32));
          a.floats = {std::bit_cast<float>(static_cast<uint32_t>(f.value))};
          return {};
        case 3: return number(f, a.i);
        case 5: return read_attribute_tensor(f, frame, a);
        case 6: return subgraph(f, true);
        case 7: return read_floats(f, a);
        case 10: return refuse_external(f);
        case 11: return subgraph(f, false);
        case 20: return number(f, a.type);
        case 21: return text(f, a.reference);
        case 22:
        case 23: return read_sparse(f, nullptr);
        default: return {};
      }
    }));
    return check_named(a.name, "attribute", field);
  }

  Status read_attribute_tensor(const Field& f, int frame, Attribute& a) {
    DEQUANT_CHECK(expect_bytes(f, "tensor"));
    if (a.tensor) {  // protobuf would merge the two; no writer splits one
      return failure(ErrorCode::unsupported, "attribute {} has its tensor in two parts",
                     escaped(a.name));
    }
    a.tensor = std::make_unique<Tensor>();
    a.tensor->frame = add_frame(f, frame);
    return read_tensor(source_, f.payload, *a.tensor);
  }

  /// For tensors that stay as they are: they must not refer to a file that the output has no more.
  Status refuse_external(const Field& f, std::string* name = nullptr) {
    DEQUANT_CHECK(expect_bytes(f, "tensor"));
    Tensor tensor;
    DEQUANT_CHECK(read_tensor(source_, f.payload, tensor));
    if (tensor.external) {
      return failure(ErrorCode::unsupported,
                     "tensor {} has external data, in a sparse tensor, a list or a training graph",
                     escaped(tensor.name));
    }
    if (name != nullptr) *name = std::move(tensor.name);
    return {};
  }

  Status read_floats(const Field& f, Attribute& a) {
    if (f.wire == Wire::fixed32) {
      a.floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(f.value)));
      return {};
    }
    DEQUANT_CHECK(expect_bytes(f, "floats"));
    if (f.payload.size() % 4 != 0) return failure(ErrorCode::malformed, "floats of odd length");
    const size_t before = a.floats.size();
    a.floats.resize(before + static_cast<size_t>(f.payload.size()) / 4);
    return source_.file().read(f.payload.begin,
                               std::as_writable_bytes(std::span(a.floats).subspan(before)));
  }

  /// ValueInfoProto.type.tensor_type.elem_type, and where it stands.
  Status read_value(const Field& field, int frame, std::vector<Value>& values) {
    DEQUANT_CHECK(expect_bytes(field, "value"));
    Value& value = values.emplace_back();
    value.whole = field.whole;
    value.frame = frame;
    return for_each_field(source_, field.payload, [&](const Field& f) -> Status {
      if (f.number == 1) return text(f, value.name);
      if (f.number != 2 || f.wire != Wire::bytes) return {};
      return for_each_field(source_, f.payload, [&](const Field& type) -> Status {
        if (type.number != 1 || type.wire != Wire::bytes) return {};
        return for_each_field(source_, type.payload, [&](const Field& t) -> Status {
          if (t.number != 1 || t.wire != Wire::varint) return {};
          value.elem_type = static_cast<int64_t>(t.value);
          value.elem_type_field = t.whole;
          return {};
        });
      });
    });
  }

  Status read_annotation(const Field& field, int frame, Graph& graph) {
    DEQUANT_CHECK(expect_bytes(field, "quantization_annotation"));
    Annotation& a = graph.annotations.emplace_back();
    a.whole = field.whole;
    a.frame = frame;
    return for_each_field(source_, field.payload, [&](const Field& f) -> Status {
      if (f.number == 1) return text(f, a.tensor);
      if (f.number != 2 || f.wire != Wire::bytes) return {};
      return for_each_field(source_, f.payload, [&](const Field& entry) -> Status {
        return entry.number == 2 ? text(entry, a.parameters.emplace_back()) : Status{};
      });
    });
  }

  /// A sparse tensor; of an initializer, the name goes to `names`.
  Status read_sparse(const Field& field, std::vector<std::string>* names) {
    DEQUANT_CHECK(expect_bytes(field, "sparse tensor"));
    return for_each_field(source_, field.payload, [&](const Field& f) -> Status {
      if (f.number == 2) return refuse_external(f);
      if (f.number != 1) return {};
      std::string name;
      DEQUANT_CHECK(refuse_external(f, &name));
      if (names != nullptr) names->push_back(std::move(name));
      return {};
    });
  }

  /// TrainingInfoProto: its graphs stay as they are.
  Status read_training(const Field& field) {
    DEQUANT_CHECK(expect_bytes(field, "training_info"));
    return for_each_field(source_, field.payload, [&](const Field& graph) -> Status {
      if ((graph.number != 1 && graph.number != 2) || graph.wire != Wire::bytes) return {};
      return for_each_field(source_, graph.payload, [&](const Field& f) -> Status {
        return f.number == 5 ? refuse_external(f) : Status{};
      });
    });
  }

  Status read_function(const Field& field) {
    Graph& body = model_.functions.emplace_back();
    body.is_function = true;
    body.frame = add_frame(field, -1);
    // The body's operator sets first: they may stand behind its nodes.
    DEQUANT_CHECK(for_each_field(source_, field.payload, [&](const Field& f) -> Status {
      if (f.number != 9) return {};
      DEQUANT_CHECK(expect_bytes(f, "opset_import"));
      return read_opset(f.payload, body.opsets);
    }));
    return for_each_field(source_, field.payload, [&](const Field& f) -> Status {
      switch (f.number) {
        case 1: return text(f, body.name);
        case 4: return text(f, body.inputs.emplace_back().name);
        case 5: return text(f, body.outputs.emplace_back().name);
        case 7: return read_node(f, body.frame, body, 0);
        case 10: return text(f, body.domain);
        case 12: return read_value(f, body.frame, body.values);
        case 13: return text(f, body.overload);
        default: return {};
      }
    });
  }

  Model& model_;
  Source& source_;
  size_t nodes_ = 0;
  size_t graphs_ = 0;
};

/// Why a file was not read as a model: what else it looks like, where that is known.
Error explained(const std::string& path, const InputFile& file, Error error) {
  if (error.code == ErrorCode::malformed) {
    if (const auto look = look_of(file)) {
      return failure(ErrorCode::unsupported, "{} looks like {}; dequant reads ONNX models{}",
                     escaped(path), look->what, look->advice);
    }
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

Result<std::unique_ptr<Model>> read_model(const std::string& path) {
  DEQUANT_TRY(InputFile file, InputFile::open(path));
  auto model = std::make_unique<Model>(Source(std::move(file)));
  model->path = path;
  auto status = check_message(model->source);
  if (status) status = Reader(*model).read();
  if (!status) {
    return explained(path, model->source.file(), std::move(status).error());
  }
  return model;
}

}  // namespace dequant::format::onnx
