// A format of model files: how dequant recognises and opens its files, and which options it has.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "dequant/status.h"
#include "format/io/file.h"
#include "format/model/options.h"
#include "format/model/words.h"

namespace dequant::format {

class ModelFile;

/// What a format may use to recognise a file.
struct Probe {
  std::string_view path;
  std::string_view head;   ///< the first 64 bytes of a file, or the whole shorter file
  bool is_folder = false;  ///< the path is that of a folder
};

/// One format: a constant of static storage, listed by formats() (format/formats.h).
struct Format {
  std::string_view name;   ///< as a key: "onnx"
  std::string_view files;  ///< in sentences: "ONNX models"
  Words words;             ///< in tables, messages and JSON
  /// The names of the FormatOptions that the format reads.
  std::span<const std::string_view> options;
  /// True where the file should be opened as this format. A format whose files begin with no magic
  /// number returns true for every file, and must be the last of the list.
  bool (*recognises)(const Probe& probe);
  /// Opens a file, or a folder. Reads the file by open_input(). Fails with io, malformed, limit or
  /// unsupported, and with invalid_argument for an option with a wrong value.
  Result<std::unique_ptr<ModelFile>> (*open)(const std::string& path, const OpenOptions& options);
  /// True where ModelFile::write() also writes to memory: WriteOptions::memory.
  bool writes_to_memory = false;
  /// True where ModelFile::write() carries out shares: WriteOptions::share.
  bool has_shares = false;
};

/// Formats in the order in which recognises() is called. Not owned.
using Formats = std::span<const Format* const>;

/// The file at the path of Format::open(), or OpenOptions::bytes in its place. Fails with io.
Result<InputFile> open_input(const std::string& path, const OpenOptions& options);

/// The first format that recognises a file, or null. Fails with io.
Result<const Format*> recognised(Formats formats, const std::string& path,
                                 const OpenOptions& options);

/// Opens a model file with the format that recognised() returns. Of OpenOptions::where_known it
/// gets the options that it has. Fails as Format::open() does; with invalid_argument for an option
/// that the format does not have, and with unsupported for a file that no format recognises.
Result<std::unique_ptr<ModelFile>> open_model(Formats formats, const std::string& path,
                                              const OpenOptions& options);

/// Of two files that are compared: fails with invalid_argument for an option of
/// OpenOptions::where_known that neither format has.
Status check_where_known(Formats formats, const FormatOptions& where_known, const ModelFile& a,
                         const ModelFile& b);

}  // namespace dequant::format
