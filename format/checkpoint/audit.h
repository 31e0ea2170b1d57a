// Checking a checkpoint against the audit that its conversion wrote.
#pragma once

#include "format/checkpoint/shards.h"
#include "format/model/model_file.h"

namespace dequant::format::checkpoint {

/// See ModelFile::check_audit().
Result<AuditReport> check_audit(const Shards& shards, const std::string& audit,
                                const Progress& progress);

}  // namespace dequant::format::checkpoint
