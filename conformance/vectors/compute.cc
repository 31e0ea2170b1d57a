// Computing the expected output of a case, as a number for each code.
#include "conformance/vectors/compute.h"

#include "conformance/cases/run_case.h"
#include "dequant/codes.h"

namespace dequant::conformance::vectors {
using format::TensorData;

Result<CaseTensor> compute(const Case& c) {
  DEQUANT_TRY(const TensorData y, compute_case(c));
  DEQUANT_TRY(const int64_t count, element_count(y.shape));
  CaseTensor out{std::string(name(y.element)), y.shape, {}, {}};
  for (int64_t i = 0; i < count; ++i) out.bits.push_back(load_code(y.element, y.bytes, i));
  return out;
}

}  // namespace dequant::conformance::vectors
