// The steps of a conversion that several processes carry out.
#pragma once

#include "format/dense/job.h"
#include "format/dense/tensor_writer.h"
#include "format/model/report.h"

namespace dequant::format::dense {

/// Carries out the step of options.share, which is set. The report has what the job reports.
/// Fails with io, malformed or limit, with invalid_argument where the tasks of another conversion
/// are there, and with the error of options.progress.
Result<ShareReport> carry_out(Job& job, const std::string& output, const WriteOptions& options,
                              const StreamOptions& stream);

}  // namespace dequant::format::dense
