// The entry of one tensor in a header: its fields, and whether they agree.
#pragma once

#include <cstdint>
#include <vector>

#include "format/safetensors/dtype.h"
#include "format/safetensors/header_text.h"

namespace dequant::format::safetensors {

struct Entry {
  const DType* dtype = nullptr;
  std::vector<int64_t> shape;
  int64_t begin = 0;  ///< of the data, from the first byte of all data on
  int64_t end = 0;
};

/// Reads the value of a tensor's key into `entry`, whose memory is used again. `data_bytes` are the
/// bytes of all data of the file. Fails with malformed where a field is missing, unknown or there
/// twice, or where type, shape and offsets disagree; with unsupported for unknown types, with limit
/// beyond kMaxRank, and with io. Messages name the field.
Status read_entry(HeaderText& text, int64_t data_bytes, Entry& entry);

}  // namespace dequant::format::safetensors
