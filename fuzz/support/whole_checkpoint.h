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

/// Elements of a tensor: none where a size is 0, though the product of the others may not fit.
int64_t count_of(std::span<const int64_t> shape);

/// Names are different, shapes are those of plans, and a tensor has one use. True where something
/// becomes floats.
bool check_tensors(format::ModelFile& file);

}  // namespace dequant::fuzz
