// A description of how run() would carry out a plan: for logs, bug reports and benchmarks.
#pragma once

#include <string>

#include "dequant/export.h"
#include "dequant/plan.h"

namespace dequant {

/// How run() would carry out `plan` with `options` on the active target (isa.h), for a y that
/// starts at a cache line: how elements get their scales, whether results are stored past the
/// caches, and into how many chunks y is cut. For example "groups, streamed, 1024 chunks on
/// avx512_bf16". The text is for people: its words may change with every release. Nothing is
/// dequantized, and the executor of `options` is not called. Fails with invalid_argument where
/// run() does because a number of the plan breaks a rule.
DEQUANT_EXPORT Result<std::string> explain(const Plan& plan, const RunOptions& options = {});

}  // namespace dequant
