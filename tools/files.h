// Output files of commands that write several.
#pragma once

#include <string>
#include <string_view>

#include "dequant/status.h"
#include "format/io/tensor_data.h"

namespace dequant::tools {

/// A check for options that name an output: "-" may mean standard output elsewhere.
std::string not_standard_output(const std::string& path);

/// True if the path leads to a folder.
bool is_folder(const std::string& path);

/// Fails with io where make_folder() would, or where no file could then be written into the folder.
Status check_output_folder(const std::string& path);

/// Makes a folder unless it is there.
Status make_folder(const std::string& path);

/// A file name without extension for the i-th tensor: its number, which makes it unique, and what
/// is harmless of its name.
std::string numbered_name(size_t index, std::string_view tensor_name);

/// A tensor in a type that numpy knows: bfloat16 widened to float32, which is exact.
format::TensorData numpy_ready(const format::TensorData& data);

/// The same for a stretch of packed elements.
void widen_bfloat16(std::span<const std::byte> codes, std::vector<std::byte>& floats);

}  // namespace dequant::tools
