// The messages of ONNX: onnx-ml.proto as a table.
#include "format/onnx/schema.h"

#include <array>
#include <initializer_list>
#include <utility>

namespace dequant::format::onnx {
namespace {

constexpr size_t kFields = 32;  // no message has a field of a higher number

using Fields = std::array<FieldRule, kFields>;
using Schema = std::array<Fields, static_cast<size_t>(Message::count)>;

constexpr FieldRule kVarint{Content::varint};
constexpr FieldRule kFloat{Content::float_};
constexpr FieldRule kBytes{Content::bytes};
constexpr FieldRule kVarints{Content::varints};
constexpr FieldRule kFloats{Content::floats};
constexpr FieldRule kDoubles{Content::doubles};

constexpr FieldRule of(Message message) { return {Content::message, message}; }

constexpr Schema make_schema() {
  using enum Message;
  Schema schema{};
  const auto add = [&](Message message,
                       std::initializer_list<std::pair<uint32_t, FieldRule>> rules) {
    for (const auto& [field, rule] : rules) schema[static_cast<size_t>(message)][field] = rule;
  };
  add(model, {{1, kVarint},
              {2, kBytes},
              {3, kBytes},
              {4, kBytes},
              {5, kVarint},
              {6, kBytes},
              {7, of(graph)},
              {8, of(opset)},
              {14, of(entry)},
              {20, of(training)},
              {25, of(function)},
              {26, of(configuration)}});
  add(opset, {{1, kBytes}, {2, kVarint}});
  add(graph, {{1, of(node)},
              {2, kBytes},
              {5, of(tensor)},
              {10, kBytes},
              {11, of(value)},
              {12, of(value)},
              {13, of(value)},
              {14, of(annotation)},
              {15, of(sparse_tensor)},
              {16, of(entry)}});
  add(node, {{1, kBytes},
             {2, kBytes},
             {3, kBytes},
             {4, kBytes},
             {5, of(attribute)},
             {6, kBytes},
             {7, kBytes},
             {8, kBytes},
             {9, of(entry)},
             {10, of(node_configuration)}});
  add(attribute, {{1, kBytes},
                  {2, kFloat},
                  {3, kVarint},
                  {4, kBytes},
                  {5, of(tensor)},
                  {6, of(graph)},
                  {7, kFloats},
                  {8, kVarints},
                  {9, kBytes},
                  {10, of(tensor)},
                  {11, of(graph)},
                  {13, kBytes},
                  {14, of(type)},
                  {15, of(type)},
                  {20, kVarint},
                  {21, kBytes},
                  {22, of(sparse_tensor)},
                  {23, of(sparse_tensor)}});
  add(tensor, {{1, kVarints},
               {2, kVarint},
               {3, of(segment)},
               {4, kFloats},
               {5, kVarints},
               {6, kBytes},
               {7, kVarints},
               {8, kBytes},
               {9, kBytes},
               {10, kDoubles},
               {11, kVarints},
               {12, kBytes},
               {13, of(entry)},
               {14, kVarint},
               {16, of(entry)}});
  add(segment, {{1, kVarint}, {2, kVarint}});
  add(entry, {{1, kBytes}, {2, kBytes}});
  add(sparse_tensor, {{1, of(tensor)}, {2, of(tensor)}, {3, kVarints}});
  add(type, {{1, of(tensor_type)},
             {4, of(sequence_type)},
             {5, of(map_type)},
             {6, kBytes},
             {7, of(opaque_type)},
             {8, of(tensor_type)},
             {9, of(sequence_type)}});
  add(tensor_type, {{1, kVarint}, {2, of(shape)}});
  add(shape, {{1, of(dimension)}});
  add(dimension, {{1, kVarint}, {2, kBytes}, {3, kBytes}});
  add(sequence_type, {{1, of(type)}});
  add(map_type, {{1, kVarint}, {2, of(type)}});
  add(opaque_type, {{1, kBytes}, {2, kBytes}});
  add(value, {{1, kBytes}, {2, of(type)}, {3, kBytes}, {4, of(entry)}});
  add(annotation, {{1, kBytes}, {2, of(entry)}});
  add(training, {{1, of(graph)}, {2, of(graph)}, {3, of(entry)}, {4, of(entry)}});
  add(function, {{1, kBytes},
                 {4, kBytes},
                 {5, kBytes},
                 {6, kBytes},
                 {7, of(node)},
                 {8, kBytes},
                 {9, of(opset)},
                 {10, kBytes},
                 {11, of(attribute)},
                 {12, of(value)},
                 {13, kBytes},
                 {14, of(entry)}});
  add(configuration, {{1, kBytes}, {2, kVarint}, {3, kBytes}});
  add(node_configuration, {{1, kBytes}, {2, of(sharding)}, {3, kVarint}});
  add(sharding, {{1, kBytes}, {2, kVarints}, {3, of(device_group)}, {4, of(sharded_dimension)}});
  add(device_group, {{1, kVarint}, {2, kVarints}});
  add(sharded_dimension, {{1, kVarint}, {2, of(simple_sharding)}});
  add(simple_sharding, {{1, kVarint}, {2, kBytes}, {3, kVarint}});
  return schema;
}

constexpr Schema kSchema = make_schema();

}  // namespace

FieldRule rule_of(Message message, uint32_t field) {
  return field < kFields ? kSchema[static_cast<size_t>(message)][field] : FieldRule{};
}

}  // namespace dequant::format::onnx
