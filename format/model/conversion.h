// What a conversion that several processes carry out is: its input and its options, as text in the
// folder of its records, so that any process can complete the output.
#pragma once

#include <string>

#include "format/model/convert.h"

namespace dequant::format {

/// The folder with the records of the tasks, and with the files of the output until it is complete:
/// inside of an output that is a folder, else beside the output.
std::string work_folder_inside(const std::string& output);
std::string work_folder_beside(const std::string& output);

/// Removes such a folder: the text first, by which the conversion is complete. It need not be
/// there. Fails with io.
Status remove_work_folder(const std::string& path);

/// The name of the file in that folder that has the text of the conversion.
inline constexpr const char* kConversionName = "conversion.json";

/// The input and the options as a JSON object. Paths are absolute. Fails with invalid_argument
/// where an option cannot be shared, and with io.
Result<std::string> conversion_text(const std::string& input, const ConvertOptions& options);

/// ShareOptions::task_bytes at the least.
inline constexpr int64_t kLeastTaskBytes = 4096;

struct Conversion {
  std::string input;
  ConvertOptions options;
};

/// Reads that text. Fails with malformed.
Result<Conversion> read_conversion(std::string_view text);

struct FinalizeOptions {
  std::string input;        ///< in place of the path that the conversion has; empty: that path
  bool read_again = false;  ///< ShareOptions::read_again
  StreamOptions stream;
  Progress progress;
};

/// Completes an output whose tasks are all done. ConvertReport::share says what is missing, and is
/// complete where nothing is; also where another process has completed the output before. Fails
/// with io where no conversion to `output` was begun, with invalid_argument where the input, the
/// options or the version are not those of the records, and as convert() does.
Result<ConvertReport> finalize(Formats formats, const std::string& output,
                               const FinalizeOptions& options);

}  // namespace dequant::format
