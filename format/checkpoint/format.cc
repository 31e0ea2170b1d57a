// Checkpoints in safetensors files as a format of model files.
#include "format/checkpoint/format.h"

#include "format/checkpoint/checkpoint_file.h"
#include "format/checkpoint/names.h"
#include "format/checkpoint/options.h"

namespace dequant::format::checkpoint {
namespace {

/// A folder, a file or an index whose name says so, or a file that begins with the length of a
/// header and "{".
bool recognises(const Probe& probe) {
  if (probe.is_folder || probe.path.ends_with(kSafetensors) || probe.path.ends_with(kIndex))
    return true;
  constexpr size_t kLength = 8;
  if (probe.head.size() <= kLength || probe.head[kLength] != '{') return false;
  // The specification allows headers of 100,000,000 bytes.
  uint64_t length = 0;
  for (size_t i = kLength; i-- > 0;) length = length << 8 | static_cast<uint8_t>(probe.head[i]);
  return length <= 100'000'000;
}

constexpr Words kWords{
    .folds = true,
    .dense_title = "Tensors that become floats",
};

}  // namespace

const Format kFormat{.name = "safetensors",
                     .files = "checkpoints",
                     .words = kWords,
                     .options = kOptions,
                     .recognises = &recognises,
                     .open = &CheckpointFile::open,
                     .has_shares = true};

}  // namespace dequant::format::checkpoint
