// ai.onnx DequantizeLinear: a row of data per version.
#include "dequant/onnx.h"

#include <algorithm>

#include "dialect/linear.h"
#include "text.h"

namespace dequant::onnx {
namespace {

using enum Element;

constexpr ElementSet kInts10{int8, uint8, int32};
constexpr ElementSet kFloat8{float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz};
constexpr ElementSet kInts21{int16, uint16, int4, uint4};
constexpr ElementSet kFloat4{float4e2m1};
constexpr ElementSet kInts25{int2, uint2};
constexpr ElementSet kFloat6{float6e2m3, float6e3m2};
constexpr ElementSet kFloat{float32};
constexpr ElementSet kFloats{float32, float16, bfloat16};
constexpr ElementSet kExponent{float8e8m0};

constexpr ElementSet kX19 = kInts10 | kFloat8;
constexpr ElementSet kX21 = kX19 | kInts21;
constexpr ElementSet kX23 = kX21 | kFloat4;
constexpr ElementSet kX25 = kX23 | kInts25;

// clang-format off
constexpr LinearVersion kVersions[] = {
    // name                  since  x                x_scale              axis   block  dtype
    {"DequantizeLinear-10",   10, kInts10,         kFloat,              false, false, false},
    {"DequantizeLinear-13",   13, kInts10,         kFloat,              true,  false, false},
    {"DequantizeLinear-19",   19, kX19,            kFloats,             true,  false, false},
    {"DequantizeLinear-21",   21, kX21,            kFloats,             true,  true,  false},
    {"DequantizeLinear-23",   23, kX23,            kFloats,             true,  true,  true},
    {"DequantizeLinear-24",   24, kX23,            kFloats | kExponent, true,  true,  true},
    {"DequantizeLinear-25",   25, kX25,            kFloats | kExponent, true,  true,  true},
    {"DequantizeLinear-28",   28, kX25 | kFloat6,  kFloats | kExponent, true,  true,  true},
};
// clang-format on

static_assert(std::ranges::equal(kVersions, kVersionOpsets, {}, &LinearVersion::since),
              "each version has a row");

}  // namespace

Status set_attribute(DequantizeLinear& node, std::string_view name, int64_t value) {
  if (name == "axis") {
    node.axis = value;
  } else if (name == "block_size") {
    node.block_size = value;
  } else if (name == "output_dtype") {
    node.output_dtype = value;
  } else {
    return invalid(name, ": DequantizeLinear has no such attribute");
  }
  return {};
}

Result<Plan> dequantize_linear(const DequantizeLinear& node) {
  if (node.opset < kVersions[0].since) {
    return Error{ErrorCode::unsupported,
                 concat("opset ", node.opset, ": DequantizeLinear exists since opset 10")};
  }
  if (node.opset > kNewestOpset) {
    return Error{ErrorCode::unsupported, concat("opset ", node.opset, ": newer than ", kNewestOpset,
                                                ", the newest whose DequantizeLinear is known")};
  }
  const LinearVersion* version = &kVersions[0];
  for (const LinearVersion& v : kVersions) {
    if (v.since <= node.opset) version = &v;
  }
  const LinearNode linear{node.x,    node.x_scale,    node.x_zero_point,
                          node.axis, node.block_size, node.output_dtype};
  auto plan = plan_linear(*version, linear);
  if (plan) return plan;
  for (const LinearVersion& later : kVersions) {
    if (later.since <= node.opset || !plan_linear(later, linear)) continue;
    return Error{plan.error().code,
                 concat(plan.error().message, "; opset ", later.since, " allows the node")};
  }
  return plan;
}

}  // namespace dequant::onnx
