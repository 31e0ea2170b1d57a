// Threads that take neighbouring rows and columns together, where neighbours in y are far apart in
// x: 8 rows of 4 vectors. Rows next to each other read the same 32 bytes of x.
#pragma once

namespace dequant::cuda {

inline constexpr int kTileRows = 8;
inline constexpr int kTileVectors = 4;
inline constexpr int kTileThreads = kTileRows * kTileVectors;

}  // namespace dequant::cuda
