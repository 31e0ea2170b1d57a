/* The C API of dequant: plan a node of any dialect, then run the plan on your memory. C11 and C++.
 *
 * Structs that callers own start with struct_size: set it to sizeof the struct and all else to zero,
 * then what you need. A struct smaller than this version's is refused; a larger one, of a newer version,
 * is accepted while everything beyond is zero and it has at most 4096 bytes. A call that can fail
 * returns a dequant_code; with a dequant_error it also says why, in one sentence. Nothing here prints,
 * aborts, or throws; numbers that are no enumerator are refused like other wrong arguments. */
#ifndef DEQUANT_H_
#define DEQUANT_H_

#include <stddef.h>
#include <stdint.h>

#include "dequant/export.h"
#include "dequant/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ------------------------------------------------------------------------------------ */

typedef enum dequant_code {
  DEQUANT_OK = 0,
  DEQUANT_INVALID_ARGUMENT = 1, /* an argument or a node breaks a rule of its specification */
  DEQUANT_MALFORMED = 2,        /* bytes contradict their format */
  DEQUANT_LIMIT = 3,            /* a documented limit is exceeded */
  DEQUANT_UNSUPPORTED = 4,      /* legal, but not something dequant does exactly */
  DEQUANT_IO = 5,
  DEQUANT_OUT_OF_MEMORY = 6
} dequant_code;

#define DEQUANT_MESSAGE_SIZE 512

/* Where a call puts its reason; NULL is allowed everywhere. `message` is UTF-8 without control
 * characters, ends with a NUL and is empty after success; a longer one is cut between characters. A
 * dequant_error of a wrong struct_size stays as it is, and the call is DEQUANT_INVALID_ARGUMENT. */
typedef struct dequant_error {
  size_t struct_size;
  dequant_code code;
  char message[DEQUANT_MESSAGE_SIZE];
} dequant_error;

/* "ok", "invalid_argument", ...; "unknown" for any other number. */
DEQUANT_EXPORT const char* dequant_code_name(dequant_code code);

/* "0.1.0": of the library that runs; DEQUANT_VERSION is that of this header. */
DEQUANT_EXPORT const char* dequant_version(void);

/* ---- Elements ---------------------------------------------------------------------------------- */

/* Element types by their numbers in onnx.TensorProto.DataType. */
typedef enum dequant_element {
  DEQUANT_NO_ELEMENT = 0,
  DEQUANT_FLOAT32 = 1,
  DEQUANT_UINT8 = 2,
  DEQUANT_INT8 = 3,
  DEQUANT_UINT16 = 4,
  DEQUANT_INT16 = 5,
  DEQUANT_INT32 = 6,
  DEQUANT_FLOAT16 = 10,
  DEQUANT_UINT32 = 12,
  DEQUANT_BFLOAT16 = 16,
  DEQUANT_FLOAT8E4M3FN = 17,
  DEQUANT_FLOAT8E4M3FNUZ = 18,
  DEQUANT_FLOAT8E5M2 = 19,
  DEQUANT_FLOAT8E5M2FNUZ = 20,
  DEQUANT_UINT4 = 21,
  DEQUANT_INT4 = 22,
  DEQUANT_FLOAT4E2M1 = 23,
  DEQUANT_FLOAT8E8M0 = 24,
  DEQUANT_UINT2 = 25,
  DEQUANT_INT2 = 26
} dequant_element;

/* "uint8", ...; NULL for a number that is no element. */
DEQUANT_EXPORT const char* dequant_element_name(dequant_element element);
/* DEQUANT_NO_ELEMENT for a name that is none, and for NULL. */
DEQUANT_EXPORT dequant_element dequant_element_from_name(const char* name);
/* Bits of one element: 2, 4, 8, 16 or 32; 0 for a number that is no element. */
DEQUANT_EXPORT int dequant_element_bits(dequant_element element);

/* ---- Nodes ------------------------------------------------------------------------------------- */

/* The type of a tensor. rank 0 is a scalar, whose shape may be NULL; ranks above 64 are refused. All
 * zero says that an optional tensor is absent. Nodes, shapes and attributes are read only while a plan
 * is made. */
typedef struct dequant_tensor {
  dequant_element element;
  uint32_t rank;
  const int64_t* shape;
} dequant_tensor;

/* ai.onnx DequantizeLinear. A NULL attribute is absent. */
typedef struct dequant_onnx {
  size_t struct_size;
  int64_t opset; /* of the model, 10 and up */
  dequant_tensor x;
  dequant_tensor x_scale;
  dequant_tensor x_zero_point; /* optional */
  const int64_t* axis;         /* since 13, default 1 */
  const int64_t* block_size;   /* since 21, default 0: not blocked */
  const int64_t* output_dtype; /* since 23, a dequant_element; 0: that of x_scale */
} dequant_onnx;

/* com.microsoft DequantizeLinear. */
typedef struct dequant_microsoft {
  size_t struct_size;
  int64_t version; /* 1 */
  dequant_tensor x;
  dequant_tensor x_scale;
  dequant_tensor x_zero_point; /* optional */
  const int64_t* axis;
} dequant_microsoft;

typedef enum dequant_tensorflow_version {
  DEQUANT_TENSORFLOW_2 = 0,   /* the interface of today */
  DEQUANT_TENSORFLOW_R1_4 = 1 /* input, min_range, max_range, mode */
} dequant_tensorflow_version;

typedef enum dequant_tensorflow_mode {
  DEQUANT_MIN_COMBINED = 0,
  DEQUANT_MIN_FIRST = 1,
  DEQUANT_SCALED = 2
} dequant_tensorflow_mode;

typedef enum dequant_tensorflow_semantics {
  DEQUANT_KERNEL = 0,    /* the bits of TensorFlow's own CPU kernel */
  DEQUANT_DOCUMENTED = 1 /* the formulas of the r1.4 page, in double, rounded once */
} dequant_tensorflow_semantics;

/* TensorFlow Dequantize. The axis has two readings and so two fields, of which at most one is not NULL:
 * raw_axis is the raw op's (-1: per tensor), python_axis that of tf.quantization.dequantize (-1: the
 * last dimension). Both NULL: per tensor. */
typedef struct dequant_tensorflow {
  size_t struct_size;
  dequant_tensorflow_version version;
  dequant_tensor input; /* uint8 for quint8, int8 for qint8, ... */
  dequant_tensor min_range;
  dequant_tensor max_range;
  dequant_tensorflow_mode mode;
  int narrow_range; /* 0 or 1 */
  const int64_t* raw_axis;
  const int64_t* python_axis;
  dequant_element dtype; /* of the output; 0 means DEQUANT_FLOAT32 */
  dequant_tensorflow_semantics semantics;
} dequant_tensorflow;

/* WebNN dequantizeLinear. */
typedef struct dequant_webnn {
  size_t struct_size;
  dequant_tensor input;
  dequant_tensor scale;
  dequant_tensor zero_point;
} dequant_webnn;

/* ---- Plans ------------------------------------------------------------------------------------- */

/* A checked node, ready to run. Immutable: any number of threads may use one at once. */
typedef struct dequant_plan dequant_plan;

/* Each checks a node against its specification and makes a plan, to be freed with dequant_plan_free.
 * On failure *plan is NULL. */
DEQUANT_EXPORT dequant_code dequant_plan_onnx(const dequant_onnx* node, dequant_plan** plan,
                                              dequant_error* error);
DEQUANT_EXPORT dequant_code dequant_plan_microsoft(const dequant_microsoft* node,
                                                   dequant_plan** plan, dequant_error* error);
DEQUANT_EXPORT dequant_code dequant_plan_tensorflow(const dequant_tensorflow* node,
                                                    dequant_plan** plan, dequant_error* error);
DEQUANT_EXPORT dequant_code dequant_plan_webnn(const dequant_webnn* node, dequant_plan** plan,
                                               dequant_error* error);
/* `desc` is a const DML_OPERATOR_DESC*, every pointer below it valid or NULL, and `feature_level` a
 * DML_FEATURE_LEVEL: those of DirectML.h or of dequant/directml/DirectML.h. */
DEQUANT_EXPORT dequant_code dequant_plan_directml(const void* desc, uint32_t feature_level,
                                                  dequant_plan** plan, dequant_error* error);

/* NULL is allowed. A plan must not be used after it, nor freed twice. */
DEQUANT_EXPORT void dequant_plan_free(dequant_plan* plan);

/* What a plan needs. Bytes are those of the buffers, 0 for those it does not take. For a DirectML
 * operator they are those of its bindings, TotalTensorSizeInBytes, gaps and rounding to 4 included. */
typedef struct dequant_sizes {
  size_t struct_size;
  dequant_element x;
  dequant_element scale; /* or, of rules that take ranges, that of both */
  dequant_element y;
  int64_t elements; /* that are dequantized */
  uint64_t x_bytes;
  uint64_t scale_bytes;
  uint64_t zero_point_bytes;
  uint64_t min_range_bytes;
  uint64_t max_range_bytes;
  uint64_t y_bytes;
} dequant_sizes;

DEQUANT_EXPORT dequant_code dequant_plan_sizes(const dequant_plan* plan, dequant_sizes* sizes,
                                               dequant_error* error);

/* One line for people, valid as long as the plan; "" for NULL. */
DEQUANT_EXPORT const char* dequant_plan_text(const dequant_plan* plan);

/* ---- Running ----------------------------------------------------------------------------------- */

/* The caller's memory: little-endian, at any alignment, packed unless a DirectML operator has strides.
 * Buffers may be longer than needed; inputs may overlap one another, but not y. */
typedef struct dequant_buffers {
  size_t struct_size;
  const void* x;
  uint64_t x_bytes;
  const void* scale;
  uint64_t scale_bytes;
  const void* zero_point;
  uint64_t zero_point_bytes;
  const void* min_range;
  uint64_t min_range_bytes;
  const void* max_range;
  uint64_t max_range_bytes;
  void* y;
  uint64_t y_bytes;
} dequant_buffers;

/* Never fails, and calls nothing of the caller's. */
typedef void (*dequant_task)(void* context, size_t i);

/* "Call task(context, i) once for every i in [0, count), in any order, on any threads; return 0 when
 * all are done." Any other return, a C++ exception, or a task left out means that it gave up: the run
 * then fails and y is incomplete. Once it is left no task may run or start. It must not longjmp. Called
 * at most once for a run, and not for tensors small enough for one thread. */
typedef int (*dequant_parallel_for)(void* self, size_t count, dequant_task task, void* context);

typedef enum dequant_stores {
  DEQUANT_STORES_AUTOMATIC = 0, /* streaming above 16 MiB, or a smaller last-level cache */
  DEQUANT_STORES_CACHED = 1,
  DEQUANT_STORES_STREAMING = 2
} dequant_stores;

/* How to run; NULL in its place is all zero. It never changes the bits. */
typedef struct dequant_options {
  size_t struct_size;
  int threads; /* at most; 0 and more than processors: all of them; 1: the caller's alone */
  dequant_parallel_for parallel_for; /* the caller's threads; `threads` is 0 then. NULL: ours */
  void* self;                        /* handed to parallel_for */
  dequant_stores stores;
} dequant_options;

/* Dequantizes. Checks everything before the first write; when it fails y is untouched, unless the
 * message says that it is incomplete, which is when the caller's parallel_for gave up. Where the system
 * has no thread left, fewer do the work, down to the caller's own. */
DEQUANT_EXPORT dequant_code dequant_run(const dequant_plan* plan, const dequant_buffers* buffers,
                                        const dequant_options* options, dequant_error* error);

/* ---- Targets ----------------------------------------------------------------------------------- */

/* Instruction sets that run here, best first; all give the same bits. The last is "reference". */
DEQUANT_EXPORT size_t dequant_target_count(void);
/* NULL beyond the last. */
DEQUANT_EXPORT const char* dequant_target_name(size_t i);
DEQUANT_EXPORT const char* dequant_active_target(void);
/* For the whole process. */
DEQUANT_EXPORT dequant_code dequant_force_target(const char* name, dequant_error* error);

#ifdef __cplusplus
}
#endif

#endif
