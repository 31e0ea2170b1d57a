// The memory of a C program as spans.
#include "c_api/buffers.h"

#include <optional>
#include <string_view>

namespace dequant::c_api {
namespace {

/// Checks that a pointer is not null and that its end does not overflow, so that a span can be
/// made.
template <class Byte, class Pointer>
Result<std::span<Byte>> span_of(std::string_view name, Pointer* begin, uint64_t bytes) {
  if (begin == nullptr && bytes > 0) return invalid(name, ": null, with ", bytes, " bytes");
  if (!std::in_range<uintptr_t>(bytes) ||
      static_cast<uintptr_t>(bytes) > UINTPTR_MAX - reinterpret_cast<uintptr_t>(begin)) {
    return invalid(name, ": ", bytes, " bytes there reach beyond the end of memory");
  }
  return std::span<Byte>(static_cast<Byte*>(begin), static_cast<size_t>(bytes));
}

}  // namespace

Result<Buffers> buffers_of(const dequant_buffers& c) {
  using In = const std::byte;
  Buffers b;
  DEQUANT_TRY(b.x, span_of<In>("x", c.x, c.x_bytes));
  DEQUANT_TRY(b.scale, span_of<In>("scale", c.scale, c.scale_bytes));
  DEQUANT_TRY(b.zero_point, span_of<In>("zero_point", c.zero_point, c.zero_point_bytes));
  DEQUANT_TRY(b.min_range, span_of<In>("min_range", c.min_range, c.min_range_bytes));
  DEQUANT_TRY(b.max_range, span_of<In>("max_range", c.max_range, c.max_range_bytes));
  DEQUANT_TRY(b.y, span_of<std::byte>("y", c.y, c.y_bytes));
  return b;
}

Result<Buffers> buffers_of(const SchemeNodePlan& scheme, const dequant_scheme_buffers& c) {
  if (c.tensor_count != scheme.tensor_count) {
    return invalid("tensor_count: ", c.tensor_count, " where the node has ", scheme.tensor_count,
                   " tensors");
  }
  if (c.tensor_count > 0 && (c.tensors == nullptr || c.tensor_bytes == nullptr))
    return invalid(c.tensors == nullptr ? "tensors" : "tensor_bytes", ": null");
  const auto input = [&](std::string_view name, std::optional<size_t> i,
                         std::span<const std::byte>& out) -> Status {
    if (!i) return {};
    DEQUANT_TRY(out, span_of<const std::byte>(name, c.tensors[*i], c.tensor_bytes[*i]));
    return {};
  };
  const SchemePlan& dense = scheme.dense;
  Buffers b;
  b.names = &dense.names;
  DEQUANT_CHECK(input(dense.names.x, dense.x, b.x));
  DEQUANT_CHECK(input(dense.names.scale, dense.scale, b.scale));
  DEQUANT_CHECK(input(dense.names.zero_point, dense.zero_point, b.zero_point));
  DEQUANT_CHECK(input(dense.names.tensor_scale, dense.tensor_scale, b.tensor_scale));
  DEQUANT_CHECK(input(dense.names.group_index, dense.group_index, b.group_index));
  DEQUANT_CHECK(input(dense.names.codebook, dense.codebook, b.codebook));
  if (!dense.codebook) b.codebook = std::as_bytes(dense.values);
  DEQUANT_TRY(b.y, span_of<std::byte>("y", c.y, c.y_bytes));
  return b;
}

}  // namespace dequant::c_api
