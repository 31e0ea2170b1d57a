// Model files in Python: tensors that are dequantized on access, and conversion.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <string_view>

#include "format/model/options.h"

namespace dequant::python {

/// A path as the bytes that the operating system expects. Raises TypeError for an object that is
/// no path, ValueError for a path with a NUL character.
std::string path_of(nanobind::handle path);

/// The memory of a model that is not read from a file: `contents` exports a buffer, which is held
/// until the last reader ends; `folder` is a path or None. Nothing where `contents` is None. Raises
/// TypeError for an object without contiguous bytes.
std::optional<format::ModelBytes> bytes_of(nanobind::handle contents, nanobind::handle folder);

/// Text of a file as str and back. Bytes that are not UTF-8 are surrogates in the str, as in
/// Python's own paths (error handler "surrogateescape").
nanobind::str to_text(std::string_view bytes);
std::string from_text(const char* parameter, nanobind::handle text);

void add_model(nanobind::module_& core);
void add_convert(nanobind::module_& core);
void add_tasks(nanobind::module_& core);

}  // namespace dequant::python
