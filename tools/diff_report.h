// What `dequant diff` prints.
#pragma once

#include <optional>
#include <string>

#include "format/diff/models.h"

namespace dequant::tools {

/// What a tensor may be apart and still count as no difference; all that are given must hold.
struct DiffLimits {
  std::optional<double> max_abs;
  std::optional<double> max_ulp;
  std::optional<double> min_sqnr;

  bool given() const { return max_abs || max_ulp || min_sqnr; }
};

struct DiffReport {
  std::string a;  ///< paths
  std::string b;
  DiffLimits limits;
  format::ModelDifference difference;
};

/// True for a tensor that is identical, or within limits that are given.
bool within(const DiffLimits& limits, const format::Difference& d);

/// True where all tensors are within the limits, and both files have the same ones.
bool within(const DiffReport& report);

void print_text(const DiffReport& report);
void print_json(const DiffReport& report);

}  // namespace dequant::tools
