// Reading the headers and the data of tensors, and parsing numbers.
#include "tools/op_tensor.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "format/io/errors.h"
#include "format/npy/npy.h"

namespace dequant::tools {
namespace {

using format::escaped;
using format::failure;

/// Parses one number, rounded once. Refuses numbers beyond float32, but not "inf" and "nan".
Result<float> parse_float(std::string_view text) {
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  float value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, problem] = std::from_chars(digits.data(), end, value);
  if (problem == std::errc::result_out_of_range && stop == end) {
    const double wide = std::strtod(std::string(digits).c_str(), nullptr);
    if (std::abs(wide) < 1) return std::copysign(0.0F, static_cast<float>(wide));
    return failure(ErrorCode::invalid_argument, "{} is beyond what float32 holds", escaped(text));
  }
  if (problem == std::errc() && stop == end) return value;
  return failure(ErrorCode::invalid_argument, "\"{}\" is neither a number nor a .npy file",
                 escaped(text));
}

Result<OpTensor> parse_numbers(std::string name, std::string_view text) {
  OpTensor tensor;
  tensor.name = std::move(name);
  tensor.numbers = text;
  size_t count = 0;
  for (size_t begin = 0; begin <= text.size(); ++count) {
    const size_t end = std::min(text.find(',', begin), text.size());
    DEQUANT_TRY(const float value, parse_float(text.substr(begin, end - begin)));
    tensor.bytes.resize((count + 1) * sizeof value);
    std::memcpy(tensor.bytes.data() + count * sizeof value, &value, sizeof value);
    begin = end + 1;
  }
  if (count > 1) tensor.shape.push_back(static_cast<int64_t>(count));
  return tensor;
}

/// Reads the header and sets the element of the array.
Status read_header(OpTensor& tensor, const char* type_option) {
  DEQUANT_TRY(const auto file, format::InputFile::open(tensor.file));
  DEQUANT_TRY(format::NpyHeader header, format::read_npy_header(file));
  if (header.raw && !tensor.as && type_option != nullptr) {
    return failure(ErrorCode::invalid_argument,
                   "{}: type '{}' gives only the width of its items: {} says what they are",
                   escaped(tensor.file), header.descr, type_option);
  }
  auto element = format::npy_element(header, tensor.as);
  if (!element) return format::in(escaped(tensor.file), std::move(element).error());
  tensor.element = *element;
  tensor.shape = std::move(header.shape);
  return {};
}

}  // namespace

Result<std::optional<Element>> named_element(const char* option, const std::string& type_name) {
  if (type_name.empty()) return std::optional<Element>();
  if (const auto element = element_from_name(type_name)) return element;
  return failure(ErrorCode::invalid_argument, "{}: \"{}\" is not an element type", option,
                 escaped(type_name));
}

Result<OpTensor> open_tensor(std::string name, const std::string& option, const std::string& file,
                             std::optional<Element> as, const char* type_option) {
  OpTensor tensor;
  tensor.name = std::move(name);
  tensor.file = file;
  tensor.as = as;
  if (Status header = read_header(tensor, type_option); !header) {
    return format::in(option, std::move(header).error());
  }
  return tensor;
}

Status load(OpTensor& tensor, std::vector<std::string>& warnings) {
  if (tensor.file.empty()) return {};
  std::string warning;
  DEQUANT_TRY(format::TensorData data, format::read_npy(tensor.file, tensor.as, &warning));
  if (!warning.empty()) warnings.push_back(std::move(warning));
  if (data.element != tensor.element || data.shape != tensor.shape) {
    return failure(ErrorCode::malformed, "{} changed while being read", escaped(tensor.file));
  }
  tensor.bytes = std::move(data.bytes);
  return {};
}

Result<OpTensor> numbers_or_file(std::string name, const std::string& option,
                                 const std::string& text) {
  if (text.ends_with(".npy")) {
    return open_tensor(std::move(name), option, text, std::nullopt, nullptr);
  }
  auto tensor = parse_numbers(std::move(name), text);
  if (!tensor) return format::in(option, std::move(tensor).error());
  return tensor;
}

}  // namespace dequant::tools
