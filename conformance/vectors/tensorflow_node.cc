// The ranges, and functions for all cases of TensorFlow.
#include "conformance/vectors/tensorflow_node.h"

#include "format/io/errors.h"

namespace dequant::conformance::vectors {

const std::vector<RangePair>& range_pairs() {
  static const std::vector<RangePair> list{
      {"plain", 0xBF800000, 0x40C00000},            // -1, 6
      {"off_the_grid", 0xBE99999A, 0x3F8CCCCD},     // -0.3, 1.1
      {"positive", 0x3DCCCCCD, 0x42F6E979},         // 0.1, 123.456
      {"negative", 0xC2F6E979, 0xBDCCCCCD},         // -123.456, -0.1
      {"symmetric", 0xBF800000, 0x3F800000},        // -1, 1
      {"from_zero", 0x00000000, 0x437F0000},        // 0, 255
      {"to_zero", 0xC37F0000, 0x80000000},          // -255, -0
      {"half_a_step_off", 0xBF000000, 0x437E8000},  // -0.5, 254.5: steps of 1 from halfway
      {"zeros", 0x00000000, 0x00000000},
      {"minus_zeros", 0x80000000, 0x80000000},
      {"mixed_zeros", 0x80000000, 0x00000000},
      {"equal", 0x40490FDB, 0x40490FDB},
      {"reversed", 0x40C00000, 0xBF800000},  // 6, -1
      {"subnormal", 0x80000001, 0x00000001},
      {"subnormal_step", 0x00000000, 0x00800000},  // the smallest normal
      {"widest", 0xFF7FFFFF, 0x7F7FFFFF},          // the width overflows
      {"huge", 0x00000000, 0x7F7FFFFF},
      {"max_infinite", 0xBF800000, 0x7F800000},
      {"min_infinite", 0xFF800000, 0x3F800000},
      {"infinite", 0xFF800000, 0x7F800000},
      {"min_nan", 0x7FC00000, 0x3F800000},
      {"max_nan", 0xBF800000, 0xFFC12345},
      {"nan", 0x7F800001, 0x7FC00000},
  };
  return list;
}

std::string title(const TensorflowNode& node) {
  return fmt::format("{}/{}{}{}/{}", tensorflow::name(node.x), tensorflow::name(node.mode),
                     node.documented ? "_documented" : "", node.narrow_range ? "_narrow_range" : "",
                     name(node.dtype));
}

Case tensorflow_case(const Collector& out, std::string name, const TensorflowNode& node) {
  Case c = out.begin(std::move(name));
  c.attributes["mode"] = std::string(tensorflow::name(node.mode));
  if (node.dtype != Element::float32)
    c.attributes["dtype"] = std::string(dequant::name(node.dtype));
  if (node.narrow_range) c.attributes["narrow_range"] = true;
  if (node.documented) c.attributes["semantics"] = std::string("documented");
  if (node.axis) c.attributes["axis"] = *node.axis;
  return c;
}

CaseTensor quantized(CaseTensor x) {
  if (const auto element = element_from_name(x.type)) x.type = tensorflow::name(*element);
  return x;
}

CaseTensor ranges(Sizes shape, const Codes& bits) {
  return {"float32", std::move(shape), bits, {}};
}

bool is_undefined_cast(uint64_t code) { return code >= 0x7FFFFFC0 && code <= 0x7FFFFFFF; }

}  // namespace dequant::conformance::vectors
