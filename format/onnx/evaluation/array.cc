// A tensor of any ONNX type of fixed width, in memory.
#include "format/onnx/evaluation/array.h"

#include <cstring>

#include "dequant/tensor.h"
#include "format/io/errors.h"
#include "format/onnx/external_size.h"
#include "format/onnx/tensor_reader.h"

namespace dequant::format::onnx {
namespace {

constexpr int64_t kWide = 8;  // bytes of an int64 or a double

bool is_wide(int32_t data_type) { return data_type == kInt64 || data_type == kDouble; }

/// A tensor of an Element with the same raw bytes; `dims` get its shape.
Tensor as_element(const Tensor& tensor, std::vector<int64_t>& dims) {
  Tensor same = tensor;
  dims.assign(tensor.dims.begin(), tensor.dims.end());
  if (is_wide(tensor.data_type)) {
    dims.push_back(2);
    same.data_type = onnx_code(Element::uint32);
  } else if (tensor.data_type == kBool) {
    same.data_type = onnx_code(Element::uint8);
  }
  same.dims = Dims(std::span<const int64_t>(dims));
  return same;
}

/// True where the numbers are in the typed field of a wide type, which TensorReader does not read.
bool in_wide_field(const Tensor& tensor) {
  const bool wide = is_wide(tensor.data_type);
  const DataField own =
      tensor.data_type == kDouble ? DataField::double_data : DataField::int64_data;
  return wide && tensor.external == nullptr && tensor.data == own && !tensor.several_data &&
         !tensor.has_segment;
}

/// The numbers of int64_data or double_data: `count` of them, with `bytes` bytes.
Result<std::vector<std::byte>> read_wide_field(const Model& model, const Tensor& tensor,
                                               int64_t count, int64_t bytes) {
  const auto where = [&](Error error) {
    return in(fmt::format("tensor {}", escaped(tensor.name)), std::move(error));
  };
  const bool doubles = tensor.data_type == kDouble;
  // An int64 takes a byte at least, a double 8.
  if (tensor.message.size() < (doubles ? bytes : count)) {
    return where(failure(ErrorCode::malformed, "{} elements in a message of {} bytes", count,
                         tensor.message.size()));
  }
  std::vector<std::byte> out;
  out.reserve(static_cast<size_t>(bytes));
  const auto add = [&](uint64_t number) -> Status {
    if (static_cast<int64_t>(out.size()) == bytes)
      return where({ErrorCode::malformed, "more data than its shape holds"});
    const auto* raw = reinterpret_cast<const std::byte*>(&number);
    out.insert(out.end(), raw, raw + sizeof number);
    return {};
  };
  Source window = model.source.window(tensor.message);
  Source packed = model.source.window(tensor.message);
  Cursor cursor(window, tensor.message);
  for (Field f;;) {
    DEQUANT_TRY(const bool more, cursor.next(f));
    if (!more) break;
    if (f.number != static_cast<uint32_t>(tensor.data)) continue;
    if (!doubles) {
      DEQUANT_CHECK(for_each_varint(
          packed, f, [&](int64_t number) { return add(static_cast<uint64_t>(number)); }));
    } else if (f.wire == Wire::fixed64) {
      DEQUANT_CHECK(add(f.value));
    } else if (f.wire == Wire::bytes) {
      if (f.payload.size() % kWide != 0)
        return where({ErrorCode::malformed, "double_data has a part of a number"});
      for (int64_t at = f.payload.begin; at < f.payload.end; at += kWide) {
        DEQUANT_TRY(const auto raw, packed.peek(at, kWide));
        uint64_t number = 0;
        std::memcpy(&number, raw.data(), sizeof number);
        DEQUANT_CHECK(add(number));
      }
    }
  }
  if (static_cast<int64_t>(out.size()) == bytes) return out;
  return where(failure(ErrorCode::malformed, "only {} of {} bytes are stored", out.size(), bytes));
}

}  // namespace

Result<int64_t> count_of(const ArrayType& type) { return element_count(type.shape); }

Result<int64_t> bytes_of(const ArrayType& type) {
  const int64_t bits = element_bits(type.data_type);
  DEQUANT_TRY(const int64_t count, count_of(type));
  int64_t all = 0;
  if (bits != 0 && !__builtin_mul_overflow(count, bits, &all)) return all / 8 + (all % 8 != 0);
  return failure(ErrorCode::invalid_argument, "{} elements of data type {}", count, type.data_type);
}

Status check_stored(const Model& model, ExternalFiles& files, const Tensor& tensor) {
  if (in_wide_field(tensor)) return {};  // counted while it is read
  std::vector<int64_t> dims;
  const Tensor same = as_element(tensor, dims);
  if (!same.element()) return {};
  DEQUANT_TRY([[maybe_unused]] const auto reader, TensorReader::open(model.source, files, same));
  return {};
}

Result<Array> read_array(const Model& model, ExternalFiles& files, const Tensor& tensor,
                         int64_t most) {
  Array array{{tensor.data_type, tensor.dims}, {}};
  if (in_wide_field(tensor)) {
    const auto count = count_of(array.type);
    const auto bytes = bytes_of(array.type);
    if (!count || !bytes)
      return failure(ErrorCode::malformed, "tensor {} has no valid shape", escaped(tensor.name));
    if (*bytes > most) {
      return failure(ErrorCode::limit, "tensor {} has {} bytes, over {}", escaped(tensor.name),
                     *bytes, most);
    }
    DEQUANT_TRY(array.bytes, read_wide_field(model, tensor, *count, *bytes));
    return array;
  }
  std::vector<int64_t> dims;
  const Tensor same = as_element(tensor, dims);
  DEQUANT_TRY(TensorReader reader, TensorReader::open(model.source, files, same));
  DEQUANT_TRY(array.bytes, reader.whole(most));
  return array;
}

}  // namespace dequant::format::onnx
