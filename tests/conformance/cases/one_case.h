// A case file with one case that passes, which tests break in one place each.
#pragma once

#include <string>
#include <string_view>

namespace dequant::testing {

/// int8 [-1, 0, 2] times 0.5.
inline constexpr std::string_view kCase =
    R"({"name": "half", "dialect": "onnx", "version": 13, "attributes": {"axis": 0},)"
    R"( "inputs": {"x": {"type": "int8", "shape": [3], "bits": [255, 0, 2]},)"
    R"( "scale": {"type": "float32", "shape": [], "bits": [1056964608]}},)"
    R"( "expect": {"y": {"type": "float32", "shape": [3], "bits": [3204448256, 0, 1065353216]}}})";

/// A file with that case, and those after it.
inline std::string case_file(std::string_view cases = kCase) {
  return R"({"format": "dequant-cases", "version": 1, "about": "a test", "cases": [)" +
         std::string(cases) + "]}";
}

/// The text with the only `from` in it replaced.
inline std::string with(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  return at == std::string::npos ? "no " + std::string(from) : text.replace(at, from.size(), to);
}

inline std::string case_with(std::string_view from, std::string_view to) {
  return with(case_file(), from, to);
}

}  // namespace dequant::testing
