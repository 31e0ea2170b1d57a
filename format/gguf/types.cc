// The types of tensors in GGUF files.
#include "format/gguf/types.h"

#include <algorithm>
#include <array>
#include <vector>

#include "dequant/gguf.h"
#include "format/io/errors.h"

namespace dequant::format::gguf {
namespace {

constexpr std::array kPlain{
    Type{"F32", 0, 1, 4, {}, Element::float32},  //
    Type{"F16", 1, 1, 2, {}, Element::float16},  //
    Type{"I8", 24, 1, 1, {}, Element::int8},     //
    Type{"I16", 25, 1, 2, {}, Element::int16},   //
    Type{"I32", 26, 1, 4, {}, Element::int32},   //
    Type{"I64", 27, 1, 8, {}, {}},               //
    Type{"F64", 28, 1, 8, {}, {}},               //
    Type{"BF16", 30, 1, 2, {}, Element::bfloat16},
};

const std::vector<Type>& block_kinds() {
  static const std::vector<Type> kBlocks = [] {
    std::vector<Type> types;
    for (const BlockType type : block_types()) {
      types.push_back({name(type),
                       static_cast<uint32_t>(gguf_id(type)),
                       block_elements(type),
                       block_bytes(type),
                       type,
                       {}});
    }
    return types;
  }();
  return kBlocks;
}

template <class Is>
const Type* find_if(Is is) {
  const auto plain = std::find_if(kPlain.begin(), kPlain.end(), is);
  if (plain != kPlain.end()) return &*plain;
  const auto block = std::find_if(block_kinds().begin(), block_kinds().end(), is);
  return block == block_kinds().end() ? nullptr : &*block;
}

}  // namespace

Result<const Type*> type_of(uint32_t id) {
  if (const Type* type = find_if([&](const Type& t) { return t.id == id; })) return type;
  return dequant::gguf::block_type(int64_t{id}).error();
}

const Type* find_type(std::string_view name) {
  return find_if([&](const Type& type) { return type.name == name; });
}

const Type& plain_type(Element element) {
  return *std::find_if(kPlain.begin(), kPlain.end(),
                       [&](const Type& type) { return type.element == element; });
}

Result<int64_t> bytes_of(const Type& type, Shape shape) {
  const int64_t row = shape.empty() ? 1 : shape.back();
  const auto count = element_count(shape);
  if (!count) return failure(ErrorCode::malformed, "{}", count.error().message);
  if (row % type.elements != 0) {
    return failure(ErrorCode::malformed,
                   "rows of {} elements are no multiple of the {} of a {} block", row,
                   type.elements, type.name);
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(*count / type.elements, type.bytes, &bytes)) {
    return failure(ErrorCode::malformed, "{} elements of type {} take more than 2^63 - 1 bytes",
                   *count, type.name);
  }
  return bytes;
}

}  // namespace dequant::format::gguf
