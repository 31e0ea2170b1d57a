// The reports of `dequant diff`.
#pragma once

#include <optional>
#include <string>

#include "format/diff/models.h"

namespace dequant::tools {

/// Limits within which a tensor counts as equal. All limits that are given must hold.
struct DiffLimits {
  std::optional<double> max_abs;
  std::optional<double> max_ulp;
  std::optional<double> min_sqnr;

  bool given() const { return max_abs || max_ulp || min_sqnr; }
};

/// Everything that a report has.
struct DiffReport {
  std::string a;  ///< paths
  std::string b;
  DiffLimits limits;
  format::ModelDifference difference;
};

/// True for a tensor that is identical, or within the limits if any are given.
bool within(const DiffLimits& limits, const format::Difference& d);

/// True where both files have the same tensors, and all are within the limits.
bool within(const DiffReport& report);

void print_text(const DiffReport& report);
void print_json(const DiffReport& report);

}  // namespace dequant::tools
