// An ONNX model as dequant needs it: names and structure in memory, tensor data and everything
// unknown left in the file, each thing with the bytes it came from.
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

/// A Span of a model file, which is smaller than 4 GiB.
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

/// A length-delimited message that may get other contents: its bytes, and the message around it.
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

/// Where a tensor's data is in another file.
struct External {
  Text location;
  int64_t offset = 0;
  std::optional<int64_t> length;  ///< none: as much as shape and type need
  bool has_checksum = false;
  bool has_unknown_keys = false;
  Text checksum;                      ///< SHA-1 of the whole file
  std::span<const ShortSpan> fields;  ///< those that hold of this file alone, as location
};

/// A key of external_data that ONNX or ONNX Runtime knows.
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
  int32_t frame = -1;
  DataField data = DataField::none;
  bool several_data = false;  ///< data in more than one field
  bool has_segment = false;

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

struct Attribute {
  Text name;
  Text reference;  ///< ref_attr_name: a function's attribute takes its place
  int64_t i = 0;
  int32_t type = 0;               ///< AttributeProto.AttributeType, also those not named above
  std::span<const float> floats;  ///< of value_float one, of value_floats all
  Tensor* tensor = nullptr;
  List<Graph> graphs;
};

/// What an operator is known by; nodes of one operator share it.
struct Operator {
  Text type;
  Text domain;
  Text overload;  ///< tells functions of one name apart

  friend bool operator==(const Operator&, const Operator&) = default;
};

struct Node {
  Text name;
  const Operator* op = nullptr;
  std::span<Name> inputs;
  std::span<Name> outputs;
  std::span<Attribute> attributes;
  int32_t frame = -1;
  uint32_t waits_for = 0;  ///< of Scopes: how many inputs come from nodes that were not yet reached
  Node* next = nullptr;

  Text op_type() const { return op->type; }
  Text domain() const { return op->domain; }
  bool is(std::string_view type) const {
    return op->type == type && (op->domain.empty() || op->domain == "ai.onnx");
  }
  bool is_dequantize() const { return is_of_onnx_or_microsoft("DequantizeLinear"); }
  bool is_quantize() const { return is_of_onnx_or_microsoft("QuantizeLinear"); }
  const Attribute* attribute(std::string_view name) const;
  /// The name of an input, empty if there is none.
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

/// A quantization annotation: the tensor it is about and those it names.
struct Annotation {
  Text tensor;
  std::span<const Name> parameters;
  ShortSpan whole;
  int32_t frame = -1;  ///< of the graph
  Annotation* next = nullptr;
};

/// The operator sets in force: of the model, or of a function.
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
  int32_t frame = -1;      ///< where new initializers go
  Graph* outer = nullptr;  ///< the graph whose names this one sees
  Node* owner = nullptr;   ///< the node whose attribute this graph is
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

struct Model {
  explicit Model(Source s) : source(std::move(s)) {}

  Source source;
  std::string path;
  int64_t ir_version = 0;
  bool has_training = false;
  Opsets opsets;
  Store store;  ///< where all of the following lies
  Graph graph;
  List<Graph> functions;
  std::deque<Frame> frames;
  Warnings warnings;

  /// What the limit leaves for what is decided on the structure and reported of it, and the limit.
  int64_t room = INT64_MAX;
  int64_t memory_limit = INT64_MAX;

  /// Notes bytes of that. Fails with limit when they are too many.
  Status take(int64_t bytes);

  const Frame& frame(int32_t index) const { return frames[static_cast<size_t>(index)]; }
  /// The bytes of a node or initializer, and the message around it.
  Span whole(const Node& node) const { return frame(node.frame).whole; }
  Span whole(const Initializer& i) const { return frame(i.tensor.frame).whole; }
};

/// What the structure of a model may take in memory, with all that is derived from it: 32 MiB and
/// 8 times the bytes of the structure, which are those of the file without tensor data, or `memory`
/// if that is more.
struct StructureLimit {
  int64_t memory = 0;
};

/// Reads a model's structure. Fails with malformed, limit or io.
Result<std::unique_ptr<Model>> read_model(const std::string& path, StructureLimit limit = {});

/// A text of the file. Fails with limit over 1 MiB.
Result<Text> read_text(Source& source, Span span, Store& store);

/// Reads one TensorProto message into `tensor`, whose parts lie in `store`; fields met twice follow
/// protobuf's rules. Returns how many bytes of the message are data.
Result<int64_t> read_tensor(Source& source, Span message, Store& store, Tensor& tensor);

}  // namespace dequant::format::onnx
