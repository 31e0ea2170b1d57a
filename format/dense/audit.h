// Checking a dense model against the audit that its conversion wrote.
#pragma once

#include <span>

#include "format/model/model_file.h"

namespace dequant::format::dense {

/// Compares the tensors of a file, whose names are different, with those of an audit; see
/// ModelFile::check_audit(). `bytes` are what the progress counts as all.
Result<AuditReport> check_audit(std::span<const RestTensor> tensors, int64_t bytes,
                                const std::string& audit, const Progress& progress);

}  // namespace dequant::format::dense
