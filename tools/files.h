// Output files of commands that write several files.
#pragma once

#include <string>
#include <string_view>

#include "dequant/status.h"
#include "format/io/tensor_data.h"

namespace dequant::tools {

/// A check for options with the path of an output: refuses "-", which means standard output in
/// other programs.
std::string not_standard_output(const std::string& path);

/// True if the path is that of a folder.
bool is_folder(const std::string& path);

/// Fails with io where make_folder() would fail, or where files cannot be created in the folder.
Status check_output_folder(const std::string& path);

/// Fails with io when both paths are the same file: no output may replace an input.
Status check_apart(const std::string& output, const std::string& input);

/// Makes a folder unless it exists. Fails with io.
Status make_folder(const std::string& path);

/// A file name without extension for the i-th tensor: its number, which makes the name unique, and
/// the safe characters of the tensor's name.
std::string numbered_name(size_t index, std::string_view tensor_name);

/// A tensor in a type of numpy: bfloat16 becomes float32, which is exact.
format::TensorData numpy_ready(const format::TensorData& data);

/// Converts consecutive packed bfloat16 elements to float32.
void widen_bfloat16(std::span<const std::byte> codes, std::vector<std::byte>& floats);

}  // namespace dequant::tools
