// GGUF files as a format of model files.
#include "format/gguf/format.h"

#include <algorithm>
#include <array>

#include "format/gguf/gguf_file.h"

namespace dequant::format::gguf {
namespace {

/// Those of llama.cpp's earlier formats are recognised, to be refused by name.
constexpr std::array<std::string_view, 5> kMagic{"GGUF", "FUGG", "tjgg", "fmgg", "lmgg"};

bool recognises(const Probe& probe) {
  if (probe.is_folder) return false;
  // Too short to have a magic number.
  if (probe.head.size() < kMagic[0].size()) return probe.path.ends_with(".gguf");
  return std::any_of(kMagic.begin(), kMagic.end(),
                     [&](std::string_view magic) { return probe.head.starts_with(magic); });
}

constexpr Words kWords{
    .folds = true,
    .dense_title = "Tensors that become floats",
    .scheme_title = "the block type",
};

}  // namespace

const Format kFormat{.name = "gguf",
                     .files = "GGUF files",
                     .words = kWords,
                     .options = kOptions,
                     .recognises = &recognises,
                     .open = &GgufFile::open,
                     .has_shares = true};

}  // namespace dequant::format::gguf
