// ONNX models as a format of model files.
#include "format/onnx/format.h"

#include "format/onnx/onnx_file.h"
#include "format/onnx/options.h"

namespace dequant::format::onnx {
namespace {

constexpr Words kWords{
    .has_graph = true,
    .all = "dequantizations",
    .dense = "of constants",
    .dense_title = "Dequantized constants",
    .left_title = "Other dequantizations",
    .others_title = "Quantized constants that no node dequantizes",
    .name_title = "output",
    .source_title = "x",
    .scheme_title = "the operator set",
    .implied_scheme = "ai.onnx",
    .tensors_key = "nodes",
    .others_key = "other_constants",
    .name_key = "output",
    .source_key = "x",
    .scheme_key = "domain",
    .dense_key = "constant",
    .converted_key = "folded",
    .converted_title = "became a constant",
    .converted = "dequantizations folded",
    .none_of_name = "has no constant and no dequantized constant of that name",
    .several_of_name = "several tensors have that name: the outputs",
    .not_dequantized = "a constant that no node dequantizes",
    .nothing_to_extract = "no dequantized constant, so there is nothing to extract",
};

}  // namespace

const Format kFormat{.name = "onnx",
                     .files = "ONNX models",
                     .words = kWords,
                     .options = kOptions,
                     .recognises = [](const Probe&) { return true; },
                     .open = &OnnxFile::open,
                     .writes_to_memory = true,
                     .has_shares = true};

}  // namespace dequant::format::onnx
