// The tables of the operators, and the checks of types and ranks against these.
#include "dialect/directml_operators.h"

#include <algorithm>
#include <array>

#include "dialect/directml_decisions.h"
#include "text.h"

namespace dequant::directml {
namespace {

constexpr TypeSet kUint8{DML_TENSOR_DATA_TYPE_UINT8};
constexpr TypeSet kIntegers{DML_TENSOR_DATA_TYPE_INT32,  DML_TENSOR_DATA_TYPE_INT16,
                            DML_TENSOR_DATA_TYPE_INT8,   DML_TENSOR_DATA_TYPE_UINT32,
                            DML_TENSOR_DATA_TYPE_UINT16, DML_TENSOR_DATA_TYPE_UINT8};
constexpr TypeSet kFloat{DML_TENSOR_DATA_TYPE_FLOAT32};
constexpr TypeSet kFloats{DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT16};

// clang-format off
constexpr std::array kElementWiseLevels{
    //            since                  input             scale    ranks  needs zero point
    OperatorLevel{DML_FEATURE_LEVEL_1_0, kUint8,           kFloat,  4, 4,  true},
    OperatorLevel{DML_FEATURE_LEVEL_2_1, kIntegers,        kFloat,  4, 4,  true},
    OperatorLevel{DML_FEATURE_LEVEL_3_0, kIntegers,        kFloat,  1, 8,  true},
    OperatorLevel{DML_FEATURE_LEVEL_6_0, kIntegers,        kFloats, 1, 8,  true},
    OperatorLevel{DML_FEATURE_LEVEL_6_2, kIntegers,        kFloats, 1, 8,  false},
};
constexpr std::array kDequantizeLevels{
    OperatorLevel{DML_FEATURE_LEVEL_6_3, kDequantizeInput, kFloats, 1, 8,  false},
};
// clang-format on

/// Checks a condition on the row of a feature level, and makes its error.
struct Demand {
  const OperatorRules& rules;
  DML_FEATURE_LEVEL level;

  /// `allows` of the level's row; otherwise an error that begins with `what` and names the first
  /// level whose row allows it, or ends with `instead`.
  template <class Allows, class Instead>
  Status check(const Allows& allows, const std::string& what, const Instead& instead) const {
    const OperatorLevel* row = &rules.levels.front();
    for (const OperatorLevel& l : rules.levels) {
      if (l.since <= level) row = &l;
    }
    if (allows(*row)) return {};
    const auto later = std::find_if(row, rules.levels.data() + rules.levels.size(), allows);
    if (later != rules.levels.data() + rules.levels.size()) {
      return Error{ErrorCode::unsupported, concat(what, " comes to ", rules.name,
                                                  " with feature level ", level_name(later->since),
                                                  "; at ", level_name(level), " ", instead(*row))};
    }
    return invalid(what, " is not what ", rules.name, " takes; ", instead(*row));
  }
};

Status check_type(const Demand& demand, const Tensor& tensor, TypeSet OperatorLevel::*types) {
  return demand.check([&](const OperatorLevel& row) { return (row.*types).contains(tensor.type); },
                      concat(tensor.name, ": DataType ", data_type_name(tensor.type)),
                      [&](const OperatorLevel& row) {
                        return concat("it must be one of ", type_names(row.*types));
                      });
}

Status check_rank(const Demand& demand, const Tensor& tensor) {
  return demand.check(
      [&](const OperatorLevel& row) {
        return tensor.rank >= row.min_rank && tensor.rank <= row.max_rank;
      },
      concat(tensor.name, ": DimensionCount ", tensor.rank),
      [](const OperatorLevel& row) {
        return concat("it must be ", row.min_rank,
                      row.max_rank == row.min_rank ? std::string() : concat(" to ", row.max_rank),
                      "; fill leading dimensions with 1");
      });
}

Status check_same_type(const Tensor& tensor, const Tensor& other) {
  if (tensor.type == other.type) return {};
  return invalid(tensor.name, ": DataType ", data_type_name(tensor.type), " differs from that of ",
                 other.name, ", ", data_type_name(other.type), "; both must be the same");
}

Status check_same_rank(const Tensor& tensor, const Tensor& input) {
  if (tensor.rank == input.rank) return {};
  return invalid(tensor.name, ": DimensionCount ", tensor.rank, " (Sizes ",
                 to_string(tensor.sizes()), ") differs from that of ", input.name, ", ", input.rank,
                 " (Sizes ", to_string(input.sizes()), "); fill leading dimensions with 1");
}

}  // namespace

const OperatorRules kElementWiseDequantizeLinear{"ELEMENT_WISE_DEQUANTIZE_LINEAR",
                                                 kElementWiseLevels};
const OperatorRules kDequantize{"DEQUANTIZE", kDequantizeLevels};

Status check_level(const OperatorRules& rules, DML_FEATURE_LEVEL level) {
  const DML_FEATURE_LEVEL first = rules.levels.front().since;
  if (level >= first) return {};
  return Error{ErrorCode::unsupported,
               concat("Type: ", rules.name, " comes with feature level ", level_name(first),
                      ", the device has ", level_name(level))};
}

Status check_tensors(const OperatorRules& rules, DML_FEATURE_LEVEL level, const Tensors& tensors) {
  const Demand demand{rules, level};
  const Tensor& input = *tensors.input;
  DEQUANT_CHECK(check_type(demand, input, &OperatorLevel::input));
  DEQUANT_CHECK(check_type(demand, *tensors.scale, &OperatorLevel::scale));
  DEQUANT_CHECK(check_same_type(*tensors.output, *tensors.scale));
  DEQUANT_CHECK(check_rank(demand, input));
  for (const Tensor* tensor : {tensors.scale, tensors.zero_point, tensors.output}) {
    if (tensor != nullptr) DEQUANT_CHECK(check_same_rank(*tensor, input));
  }
  if (tensors.zero_point != nullptr) return check_same_type(*tensors.zero_point, input);
  return demand.check([](const OperatorLevel& row) { return !row.needs_zero_point; },
                      "ZeroPointTensor: null",
                      [](const OperatorLevel&) { return "a zero point must be given"; });
}

}  // namespace dequant::directml
