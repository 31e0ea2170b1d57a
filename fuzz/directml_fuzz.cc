// Descriptions of DirectML: any numbers in any member, pointers that are null, arrays just as long
// as they must be.
#include "dequant/directml.h"

#include <deque>

#include "fuzz/support/check.h"
#include "fuzz/support/description.h"

namespace dequant::fuzz {
namespace {

/// Puts a number into an enumeration that has no enumerator of it, as C programs can.
template <class Enum>
void set(Enum& field, uint32_t number) {
  static_assert(sizeof field == sizeof number);
  std::memcpy(&field, &number, sizeof number);
}

UINT unsigned_of(int64_t n) { return static_cast<UINT>(n); }

/// Descriptions and the arrays that they point to.
class Tensors {
 public:
  explicit Tensors(Cursor& cursor) : cursor_(cursor) {
    for (int64_t d : cursor.shape(6)) sizes_.push_back(unsigned_of(d));
    if (sizes_.empty()) sizes_ = {4};
  }

  /// How the sizes of a tensor come from those of the input.
  enum class Sizes { equal, blocks };

  DML_TENSOR_DESC make(std::initializer_list<uint32_t> types, Sizes how) {
    Buffer& b = buffers_.emplace_back();
    b.sizes = cursor_.rarely() ? any() : sizes_;
    if (how == Sizes::blocks) divide(b.sizes);
    DML_BUFFER_TENSOR_DESC& desc = b.desc;
    set(desc.DataType,
        cursor_.rarely() ? cursor_.raw<uint16_t>() : std::data(types)[cursor_.below(types.size())]);
    if (cursor_.rarely()) set(desc.Flags, cursor_.byte());
    desc.DimensionCount = unsigned_of(static_cast<int64_t>(b.sizes.size()));
    if (cursor_.rarely()) desc.DimensionCount += 9;
    if (cursor_.coin()) b.strides = strides(b.sizes);
    desc.Sizes = cursor_.rarely() ? nullptr : b.sizes.data();
    desc.Strides = b.strides.empty() ? nullptr : b.strides.data();
    const auto kind = static_cast<DML_TENSOR_DATA_TYPE>(number(desc.DataType) & 0xF);
    check_tensor_size(kind, b.sizes, b.strides);
    const auto least = directml::buffer_tensor_size(kind, b.sizes, b.strides);
    if (least) desc.TotalTensorSizeInBytes = *least;
    if (cursor_.rarely()) desc.TotalTensorSizeInBytes += unsigned_of(cursor_.integer(-4, 8));
    if (cursor_.rarely()) desc.GuaranteedBaseOffsetAlignment = cursor_.byte();
    DML_TENSOR_DESC tensor{DML_TENSOR_TYPE_BUFFER, cursor_.rarely() ? nullptr : &desc};
    if (cursor_.rarely()) set(tensor.Type, cursor_.byte());
    return tensor;
  }

  /// Null, rarely.
  const DML_TENSOR_DESC* add(std::initializer_list<uint32_t> types, Sizes how) {
    tensors_.push_back(make(types, how));
    return cursor_.rarely() ? nullptr : &tensors_.back();
  }

 private:
  struct Buffer {
    std::vector<UINT> sizes, strides;
    DML_BUFFER_TENSOR_DESC desc{};
  };

  static uint32_t number(const DML_TENSOR_DATA_TYPE& type) {
    uint32_t out = 0;
    std::memcpy(&out, &type, sizeof out);
    return out;
  }

  std::vector<UINT> any() {
    std::vector<UINT> out;
    for (int64_t d : cursor_.shape(9)) out.push_back(unsigned_of(d));
    return out;
  }

  void divide(std::vector<UINT>& sizes) {
    for (UINT& d : sizes) {
      const auto blocks = unsigned_of(cursor_.integer(1, 4));
      if (blocks == 1) d = 1;
      if (blocks > 1 && d % blocks == 0) d /= blocks;
    }
  }

  /// Packed in some order of dimensions and with gaps, with zeros to repeat, or any.
  std::vector<UINT> strides(const std::vector<UINT>& sizes) {
    std::vector<UINT> out(sizes.size());
    UINT reach = 1;
    const size_t rotation = cursor_.below(sizes.size() + 1);
    const size_t how = cursor_.below(4);
    for (size_t i = 0; i < out.size(); ++i) {
      const size_t d = (out.size() - 1 - i + rotation) % out.size();
      out[d] = how == 3 ? unsigned_of(cursor_.integer(0, 12)) : reach;
      if (how == 2 && cursor_.coin()) out[d] = 0;
      reach *= sizes[d];
      if (how == 1) reach += cursor_.byte() % 4;
    }
    return out;
  }

  Cursor& cursor_;
  std::vector<UINT> sizes_;
  std::deque<Buffer> buffers_;
  std::deque<DML_TENSOR_DESC> tensors_;
};

void fuzz(Cursor cursor) {
  constexpr std::array<uint32_t, 8> kLevels{0x6400, 0x6300, 0x6200, 0x6000,
                                            0x3000, 0x2100, 0x1000, 0x6100};
  using enum Tensors::Sizes;
  const uint32_t number = cursor.rarely() ? cursor.raw<uint16_t>() & 0x7FFF : cursor.pick(kLevels);
  const auto level = static_cast<DML_FEATURE_LEVEL>(number);
  Tensors tensors(cursor);
  DML_OPERATOR_DESC desc{};
  DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC element_wise{};
  DML_DEQUANTIZE_OPERATOR_DESC dequantize{};
  std::vector<DML_TENSOR_DESC> params;
  if (cursor.coin()) {
    const uint32_t x = cursor.below(6) + 3;
    const uint32_t scale = cursor.below(2) + 1;
    element_wise.InputTensor = tensors.add({x}, equal);
    element_wise.ScaleTensor = tensors.add({scale}, equal);
    if (cursor.coin()) element_wise.ZeroPointTensor = tensors.add({x}, equal);
    element_wise.OutputTensor = tensors.add({scale}, equal);
    desc = {DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR, &element_wise};
  } else {
    constexpr std::array<uint32_t, 4> kInputs{5, 8, 12, 13};
    const uint32_t x = cursor.pick(kInputs);
    const uint32_t scale = cursor.below(2) + 1;
    dequantize.InputTensor = tensors.add({x}, equal);
    const uint32_t count = cursor.rarely() ? cursor.byte() : cursor.below(2) + 1;
    params.push_back(tensors.make({scale}, blocks));
    if (count >= 2) params.push_back(tensors.make({x}, blocks));
    set(dequantize.QuantizationType, cursor.rarely() ? cursor.byte() % 2 : count);
    dequantize.QuantizationTensorCount = count;
    dequantize.QuantizationTensors = cursor.rarely() ? nullptr : params.data();
    dequantize.OutputTensor = tensors.add({scale}, equal);
    desc = {DML_OPERATOR_DEQUANTIZE, &dequantize};
  }
  // Neither of the two operators, whose structures differ.
  if (cursor.rarely()) set(desc.Type, cursor.byte() % 34);
  if (cursor.rarely()) desc.Desc = nullptr;
  check_description(desc, level, cursor);
}

}  // namespace
}  // namespace dequant::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dequant::fuzz::fuzz({data, size});
  return 0;
}
