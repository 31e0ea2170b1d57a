"""ONNX Runtime: a model of one DequantizeLinear, with inputs and output in existing memory."""

import onnx
import onnxruntime
from cells import BLOCK
from engine import ONNX
from onnx import helper
from peers import Peer, Task


class OnnxRuntime(Peer):
    name, version = "ONNX Runtime", onnxruntime.__version__

    def can(self, cell, threads):
        return cell.linear

    def task(self, cell, tensors, y, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(self._model(cell, tensors), options,
                                               providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        inputs = {"x": (cell.x, tensors.shape, tensors.x),
                  "scale": (cell.y, tensors.scale_shape, tensors.scale),
                  "zero_point": (cell.x, tensors.scale_shape, tensors.zero_point)}
        for value in session.get_inputs():
            element, shape, data = inputs[value.name]
            binding.bind_input(value.name, "cpu", 0, ONNX[element], list(shape), data.ctypes.data)
        binding.bind_output("y", "cpu", 0, ONNX[cell.y], list(tensors.shape), y.ctypes.data)
        return Task(lambda: session.run_with_iobinding(binding), lambda: y)

    @staticmethod
    def _model(cell, tensors):
        def value(name, element, shape):
            return helper.make_tensor_value_info(name, ONNX[element], shape)
        inputs = [value("x", cell.x, tensors.shape), value("scale", cell.y, tensors.scale_shape)]
        if tensors.zero_point is not None:
            inputs.append(value("zero_point", cell.x, tensors.scale_shape))
        attributes = {}
        if cell.granularity != "per tensor":
            attributes["axis"] = cell.axis
        if cell.granularity == "blocked 32":
            attributes["block_size"] = BLOCK
        node = helper.make_node("DequantizeLinear", [i.name for i in inputs], ["y"], **attributes)
        graph = helper.make_graph([node], "g", inputs, [value("y", cell.y, tensors.shape)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        onnx.checker.check_model(model)
        return model.SerializeToString()


def load(name, threads):
    return [OnnxRuntime()]
