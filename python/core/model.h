// Model files of Python programs: tensors on demand, and conversion.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace dequant::python {

/// A path as the system has it. Raises TypeError for what is none, ValueError for a NUL in it.
std::string path_of(nanobind::handle path);

/// Text as the bytes of a file have it: those that are not UTF-8 are surrogates, as in Python's own
/// paths.
nanobind::str to_text(std::string_view bytes);
std::string from_text(const char* parameter, nanobind::handle text);

void add_model(nanobind::module_& core);
void add_convert(nanobind::module_& core);

}  // namespace dequant::python
