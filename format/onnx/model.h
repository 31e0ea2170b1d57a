// The structure of an ONNX model in memory: names, graphs, nodes and types, each with its byte
// range in the file. Tensor data and unknown fields stay in the file.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dequant/element.h"
#include "format/model/warnings.h"
#include "format/onnx/field_numbers.h"
#include "format/onnx/store.h"
#include "format/onnx/wire.h"

namespace dequant::format::onnx {

/// A Span of a file smaller than 4 GiB, in half the memory.
struct ShortSpan {
  uint32_t begin = 0;
  uint32_t end = 0;

  ShortSpan() = default;
  explicit ShortSpan(Span span)
      : begin(static_cast<uint32_t>(span.begin)), end(static_cast<uint32_t>(span.end)) {}
  operator Span() const { return {begin, end}; }
  int64_t size() const { return int64_t{end} - begin; }
  bool empty() const { return begin == end; }
};

/// A length-delimited message in the file whose contents an Edit may change, and its parent
/// message.
struct Frame {
  Frame(uint32_t field, Span all, Span message, int32_t around)
      : whole(all),
        parent(around),
        number_and_head(field << 4 | static_cast<uint32_t>(message.begin - all.begin)) {}

  ShortSpan whole;
  int32_t parent;  ///< index in Model::frames; -1 for a field of the model itself
  uint32_t
      number_and_head;  ///< field number, and 4 bits for the bytes of tag and length: 15 at most

  uint32_t number() const { return number_and_head >> 4; }
  Span payload() const { return {int64_t{whole.begin} + (number_and_head & 15), whole.end}; }
};

/// The location of a tensor's data in another file: its external_data entries.
struct External {
  Text location;
  int64_t offset = 0;
  std::optional<int64_t> length;  ///< none: the length that shape and type need
  bool has_checksum = false;
  bool has_unknown_keys = false;
  Text checksum;                      ///< SHA-1 of the whole file
  std::span<const ShortSpan> fields;  ///< entries that only this data file may have: location ...
};

/// True for a key of external_data that ONNX or ONNX Runtime defines.
bool is_external_key(std::string_view key);

/// Field numbers of TensorProto that can hold data.
enum class DataField : uint8_t {
  none = 0,
  float_data = field::tensor::float_data,
  int32_data = field::tensor::int32_data,
  string_data = field::tensor::string_data,
  int64_data = field::tensor::int64_data,
  raw_data = field::tensor::raw_data,
  double_data = field::tensor::double_data,
  uint64_data = field::tensor::uint64_data,
};

/// TensorProto.DataLocation.
enum class DataLocation : uint8_t { in_model = 0, external = 1 };

/// The sizes of a tensor's dimensions, outermost first.
struct Dims : std::span<const int64_t> {
  using std::span<const int64_t>::span;
  explicit Dims(std::span<const int64_t> sizes) : span(sizes) {}
  operator std::vector<int64_t>() const { return {begin(), end()}; }
};

/// A TensorProto without its data.
struct Tensor {
  Text name;
  Dims dims;
  const External* external = nullptr;  ///< null: the data is in the model
  ShortSpan message;                   ///< payload of the TensorProto
  ShortSpan raw;                       ///< payload of raw_data
  int32_t data_type = 0;               ///< TensorProto.DataType
  int32_t frame = -1;                  ///< index in Model::frames
  DataField data = DataField::none;
  bool several_data = false;  ///< data in more than one field
  bool has_segment = false;

  /// The element type; none where dequant has no such type.
  std::optional<Element> element() const { return element_from_onnx(data_type); }
};

/// The name of an input or an output in a node.
struct Name {
  Text text;
};

struct Graph;
struct Node;

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

/// An AttributeProto, as far as dequant evaluates it.
struct Attribute {
  Text name;
  Text reference;  ///< ref_attr_name: the attribute of the function that gives the value
  int64_t i = 0;
  int32_t type = 0;  ///< AttributeProto.AttributeType, also values that AttributeType lacks
  std::span<const float> floats;  ///< one number of value_float, or all of value_floats
  Tensor* tensor = nullptr;
  List<Graph> graphs;
};

/// The name of an operator; nodes of one operator share the object.
struct Operator {
  Text type;
  Text domain;
  Text overload;  ///< distinguishes functions of one name

  friend bool operator==(const Operator&, const Operator&) = default;
};

/// A NodeProto.
struct Node {
  Text name;
  const Operator* op = nullptr;
  std::span<Name> inputs;
  std::span<Name> outputs;
  std::span<Attribute> attributes;
  int32_t frame = -1;
  uint32_t waits_for = 0;  ///< used by Scopes: inputs from nodes that it has not yet reached
  Node* next = nullptr;

  Text op_type() const { return op->type; }
  Text domain() const { return op->domain; }
  /// True for that operator of ai.onnx.
  bool is(std::string_view type) const {
    return op->type == type && (op->domain.empty() || op->domain == "ai.onnx");
  }
  bool is_dequantize() const { return is_of_onnx_or_microsoft("DequantizeLinear"); }
  bool is_quantize() const { return is_of_onnx_or_microsoft("QuantizeLinear"); }
  /// The attribute of that name, or null.
  const Attribute* attribute(std::string_view name) const;
  /// The name of an input or output; empty if the node has none with that index.
  Text input(size_t i) const { return i < inputs.size() ? inputs[i].text : Text(); }
  Text output(size_t i) const { return i < outputs.size() ? outputs[i].text : Text(); }
  /// For messages: its name, or its first output.
  std::string_view label() const {
    if (!name.empty()) return name;
    return outputs.empty() ? std::string_view("(unnamed)") : std::string_view(outputs[0].text);
  }

 private:
  bool is_of_onnx_or_microsoft(std::string_view type) const {
    return is(type) || (op->domain == "com.microsoft" && op->type == type);
  }
};

struct Initializer {
  Tensor tensor;
  Initializer* next = nullptr;
};

/// The name of a sparse initializer.
struct SparseInitializer {
  Text name;
  SparseInitializer* next = nullptr;
};

/// A ValueInfoProto: an input, an output, or an inner value.
struct Value {
  Text name;
  int32_t elem_type = 0;      ///< 0: unknown
  int32_t frame = -1;         ///< of the graph
  ShortSpan elem_type_field;  ///< empty if there is none
  ShortSpan whole;
  Value* next = nullptr;
};

/// A quantization annotation: its tensor, and the names of that tensor's parameters.
struct Annotation {
  Text tensor;
  std::span<const Name> parameters;
  ShortSpan whole;
  int32_t frame = -1;  ///< of the graph
  Annotation* next = nullptr;
};

/// The versions of the operator sets that a model or a function imports.
struct Opsets {
  std::optional<int64_t> onnx;
  std::optional<int64_t> microsoft;
};

/// A graph, a subgraph, or the body of a function.
struct Graph {
  Text name;
  Text domain;    ///< of a function
  Text overload;  ///< of a function
  bool is_function = false;
  int32_t frame = -1;      ///< the message that gets new initializers
  Graph* outer = nullptr;  ///< the graph around this one, whose names are visible here
  Node* owner = nullptr;   ///< the node that has this graph as an attribute
  Opsets opsets;
  List<Node> nodes;
  List<Initializer> initializers;
  List<SparseInitializer> sparse_initializers;
  List<Value> inputs;
  List<Value> outputs;
  List<Value> values;
  List<Annotation> annotations;
  Graph* next = nullptr;
};

/// A ModelProto.
struct Model {
  explicit Model(Source s) : source(std::move(s)) {}

  Source source;
  std::string path;  ///< in messages
  /// A path in the folder of the files with external data; empty: there is no folder.
  std::string anchor;
  int64_t ir_version = 0;
  bool has_training = false;
  Opsets opsets;
  Store store;  ///< owns texts, graphs and their contents
  Graph graph;
  List<Graph> functions;
  std::deque<Frame> frames;
  Warnings warnings;

  int64_t room = INT64_MAX;          ///< bytes left for data derived from the structure
  int64_t memory_limit = INT64_MAX;  ///< of the structure, all derived data, and the process

  /// Subtracts bytes from `room`. Fails with limit when `room` is less.
  Status take(int64_t bytes);

  const Frame& frame(int32_t index) const { return frames[static_cast<size_t>(index)]; }
  /// The byte range of a node or initializer in the file, tag included.
  Span whole(const Node& node) const { return frame(node.frame).whole; }
  Span whole(const Initializer& i) const { return frame(i.tensor.frame).whole; }
};

/// The limit of memory for the structure of a model and all data derived from it: 32 MiB plus 8
/// times the bytes of the structure in the file, or `memory` if that is more. The structure is all
/// of the file but tensor data.
struct StructureLimit {
  int64_t memory = 0;
};

/// Reads the structure of a model. Fails with malformed, unsupported, limit or io.
Result<std::unique_ptr<Model>> read_model(const std::string& path, StructureLimit limit = {});
/// The same of an open file.
Result<std::unique_ptr<Model>> read_model(InputFile file, StructureLimit limit = {});

/// Reads a text of the file into the store. Fails with limit over 1 MiB, and with io.
Result<Text> read_text(Source& source, Span span, Store& store);

/// Reads a TensorProto message into `tensor`, whose texts and arrays are in `store`. Repeated
/// fields are merged by protobuf's rules. Returns how many bytes of the message are tensor data.
/// Fails with malformed, limit or io.
Result<int64_t> read_tensor(Source& source, Span message, Store& store, Tensor& tensor);

}  // namespace dequant::format::onnx
