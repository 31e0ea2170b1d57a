// What measure.py calls of a peer in C or C++: one library for each peer, the same four functions.
#ifndef DEQUANT_BENCH_PEERS_NATIVE_H_
#define DEQUANT_BENCH_PEERS_NATIVE_H_

#include <cstdint>

extern "C" {

/// A task over rows x columns elements, ready to run into y; NULL where the peer cannot, and
/// peer_error() says why. Elements by their ONNX numbers. `axis` is that of scales and zero points,
/// -1: one for all. The memory stays the caller's; a task lives as long as the process.
void* peer_make(int x_element, int y_element, int64_t rows, int64_t columns, int axis, int threads,
                const float* scale, const int32_t* zero_point, const void* x, void* y);

/// Computes all of y; not 0 on failure.
int peer_run(void* task);

const char* peer_error();
const char* peer_version();
}

#endif  // DEQUANT_BENCH_PEERS_NATIVE_H_
