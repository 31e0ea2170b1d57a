// TFLite models as a format of model files.
#include "format/tflite/format.h"

#include "format/tflite/model.h"
#include "format/tflite/options.h"
#include "format/tflite/tflite_file.h"

namespace dequant::format::tflite {
namespace {

/// The identifier is behind the offset of the root table.
bool recognises(const Probe& probe) {
  constexpr size_t kOffset = 4;
  if (probe.is_folder) return false;
  // Too short to have an identifier.
  if (probe.head.size() < kOffset + kIdentifier.size()) return probe.path.ends_with(kEnding);
  return probe.head.substr(kOffset).starts_with(kIdentifier);
}

constexpr Words kWords{
    .folds = true,
    .dense_title = "Tensors that become floats",
};

}  // namespace

const Format kFormat{.name = "tflite",
                     .files = "TFLite models",
                     .words = kWords,
                     .options = kOptions,
                     .recognises = &recognises,
                     .open = &TfliteFile::open,
                     .has_shares = true};

}  // namespace dequant::format::tflite
