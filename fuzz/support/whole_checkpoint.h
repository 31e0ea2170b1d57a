// What holds for every checkpoint that can be opened.
#pragma once

#include <memory>

#include "format/model/model_file.h"

namespace dequant::fuzz {

/// Opens the folder; null where it is refused, then twice with the same words.
std::unique_ptr<format::ModelFile> open_checkpoint(const std::string& path,
                                                   const format::OpenOptions& options);

/// Names are different, shapes are those of plans, and a tensor has one use. True where something
/// becomes floats.
bool check_tensors(format::ModelFile& file);

}  // namespace dequant::fuzz
