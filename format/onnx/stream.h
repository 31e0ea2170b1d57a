// Dequantizing a tensor of any size in bounded memory: read a stretch, run it, hand it on.
#pragma once

#include <array>
#include <functional>
#include <span>

#include "dequant/executor.h"
#include "format/io/phases.h"
#include "format/onnx/dequantization.h"
#include "format/onnx/stretches.h"

namespace dequant::format::onnx {

struct StreamOptions {
  int64_t memory = int64_t{1} << 30;  ///< bytes of buffers at most; never less than about 8 MiB
  StructureLimit structure = {};      ///< of the model, which comes on top
  Executor executor = default_executor();
  Phases* phases = nullptr;  ///< gets the time of reading and dequantizing
};

/// Takes the next bytes of the output.
using Sink = std::function<Status(std::span<const std::byte>)>;

/// Computes the output of a dequantization and hands it to the sink in order, as packed bytes.
Status stream(const Model& model, ExternalFiles& files, const Dequantization& d,
              const StreamOptions& options, const Sink& sink);

/// Computes the whole output in memory; `y` holds just that.
Status fill(const Model& model, ExternalFiles& files, const Dequantization& d,
            const StreamOptions& options, std::span<std::byte> y);

/// Takes the bytes of the output from `offset` on, on any thread, several at a time.
using PlacedSink = std::function<Status(int64_t offset, std::span<const std::byte>)>;

/// Takes a stretch, its codes and its output, on any thread, several at a time.
using StretchSink = std::function<Status(const Stretch&)>;

/// Computes outputs in no order: each thread reads, dequantizes and hands on stretches of its own, small
/// enough to be still in its cache when the sink gets them.
class Scatter {
 public:
  Scatter(const Model& model, ExternalFiles& files, const StreamOptions& options)
      : model_(model), files_(files), options_(options) {}

  Status run(const Dequantization& d, const PlacedSink& sink);
  Status visit(const Dequantization& d, const StretchSink& sink);

 private:
  /// A file takes one write at a time; a few threads keep it supplied.
  static constexpr size_t kMostThreads = 4;

  const Model& model_;
  ExternalFiles& files_;
  const StreamOptions& options_;
  std::array<Stretch, kMostThreads> memory_;  ///< of each thread, kept from one output to the next
};

}  // namespace dequant::format::onnx
