// A format of model files: how its files are recognised and opened, and which options they have.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "dequant/status.h"
#include "format/model/options.h"
#include "format/model/words.h"

namespace dequant::format {

class ModelFile;

/// What there is to recognise a file by.
struct Probe {
  std::string_view path;
  std::string_view head;   ///< the first bytes of a file: 64, or all there are
  bool is_folder = false;  ///< the path leads to a folder
};

/// One format. Each has one of static storage, which the list of formats (format/formats.h) names.
struct Format {
  std::string_view name;   ///< for programs: "onnx"
  std::string_view files;  ///< for sentences: "ONNX models"
  Words words;
  /// The names of the FormatOptions that it reads.
  std::span<const std::string_view> options;
  /// True for what should be opened as this format. A format whose files begin with no mark says
  /// true to everything, and stands last in the list.
  bool (*recognises)(const Probe& probe);
  /// Opens a file, or a folder. Fails with io, malformed, limit or unsupported, and with
  /// invalid_argument for an option with a wrong value.
  Result<std::unique_ptr<ModelFile>> (*open)(const std::string& path, const OpenOptions& options);
};

/// Formats in the order in which they are asked. Not owned.
using Formats = std::span<const Format* const>;

/// Opens a model file with the first format that recognises it. Fails as Format::open() does; with
/// invalid_argument for an option that the format does not have, and with unsupported for a file
/// that no format recognises.
Result<std::unique_ptr<ModelFile>> open_model(Formats formats, const std::string& path,
                                              const OpenOptions& options);

}  // namespace dequant::format
