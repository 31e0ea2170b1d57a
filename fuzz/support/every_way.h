// One plan, carried out in several ways.
#pragma once

#include "fuzz/support/tensors.h"

namespace dequant::fuzz {

/// Runs the plan on the reference target, then on any target with any kind of stores, through the
/// kernels of devices, and in ranges or with a buffer too short, as the input says: aborts unless
/// all give the same bits, and unless a run that fails leaves y untouched. Returns y, or nothing
/// where all refuse.
std::optional<Exact> run_several_ways(const Plan& plan, const Tensors& tensors, Cursor& cursor);

}  // namespace dequant::fuzz
