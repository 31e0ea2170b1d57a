/* The C API of dequant: make a plan of a node of any dialect, then run the plan on your memory.
 * C99 and C++11, or later. docs/c_api.md shows how the functions work together.
 *
 * Structs that the caller fills or gets filled start with struct_size. Set all of the struct to
 * zero, then struct_size to sizeof the struct, then the fields that you need. A struct smaller than
 * in the first version of the library is refused; a larger one, of a newer header, is accepted if
 * it has at most 4096 bytes and all bytes that this version does not know are zero.
 *
 * A function that can fail returns a dequant_code and takes a dequant_error, which may be NULL and
 * gets the reason as one sentence. No function prints, aborts or throws. A number that is no value
 * of its enumeration is refused with DEQUANT_INVALID_ARGUMENT. */
#ifndef DEQUANT_H_
#define DEQUANT_H_

#include <stddef.h>
#include <stdint.h>

#include "dequant/version.h"
#include "dequant/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ---------------------------------------------------------------------------------- */

/* The result of a call. */
typedef enum dequant_code {
  DEQUANT_OK = 0,
  DEQUANT_INVALID_ARGUMENT = 1, /* an argument or a node breaks a rule of its specification */
  DEQUANT_MALFORMED = 2,        /* bytes contradict their format */
  DEQUANT_LIMIT = 3,            /* a documented limit is exceeded */
  DEQUANT_UNSUPPORTED = 4,      /* legal, but not something dequant does exactly */
  DEQUANT_IO = 5,               /* the system refused to read or write */
  DEQUANT_OUT_OF_MEMORY = 6     /* an allocation failed */
} dequant_code;

/* Bytes of the message of a dequant_error, the NUL at its end included. */
#define DEQUANT_MESSAGE_SIZE 512

/* Why a call failed. Functions that take a pointer to one accept NULL. They set `code` to what they
 * return, and `message` to one sentence that names the tensor or attribute, the rule and the value:
 * UTF-8 without control characters, ended by a NUL, cut between characters if it is too long, and
 * empty after success. If struct_size is wrong, nothing is written to the struct and the function
 * returns DEQUANT_INVALID_ARGUMENT. */
typedef struct dequant_error {
  size_t struct_size;
  dequant_code code;
  char message[DEQUANT_MESSAGE_SIZE];
} dequant_error;

/* The name of a code: "ok", "invalid_argument", ...; "unknown" for any other number. The text is
 * valid until the process ends. */
DEQUANT_EXPORT const char* dequant_code_name(dequant_code code);

/* The version of the library that runs, as "0.1.0"; DEQUANT_VERSION is that of this header. The
 * text is valid until the process ends. */
DEQUANT_EXPORT const char* dequant_version(void);

/* ---- Elements -------------------------------------------------------------------------------- */

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
  DEQUANT_INT2 = 26,
  DEQUANT_FLOAT6E2M3 = 27,
  DEQUANT_FLOAT6E3M2 = 28
} dequant_element;

/* The name of an element, "uint8", ..., valid until the process ends; NULL for any other number. */
DEQUANT_EXPORT const char* dequant_element_name(dequant_element element);
/* The element of that name; DEQUANT_NO_ELEMENT for any other text and for NULL. */
DEQUANT_EXPORT dequant_element dequant_element_from_name(const char* name);
/* Bits of one element: 2, 4, 6, 8, 16 or 32; 0 for a number that is no element. */
DEQUANT_EXPORT int dequant_element_bits(dequant_element element);

/* ---- Block types ----------------------------------------------------------------------------- */

/* Block types by their numbers in GGUF files. A block has the codes and the scales of neighbours of
 * a row side by side. The scheme "gguf" has them. */
typedef enum dequant_block_type {
  DEQUANT_NO_BLOCK_TYPE = -1,
  DEQUANT_Q4_0 = 2,
  DEQUANT_Q4_1 = 3,
  DEQUANT_Q5_0 = 6,
  DEQUANT_Q5_1 = 7,
  DEQUANT_Q8_0 = 8,
  DEQUANT_Q8_1 = 9,
  DEQUANT_Q2_K = 10,
  DEQUANT_Q3_K = 11,
  DEQUANT_Q4_K = 12,
  DEQUANT_Q5_K = 13,
  DEQUANT_Q6_K = 14,
  DEQUANT_Q8_K = 15,
  DEQUANT_IQ2_XXS = 16,
  DEQUANT_IQ2_XS = 17,
  DEQUANT_IQ3_XXS = 18,
  DEQUANT_IQ1_S = 19,
  DEQUANT_IQ4_NL = 20,
  DEQUANT_IQ3_S = 21,
  DEQUANT_IQ2_S = 22,
  DEQUANT_IQ4_XS = 23,
  DEQUANT_IQ1_M = 29,
  DEQUANT_TQ1_0 = 34,
  DEQUANT_TQ2_0 = 35,
  DEQUANT_MXFP4 = 39,
  DEQUANT_NVFP4 = 40,
  DEQUANT_Q1_0 = 41,
  DEQUANT_Q2_0 = 42
} dequant_block_type;

/* The name of a block type, "Q4_K", ..., valid until the process ends; NULL for any other number,
 * also for those of plain types and of types that were removed from GGUF. */
DEQUANT_EXPORT const char* dequant_block_type_name(dequant_block_type type);
/* The block type of that name; DEQUANT_NO_BLOCK_TYPE for any other text and for NULL. */
DEQUANT_EXPORT dequant_block_type dequant_block_type_from_name(const char* name);
/* The elements and the bytes of a block; 0 for a number that is no block type. */
DEQUANT_EXPORT int dequant_block_elements(dequant_block_type type);
DEQUANT_EXPORT int dequant_block_bytes(dequant_block_type type);

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* The type of a tensor. All zero means that an optional tensor is absent. Nodes, and the shapes and
 * attributes that they point to, are read while a plan is made and not kept. */
typedef struct dequant_tensor {
  dequant_element element;
  uint32_t rank;        /* dimensions: 0 for a scalar, at most 64 */
  const int64_t* shape; /* `rank` sizes, outermost first; may be NULL for a scalar */
} dequant_tensor;

/* A node DequantizeLinear of ai.onnx, by the names of its specification. An attribute is a pointer
 * to its value; NULL means that it is absent and takes its default. */
typedef struct dequant_onnx {
  size_t struct_size;
  int64_t opset; /* that the model imports, 10 or more; it decides what else is allowed */
  dequant_tensor x;
  dequant_tensor x_scale;
  dequant_tensor x_zero_point; /* optional: type of x, shape of x_scale */
  const int64_t* axis;         /* since opset 13; default 1, negative counts from the back */
  const int64_t* block_size;   /* since opset 21; default 0: not blocked */
  const int64_t* output_dtype; /* since opset 23, a dequant_element; default 0: that of x_scale */
} dequant_onnx;

/* A node DequantizeLinear of com.microsoft, the contrib operators of ONNX Runtime. */
typedef struct dequant_microsoft {
  size_t struct_size;
  int64_t version; /* of the operator set; only 1 is known */
  dequant_tensor x;
  dequant_tensor x_scale;
  dequant_tensor x_zero_point; /* optional: type of x, shape of x_scale */
  const int64_t* axis;         /* NULL: 1, if x_scale has a number for each index on it */
} dequant_microsoft;

/* The interface that a TensorFlow node was written for. */
typedef enum dequant_tensorflow_version {
  DEQUANT_TENSORFLOW_2 = 0,   /* TensorFlow 2: also axis, narrow_range and dtype */
  DEQUANT_TENSORFLOW_R1_4 = 1 /* TensorFlow 1.4: input, min_range, max_range and mode */
} dequant_tensorflow_version;

/* The attribute mode: by which formula a code becomes a float. docs/numerics.md has the formulas.
 */
typedef enum dequant_tensorflow_mode {
  DEQUANT_MIN_COMBINED = 0,
  DEQUANT_MIN_FIRST = 1,
  DEQUANT_SCALED = 2
} dequant_tensorflow_mode;

/* Which results are wanted, where TensorFlow's kernel and its documentation differ. */
typedef enum dequant_tensorflow_semantics {
  DEQUANT_KERNEL = 0,    /* the bits of TensorFlow's CPU kernel */
  DEQUANT_DOCUMENTED = 1 /* the formulas of the 1.4 documentation in double, rounded once; r1.4 */
} dequant_tensorflow_semantics;

/* A node Dequantize of TensorFlow. The number -1 as an axis means the whole tensor to the operator
 * and the last dimension to Python, so there are two fields, of which at most one may be set:
 * raw_axis is the attribute of tf.raw_ops.Dequantize, python_axis the argument of
 * tf.quantization.dequantize. Both NULL: one range for the whole tensor. */
typedef struct dequant_tensorflow {
  size_t struct_size;
  dequant_tensorflow_version version;
  dequant_tensor input;     /* uint8 for quint8, int8 for qint8, ... */
  dequant_tensor min_range; /* float32: one number, or one for each index on the axis */
  dequant_tensor max_range; /* as min_range */
  dequant_tensorflow_mode mode;
  int narrow_range; /* 0 or 1; of DEQUANT_SCALED: the lowest code of the type is not used */
  const int64_t* raw_axis;
  const int64_t* python_axis;
  dequant_element dtype; /* of the output: 0 or DEQUANT_FLOAT32, or DEQUANT_BFLOAT16 */
  dequant_tensorflow_semantics semantics;
} dequant_tensorflow;

/* An operation dequantizeLinear of WebNN. */
typedef struct dequant_webnn {
  size_t struct_size;
  dequant_tensor input; /* int8, uint8, int32, uint32, int4 or uint4, of at most 8 dimensions */
  dequant_tensor scale; /* float32 or float16; each dimension divides that of input */
  dequant_tensor zero_point; /* type of input, shape of scale */
} dequant_webnn;

/* A stored tensor of a checkpoint, by the name that its scheme gives it: "qweight". */
typedef struct dequant_scheme_tensor {
  const char* name;
  dequant_tensor type;
} dequant_scheme_tensor;

/* An option of a scheme as text: "bits" and "4", "block" and "128,128". */
typedef struct dequant_scheme_option {
  const char* name;
  const char* value;
} dequant_scheme_option;

/* One dense tensor of a quantized checkpoint. docs/dialects.md has the schemes, their tensors and
 * their options. */
typedef struct dequant_scheme {
  size_t struct_size;
  const char* name;                     /* of the scheme: "fp8" */
  const dequant_scheme_tensor* tensors; /* in any order */
  size_t tensor_count;                  /* at most 64 */
  const dequant_scheme_option* options; /* may be NULL if there are none */
  size_t option_count;                  /* at most 64 */
  dequant_element output;               /* DEQUANT_FLOAT32, DEQUANT_FLOAT16 or DEQUANT_BFLOAT16 */
} dequant_scheme;

/* ---- Plans ----------------------------------------------------------------------------------- */

/* A node that has been checked, ready to run. It never changes: any number of threads may use one
 * at the same time. */
typedef struct dequant_plan dequant_plan;

/* Each of these checks a node against its specification and sets *plan to a new plan, which the
 * caller frees with dequant_plan_free. On failure *plan is NULL: DEQUANT_INVALID_ARGUMENT if the
 * node breaks a rule, DEQUANT_UNSUPPORTED if it is legal but not served, DEQUANT_LIMIT if a tensor
 * has more dimensions, or a dequant_scheme more entries, than this header allows,
 * DEQUANT_OUT_OF_MEMORY. */
DEQUANT_EXPORT dequant_code dequant_plan_onnx(const dequant_onnx* node, dequant_plan** plan,
                                              dequant_error* error);
DEQUANT_EXPORT dequant_code dequant_plan_microsoft(const dequant_microsoft* node,
                                                   dequant_plan** plan, dequant_error* error);
DEQUANT_EXPORT dequant_code dequant_plan_tensorflow(const dequant_tensorflow* node,
                                                    dequant_plan** plan, dequant_error* error);
DEQUANT_EXPORT dequant_code dequant_plan_webnn(const dequant_webnn* node, dequant_plan** plan,
                                               dequant_error* error);
/* An operator of DirectML. `desc` points to a DML_OPERATOR_DESC, in which every pointer is valid or
 * NULL; `feature_level` is a DML_FEATURE_LEVEL. Both are declared by DirectML.h, and by
 * dequant/directml/DirectML.h where there is no such header. */
DEQUANT_EXPORT dequant_code dequant_plan_directml(const void* desc, uint32_t feature_level,
                                                  dequant_plan** plan, dequant_error* error);

/* A dense tensor of a quantized checkpoint; dequant_run_scheme runs the plan. */
DEQUANT_EXPORT dequant_code dequant_plan_scheme(const dequant_scheme* node, dequant_plan** plan,
                                                dequant_error* error);

/* Frees a plan; NULL does nothing. The plan must not be used afterwards, nor freed twice. */
DEQUANT_EXPORT void dequant_plan_free(dequant_plan* plan);

/* The types of a plan's tensors and the bytes that its buffers must have; 0 bytes for a tensor that
 * the plan does not take. Those of a scheme are the stored tensors that the plan reads in these
 * places: the bytes of "qweight" are x_bytes. For an operator of DirectML the bytes are the
 * TotalTensorSizeInBytes of its tensors, which include gaps and are multiples of 4. */
typedef struct dequant_sizes {
  size_t struct_size;
  dequant_element x;
  dequant_element scale; /* of a TensorFlow node: the type of min_range and max_range */
  dequant_element y;
  int64_t elements; /* how many elements are dequantized */
  uint64_t x_bytes;
  uint64_t scale_bytes;
  uint64_t zero_point_bytes;
  uint64_t min_range_bytes;
  uint64_t max_range_bytes;
  uint64_t y_bytes;
  uint64_t tensor_scale_bytes; /* of a scheme, as the two below: a second scale */
  uint64_t group_index_bytes;
  uint64_t codebook_bytes; /* 0 where the scheme fixes the values of codes */
  size_t rank;             /* of a scheme: the shape of y; of a node y has the shape of x: 0 */
  const int64_t* shape;    /* outermost dimension first, valid until the plan is freed, or NULL */
} dequant_sizes;

/* Fills *sizes, whose struct_size the caller has set. */
DEQUANT_EXPORT dequant_code dequant_plan_sizes(const dequant_plan* plan, dequant_sizes* sizes,
                                               dequant_error* error);

/* The plan as one line for people: "int4[2, 64, 8] blocked by 32 on the axis, float16 scale ->
 * bfloat16". Valid until the plan is freed; "" for NULL. */
DEQUANT_EXPORT const char* dequant_plan_text(const dequant_plan* plan);

/* ---- Running --------------------------------------------------------------------------------- */

/* The caller's memory and how many bytes each buffer has. Numbers are little-endian, at any
 * alignment; elements follow one another without padding, unless an operator of DirectML has
 * strides. Buffers may be longer than dequant_plan_sizes demands; those that the plan does not take
 * are NULL with 0 bytes. Inputs may overlap one another, but not y. */
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

/* One part of a run. It never fails, and calls no function of the caller. */
typedef void (*dequant_task)(void* context, size_t i);

/* The caller's way to run tasks on threads. It must call task(context, i) once for every i in
 * [0, count), in any order and on any threads, and return 0 when all calls have returned. If it
 * returns another number, throws a C++ exception, or leaves a task out, the run fails and y is
 * incomplete. After the return no task may start or run. It must not leave by longjmp. It is called
 * at most once for each run, and not at all for tensors that one thread does. */
typedef int (*dequant_parallel_for)(void* self, size_t count, dequant_task task, void* context);

/* How results are stored. It changes speed, never the bits. */
typedef enum dequant_stores {
  DEQUANT_STORES_AUTOMATIC = 0, /* streaming if y is above 16 MiB or the last-level cache */
  DEQUANT_STORES_CACHED = 1,    /* ordinary stores: y is in the caches afterwards */
  DEQUANT_STORES_STREAMING = 2  /* past the caches, without reading what is overwritten */
} dequant_stores;

/* How to run. A NULL pointer in place of it means all zero. It never changes the bits. */
typedef struct dequant_options {
  size_t struct_size;
  int threads; /* at most so many, the calling one included; 0: one for each processor */
  dequant_parallel_for
      parallel_for; /* the caller's threads, with threads 0; NULL: dequant's pool */
  void* self;       /* handed to parallel_for unchanged */
  dequant_stores stores;
} dequant_options;

/* Dequantizes the buffers by the plan. All checks come before the first write: after a failure y is
 * as it was, except if the caller's parallel_for failed, which the message says. Fails with
 * DEQUANT_INVALID_ARGUMENT if a buffer is missing, too short or overlaps y, or if a float tensor
 * has a zero point that is not zero. If the system grants no more threads, fewer do the work, down
 * to the calling thread; that is no failure. */
DEQUANT_EXPORT dequant_code dequant_run(const dequant_plan* plan, const dequant_buffers* buffers,
                                        const dequant_options* options, dequant_error* error);

/* The memory of the tensors of a dequant_scheme, one entry for each tensor in the order of the
 * node, and of the dense tensor, row-major. The rest is as of dequant_buffers. */
typedef struct dequant_scheme_buffers {
  size_t struct_size;
  const void* const* tensors;
  const uint64_t* tensor_bytes;
  size_t tensor_count;
  void* y;
  uint64_t y_bytes;
} dequant_scheme_buffers;

/* Dequantizes by a plan of dequant_plan_scheme. Fails as dequant_run does, with messages that name
 * the tensors as the node does, and with DEQUANT_INVALID_ARGUMENT if the number of tensors is not
 * that of the node, or the plan is of another kind. */
DEQUANT_EXPORT dequant_code dequant_run_scheme(const dequant_plan* plan,
                                               const dequant_scheme_buffers* buffers,
                                               const dequant_options* options,
                                               dequant_error* error);

/* ---- Model files ----------------------------------------------------------------------------- */

/* These functions are in libdequant_model (CMake: dequant::model; pkg-config: dequant-model). */

/* An open model file: its list of tensors, and its files, which must not change while it is open.
 * Any number of threads may use one at the same time. */
typedef struct dequant_model dequant_model;

/* An option of one format, by its name on the command line without dashes: {"names", "hf"} of GGUF,
 * {"strip-qdq", NULL} of ONNX. The value of a flag is NULL or empty; any other is refused. */
typedef struct dequant_model_option {
  const char* name;
  const char* value;
} dequant_model_option;

/* How a model file is opened. A NULL pointer in place of it means all zero. */
typedef struct dequant_model_open_options {
  size_t struct_size;
  const dequant_model_option* options;
  size_t option_count;
  int64_t structure_memory; /* bytes for all but tensor data, where more than the format's limit */
} dequant_model_open_options;

/* Opens a file or a folder of any format that dequant reads and sets *model, which the caller
 * closes with dequant_model_close. On failure *model is NULL: DEQUANT_IO, DEQUANT_MALFORMED,
 * DEQUANT_LIMIT, DEQUANT_UNSUPPORTED, DEQUANT_OUT_OF_MEMORY, or DEQUANT_INVALID_ARGUMENT for an
 * option that the format does not have, or a wrong value. */
DEQUANT_EXPORT dequant_code dequant_model_open(const char* path,
                                               const dequant_model_open_options* options,
                                               dequant_model** model, dequant_error* error);

/* Closes a model; NULL does nothing. The model and its texts must not be used afterwards. */
DEQUANT_EXPORT void dequant_model_close(dequant_model* model);

/* The key of the format, "onnx", "safetensors", "gguf" or "tflite", valid until the process ends;
 * "" for NULL. */
DEQUANT_EXPORT const char* dequant_model_format(const dequant_model* model);

/* How many tensors the float model has; 0 for NULL. The quantized ones come first, in the order of
 * the file, then those that are stored as floats. */
DEQUANT_EXPORT size_t dequant_model_tensor_count(const dequant_model* model);
/* How many tensors cannot be read as floats; 0 for NULL. */
DEQUANT_EXPORT size_t dequant_model_left_count(const dequant_model* model);

/* A tensor of a model. Texts and shape are valid until the model is closed; a text that the tensor
 * does not have is "". A NUL within a name ends it here. */
typedef struct dequant_model_tensor {
  size_t struct_size;
  const char* name;        /* of the dense tensor */
  const char* codes;       /* the name of the stored tensor that has its codes */
  const char* node;        /* the node that dequantizes it, in formats with a graph */
  const char* scheme;      /* a domain of ONNX, "gptq", a block type */
  const char* stored;      /* the type of the codes, "uint4" or "Q4_K"; of floats their type */
  const char* reason;      /* of a tensor that cannot be read: why, a sentence */
  dequant_element element; /* the float type that the specification gives */
  size_t rank;
  const int64_t* shape;  /* outermost dimension first */
  uint64_t bytes;        /* of the dense tensor of that type, packed */
  uint64_t stored_bytes; /* in files, of its codes and their parameters */
  int quantized;         /* 0: stored as floats */
} dequant_model_tensor;

/* Fills *tensor, whose struct_size the caller has set, with tensor i. Fails with
 * DEQUANT_INVALID_ARGUMENT if i is dequant_model_tensor_count() or more. */
DEQUANT_EXPORT dequant_code dequant_model_tensor_at(const dequant_model* model, size_t i,
                                                    dequant_model_tensor* tensor,
                                                    dequant_error* error);
/* The same for the tensors that cannot be read: name, node, scheme and reason, the rest zero or
 * empty. */
DEQUANT_EXPORT dequant_code dequant_model_left_at(const dequant_model* model, size_t i,
                                                  dequant_model_tensor* tensor,
                                                  dequant_error* error);

/* Sets *i to the tensor with that name, or whose node or codes have it. Fails with
 * DEQUANT_INVALID_ARGUMENT where none or several have it. */
DEQUANT_EXPORT dequant_code dequant_model_find(const dequant_model* model, const char* name,
                                               size_t* i, dequant_error* error);

/* How a dense tensor is read. A NULL pointer in place of it means all zero. Neither memory nor
 * threads change a bit of it. */
typedef struct dequant_model_read_options {
  size_t struct_size;
  dequant_element output; /* float32, float16 or bfloat16; 0: the element of the tensor */
  int threads;            /* at most so many, the calling one included; 0: one for each processor */
  int64_t memory;         /* bytes of buffers at most; 0: 2^30; never less than about 2^23 */
} dequant_model_read_options;

/* Reads tensor i into y, row-major and packed, little-endian, at any alignment. y_bytes must be
 * exactly its bytes as that output. Fails with DEQUANT_INVALID_ARGUMENT before the first write;
 * with DEQUANT_IO, DEQUANT_MALFORMED, DEQUANT_LIMIT, DEQUANT_UNSUPPORTED or DEQUANT_OUT_OF_MEMORY,
 * when y is incomplete. */
DEQUANT_EXPORT dequant_code dequant_model_read(const dequant_model* model, size_t i, void* y,
                                               uint64_t y_bytes,
                                               const dequant_model_read_options* options,
                                               dequant_error* error);

/* Receives the bytes [offset, offset + count) of a dense tensor, whole elements. Any number but 0
 * ends the read. It must not leave by longjmp. */
typedef int (*dequant_model_band)(void* self, uint64_t offset, const void* bytes, uint64_t count);

/* Reads tensor i in bands of bounded memory, which follow one another from front to back; `band` is
 * called on the calling thread. Fails as dequant_model_read does, and with DEQUANT_INVALID_ARGUMENT
 * if `band` is NULL, returns another number than 0, or throws a C++ exception. */
DEQUANT_EXPORT dequant_code dequant_model_read_bands(const dequant_model* model, size_t i,
                                                     dequant_model_band band, void* self,
                                                     const dequant_model_read_options* options,
                                                     dequant_error* error);

/* Called with the bytes of output that are done and their total, on any thread, one call at a time.
 * Any number but 0 ends the conversion. It must not leave by longjmp. */
typedef int (*dequant_model_progress)(void* self, int64_t done, int64_t total);

/* How a model file is converted. A NULL pointer in place of it means all zero. Globs select the
 * tensors that are dequantized, by their names. */
typedef struct dequant_model_convert_options {
  size_t struct_size;
  const dequant_model_option* options;
  size_t option_count;
  const char* const* include; /* none: all tensors */
  size_t include_count;
  const char* const* exclude;
  size_t exclude_count;
  dequant_element dtype;    /* float32, float16 or bfloat16; 0: as each tensor says */
  int require_float;        /* fail with DEQUANT_UNSUPPORTED where anything stays quantized */
  int dry_run;              /* check everything, write nothing */
  int overwrite;            /* replace an output that is there; else fail with DEQUANT_IO */
  int threads;              /* as in dequant_model_read_options */
  int64_t memory;           /* likewise */
  int64_t structure_memory; /* as in dequant_model_open_options */
  dequant_model_progress progress; /* NULL: none */
  void* self;                      /* handed to progress unchanged */
} dequant_model_convert_options;

/* Converts the model file `input` to the float model `output`, which appears whole or not at all.
 * If `report` is not NULL, *report becomes the report as `dequant convert --json` prints it without
 * the paths, NULL on failure; the caller frees it with dequant_text_free. Fails as
 * dequant_model_open does, with DEQUANT_IO where the output is there or cannot be written, and with
 * DEQUANT_INVALID_ARGUMENT if `progress` ends the conversion. */
DEQUANT_EXPORT dequant_code dequant_model_convert(const char* input, const char* output,
                                                  const dequant_model_convert_options* options,
                                                  char** report, dequant_error* error);

/* Frees a text that a function has made for the caller; NULL does nothing. */
DEQUANT_EXPORT void dequant_text_free(char* text);

/* ---- Targets --------------------------------------------------------------------------------- */

/* A target is an instruction set that the kernels are compiled for. All give the same bits. */

/* How many targets this processor can run. */
DEQUANT_EXPORT size_t dequant_target_count(void);
/* The name of target i, fastest first; the last is "reference", the scalar definition. NULL if i is
 * dequant_target_count() or more. Valid until the process ends. */
DEQUANT_EXPORT const char* dequant_target_name(size_t i);
/* The name of the target in use: the first, unless dequant_force_target or the environment variable
 * DEQUANT_FORCE_TARGET, read when the library is loaded, named another. */
DEQUANT_EXPORT const char* dequant_active_target(void);
/* Uses the named target from now on, in all threads of the process; call it while no other thread
 * runs a plan. Fails with DEQUANT_INVALID_ARGUMENT, and changes nothing, if it cannot run here. */
DEQUANT_EXPORT dequant_code dequant_force_target(const char* name, dequant_error* error);

#ifdef __cplusplus
}
#endif

#endif
