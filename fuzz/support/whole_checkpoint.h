// What holds for every checkpoint that can be opened.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "format/model/model_file.h"

namespace dequant::fuzz {

/// Opens the folder; null where it is refused, then twice with the same words.
std::unique_ptr<format::ModelFile> open_checkpoint(const std::string& path,
                                                   const format::OpenOptions& options);

/// The number of elements of a tensor that is in a file. element_count() fails if the product of
/// the sizes but zeros does not fit in int64_t; a file holds such a shape only with a size of 0.
int64_t count_of(std::span<const int64_t> shape);

/// Names are different, shapes are those of plans, and a tensor has one use. True where something
/// becomes floats.
bool check_tensors(format::ModelFile& file);

}  // namespace dequant::fuzz
