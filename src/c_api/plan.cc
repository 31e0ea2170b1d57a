// Plans in C: making, reading and freeing them.
#include "c_api/plan.h"

#include <memory>
#include <utility>

#include "c_api/boundary.h"
#include "c_api/element.h"
#include "dequant/tensor.h"

namespace dequant::c_api {
namespace {

/// The bytes that run() needs for each tensor.
Result<dequant_sizes> sizes_of(const Plan& plan) {
  dequant_sizes sizes{};
  sizes.struct_size = sizeof sizes;
  sizes.x = to_c(plan.input);
  sizes.scale = to_c(plan.scale);
  sizes.y = to_c(plan.output);
  sizes.elements = element_count(plan);
  const Extents e = extents(plan);
  const auto bytes = [](Element element, int64_t count, uint64_t& out) -> Status {
    DEQUANT_TRY(const int64_t needed, packed_bytes(element, count));
    out = static_cast<uint64_t>(needed);
    return {};
  };
  sizes.x_bytes = static_cast<uint64_t>(x_bytes_of(plan, {0, e.x}).end);
  DEQUANT_CHECK(bytes(plan.scale, e.scale, sizes.scale_bytes));
  sizes.zero_point_bytes = static_cast<uint64_t>(zero_point_bytes_of(plan, {0, e.zero_point}).end);
  DEQUANT_CHECK(bytes(plan.scale, e.min_range, sizes.min_range_bytes));
  DEQUANT_CHECK(bytes(plan.scale, e.max_range, sizes.max_range_bytes));
  DEQUANT_CHECK(bytes(plan.output, e.y, sizes.y_bytes));
  DEQUANT_CHECK(bytes(Element::float32, e.tensor_scale, sizes.tensor_scale_bytes));
  DEQUANT_CHECK(bytes(Element::int32, e.group_index, sizes.group_index_bytes));
  DEQUANT_CHECK(bytes(Element::float32, e.codebook, sizes.codebook_bytes));
  return sizes;
}

}  // namespace

Status give(AnyPlan node, dequant_plan** out) {
  auto made = std::make_unique<dequant_plan>();
  made->node = std::move(node);
  const Plan& plan = plan_of(made->node);
  made->text = to_string(plan);
  DEQUANT_TRY(made->sizes, sizes_of(plan));
  if (const auto* op = std::get_if<directml::Operator>(&made->node)) {
    made->sizes.x_bytes = op->input_bytes[0];
    made->sizes.scale_bytes = op->input_bytes[1];
    made->sizes.zero_point_bytes = op->input_count == 3 ? op->input_bytes[2] : 0;
    made->sizes.y_bytes = op->output_bytes;
  }
  if (const auto* scheme = std::get_if<SchemeNodePlan>(&made->node)) {
    if (!scheme->dense.codebook) made->sizes.codebook_bytes = 0;
    made->sizes.rank = scheme->dense.shape.size();
    made->sizes.shape = scheme->dense.shape.data();
  }
  *out = made.release();
  return {};
}

}  // namespace dequant::c_api

using dequant::Status;
using namespace dequant::c_api;

void dequant_plan_free(dequant_plan* plan) {
  if (plan == nullptr || plan->magic != dequant_plan::kMagic) return;
  // Volatile, as a compiler may drop a store to memory that is then freed.
  *static_cast<volatile uint64_t*>(&plan->magic) = 0;
  delete plan;
}

dequant_code dequant_plan_sizes(const dequant_plan* plan, dequant_sizes* sizes,
                                dequant_error* error) {
  return guarded(error, [&]() -> Status {
    DEQUANT_CHECK(check_plan(plan));
    DEQUANT_CHECK(check_struct("dequant_sizes", sizes));
    const size_t given = sizes->struct_size;
    *sizes = plan->sizes;
    sizes->struct_size = given;
    return {};
  });
}

const char* dequant_plan_text(const dequant_plan* plan) {
  const bool good = plan != nullptr && plan->magic == dequant_plan::kMagic;
  return good ? plan->text.c_str() : "";
}
