// The functions of a peer in C or C++ that measure.py calls: one library for each peer.
#ifndef DEQUANT_BENCH_PEERS_NATIVE_H_
#define DEQUANT_BENCH_PEERS_NATIVE_H_

#include <cstdint>

extern "C" {

/// Makes a task that dequantizes rows x columns elements to y. Returns NULL if the peer has no such
/// operator; peer_error() then has the reason. Element types are ONNX numbers. `axis` is the axis
/// of scales and zero points; -1: one scale. The caller owns the buffers. A task is never freed.
void* peer_make(int x_element, int y_element, int64_t rows, int64_t columns, int axis, int threads,
                const float* scale, const int32_t* zero_point, const void* x, void* y);

/// Computes all of y. Returns a number other than 0 on failure.
int peer_run(void* task);

const char* peer_error();
const char* peer_version();
}

#endif  // DEQUANT_BENCH_PEERS_NATIVE_H_
