// What dequant._core hands to dequant._cuda, the module of CUDA devices, in capsules. Both modules
// are of one build: the names of the capsules carry the version.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "dequant/plan.h"
#include "dequant/version.h"
#include "format/io/file.h"
#include "format/model/extract.h"

namespace dequant::python {

/// A plan and its buffers: valid during the call that hands them over.
struct DeviceCall {
  static constexpr const char* kName = "dequant.DeviceCall " DEQUANT_VERSION;

  /// The inputs, in the order of the bits of `on_host`.
  static constexpr std::span<const std::byte> Buffers::*kInputs[] = {
      &Buffers::x,         &Buffers::scale,        &Buffers::zero_point,  &Buffers::min_range,
      &Buffers::max_range, &Buffers::tensor_scale, &Buffers::group_index, &Buffers::codebook};

  const Plan* plan = nullptr;
  Buffers buffers = {};  ///< without y
  uint32_t on_host = 0;  ///< bit i: the input kInputs[i] is in memory of the host
};

/// A tensor of an open model file, with the output that is wanted.
struct DeviceTensor {
  static constexpr const char* kName = "dequant.DeviceTensor " DEQUANT_VERSION;

  std::shared_ptr<format::Extractor> extractor;
  format::DenseTensor tensor;
};

/// Bytes of an open file.
struct DeviceBytes {
  static constexpr const char* kName = "dequant.DeviceBytes " DEQUANT_VERSION;

  std::shared_ptr<const void> owner;  ///< keeps the file open
  const format::InputFile* file = nullptr;
  int64_t offset = 0;
  int64_t size = 0;
};

}  // namespace dequant::python
