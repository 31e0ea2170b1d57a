// An ONNX model as dequant needs it: names and structure in memory, tensor data and everything
// unknown left in the file, each thing with the bytes it came from.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dequant/element.h"
#include "format/onnx/warnings.h"
#include "format/onnx/wire.h"

namespace dequant::format::onnx {

/// A length-delimited message that may get other contents: its bytes, and the message around it.
struct Frame {
  uint32_t number = 0;  ///< field number
  Span whole;
  Span payload;
  int parent = -1;  ///< index in Model::frames; -1 for a field of the model itself
};

/// Where a tensor's data is in another file.
struct External {
  std::string location;
  int64_t offset = 0;
  std::optional<int64_t> length;  ///< none: as much as shape and type need
  bool has_checksum = false;
};

/// Field numbers of TensorProto that can hold data.
enum class DataField : uint8_t {
  none = 0,
  float_data = 4,
  int32_data = 5,
  string_data = 6,
  int64_data = 7,
  raw_data = 9,
  double_data = 10,
  uint64_data = 11,
};

/// A TensorProto without its data.
struct Tensor {
  std::string name;
  std::vector<int64_t> dims;
  int64_t data_type = 0;  ///< TensorProto.DataType
  Span message;           ///< payload of the TensorProto
  DataField data = DataField::none;
  bool several_data = false;  ///< data in more than one field
  Span raw;                   ///< payload of raw_data
  std::optional<External> external;
  std::vector<Span> external_fields;  ///< those that hold of this file alone, as location does
  bool has_segment = false;
  int frame = -1;

  std::optional<Element> element() const { return element_from_onnx(data_type); }
};

/// A name in a node, with the field that holds it.
struct Name {
  std::string text;
  Span field;
};

struct Graph;

enum class AttributeType : uint8_t {
  undefined = 0,
  float_ = 1,
  int_ = 2,
  string = 3,
  tensor = 4,
  graph = 5,
  floats = 6,
  ints = 7,
};

struct Attribute {
  std::string name;
  int64_t type = 0;  ///< AttributeProto.AttributeType, also those not named above
  int64_t i = 0;
  std::vector<float> floats;  ///< of value_float one, of value_floats all
  std::string reference;      ///< ref_attr_name: a function's attribute takes its place
  std::unique_ptr<Tensor> tensor;
  std::vector<std::unique_ptr<Graph>> graphs;
};

struct Node {
  std::string name;
  std::string op_type;
  std::string domain;
  std::string overload;  ///< tells functions of one name apart
  std::vector<Name> inputs;
  std::vector<Name> outputs;
  std::vector<Attribute> attributes;
  Span whole;
  int frame = -1;

  bool is(const char* op) const { return op_type == op && (domain.empty() || domain == "ai.onnx"); }
  bool is_dequantize() const {
    return op_type == "DequantizeLinear" &&
           (domain.empty() || domain == "ai.onnx" || domain == "com.microsoft");
  }
  bool is_quantize() const {
    return op_type == "QuantizeLinear" &&
           (domain.empty() || domain == "ai.onnx" || domain == "com.microsoft");
  }
  const Attribute* attribute(std::string_view name) const;
  /// The name of an input, empty if there is none.
  std::string_view input(size_t i) const {
    return i < inputs.size() ? std::string_view(inputs[i].text) : std::string_view();
  }
  /// For messages: its name, or its first output.
  std::string_view label() const {
    if (!name.empty()) return name;
    return outputs.empty() ? std::string_view("(unnamed)") : std::string_view(outputs[0].text);
  }
};

struct Initializer {
  Tensor tensor;
  Span whole;
};

/// A ValueInfoProto: an input, an output, or an inner value.
struct Value {
  std::string name;
  int64_t elem_type = 0;  ///< 0: unknown
  Span elem_type_field;   ///< empty if there is none
  Span whole;
  int frame = -1;  ///< of the graph
};

/// A quantization annotation: the tensor it is about and those it names.
struct Annotation {
  std::string tensor;
  std::vector<std::string> parameters;
  Span whole;
  int frame = -1;  ///< of the graph
};

/// The operator sets in force: of the model, or of a function.
struct Opsets {
  std::optional<int64_t> onnx;
  std::optional<int64_t> microsoft;
};

/// A graph, a subgraph, or the body of a function.
struct Graph {
  std::string name;
  std::string domain;    ///< of a function
  std::string overload;  ///< of a function
  bool is_function = false;
  Graph* outer = nullptr;  ///< the graph whose names this one sees
  Node* owner = nullptr;   ///< the node whose attribute this graph is
  Opsets opsets;
  std::deque<Node> nodes;
  std::deque<Initializer> initializers;
  std::vector<std::string> sparse_initializers;
  std::vector<Value> inputs;
  std::vector<Value> outputs;
  std::vector<Value> values;
  std::vector<Annotation> annotations;
  int frame = -1;  ///< where new initializers go
};

struct Model {
  explicit Model(Source s) : source(std::move(s)) {}

  Source source;
  std::string path;
  int64_t ir_version = 0;
  bool has_training = false;
  Opsets opsets;
  Graph graph;
  std::deque<Graph> functions;
  std::vector<Frame> frames;
  Warnings warnings;
};

/// Reads a model's structure. Fails with malformed, limit or io.
Result<std::unique_ptr<Model>> read_model(const std::string& path);

/// Reads one TensorProto message into `tensor`; fields met twice follow protobuf's rules.
Status read_tensor(Source& source, Span message, Tensor& tensor);

}  // namespace dequant::format::onnx
