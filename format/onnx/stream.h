// Dequantizing a tensor of any size in bounded memory: read a stretch, run it, hand it on.
#pragma once

#include <functional>
#include <span>

#include "dequant/executor.h"
#include "format/onnx/dequantization.h"

namespace dequant::format::onnx {

struct StreamOptions {
  int64_t memory = int64_t{1} << 30;  ///< bytes of buffers at most; never less than about 8 MiB
  Executor executor = default_executor();
};

/// Takes the next bytes of the output.
using Sink = std::function<Status(std::span<const std::byte>)>;

/// Computes the output of a dequantization and hands it to the sink in order, as packed bytes.
Status stream(Model& model, ExternalFiles& files, const Dequantization& d,
              const StreamOptions& options, const Sink& sink);

}  // namespace dequant::format::onnx
