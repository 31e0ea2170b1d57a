// Everything in C++: elements, codes, dialects, plans, execution. The C API is dequant.h.
#pragma once

#include "dequant/codes.h"
#include "dequant/directml.h"
#include "dequant/element.h"
#include "dequant/executor.h"
#include "dequant/explain.h"
#include "dequant/isa.h"
#include "dequant/microsoft.h"
#include "dequant/onnx.h"
#include "dequant/plan.h"
#include "dequant/status.h"
#include "dequant/tensor.h"
#include "dequant/tensorflow.h"
#include "dequant/version.h"
#include "dequant/webnn.h"
