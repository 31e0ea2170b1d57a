// The types of tensors in GGUF files: plain numbers, and blocks of codes with their scales.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "dequant/block.h"
#include "dequant/element.h"
#include "dequant/status.h"
#include "dequant/tensor.h"

namespace dequant::format::gguf {

/// A type that files may have. Plain numbers are blocks of one element.
struct Type {
  std::string_view name;           ///< as GGUF spells it: "Q4_K", "F16"
  uint32_t id = 0;                 ///< its number in files
  int64_t elements = 1;            ///< of a block
  int64_t bytes = 0;               ///< of a block
  std::optional<BlockType> block;  ///< nothing: plain numbers
  std::optional<Element> element;  ///< of plain numbers; nothing: dequant computes with no such
};

/// The type of a number, valid until the process ends. Fails with unsupported for removed and
/// unknown types; the message has their names.
Result<const Type*> type_of(uint32_t id);

/// The type of a name, or null. Case matters.
const Type* find_type(std::string_view name);

/// The plain type of float32, float16 or bfloat16.
const Type& plain_type(Element element);

/// The bytes of a tensor. Fails with malformed where a row, the last dimension, is no whole number
/// of blocks, and where elements or bytes overflow int64_t. The element count overflows even where
/// another dimension is 0.
Result<int64_t> bytes_of(const Type& type, Shape shape);

}  // namespace dequant::format::gguf
