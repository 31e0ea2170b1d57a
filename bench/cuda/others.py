"""The peers of a comparison on a device. A peer has a name, a version, and `task(cell, tensors,
out)`: a function that computes the cell once and returns the floats, or None if the peer has no
operator for it. Making a peer or a task, or its first call, may raise any exception."""

import torch

#: Numbers of types in ONNX models.
ONNX = {"float32": 1, "uint8": 2, "float16": 10, "bfloat16": 16, "int4": 22}


class Eager:
    name = "torch eager"

    def __init__(self, device):
        self.version = torch.__version__

    def task(self, cell, tensors, out):
        return lambda: cell.expression(**tensors)


class Compiled(Eager):
    name = "torch.compile"

    def task(self, cell, tensors, out):
        torch._dynamo.reset()
        function = torch.compile(cell.expression, dynamic=False)
        return lambda: function(**tensors)


class Bitsandbytes:
    """Its functions allocate their results, as torch's expressions do."""
    name = "bitsandbytes"

    def __init__(self, device):
        import bitsandbytes
        from bitsandbytes import functional
        self.version, self.functional = bitsandbytes.__version__, functional

    def task(self, cell, tensors, out):
        if cell.kind == "4bit":
            state = self.functional.QuantState(
                tensors["absmax"], shape=out.shape, code=tensors["quant_map"], blocksize=64,
                quant_type=cell.options["type"], dtype=out.dtype)
            return lambda: self.functional.dequantize_4bit(tensors["weight"], state)
        if cell.kind == "int8":
            return lambda: self.functional.int8_vectorwise_dequant(tensors["weight"],
                                                                   tensors["SCB"])
        return None


class OnnxRuntime:
    """A model of one DequantizeLinear, whose inputs and output are bound to the tensors. On a
    device it may run nothing on the CPU, and computes on the current stream without waiting."""
    name = "ONNX Runtime"

    def __init__(self, device):
        import onnxruntime
        self.version, self.runtime, self.device = onnxruntime.__version__, onnxruntime, device
        provider = "CPUExecutionProvider" if device == "cpu" else "CUDAExecutionProvider"
        if provider not in onnxruntime.get_available_providers():
            raise RuntimeError(f"this onnxruntime has no {provider}: onnxruntime-gpu has it")
        self.provider = provider

    def session(self, model):
        options = self.runtime.SessionOptions()
        options.log_severity_level = 3
        how = {}
        if self.device == "cpu":
            options.intra_op_num_threads = torch.get_num_threads()
        else:
            options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
            stream = torch.cuda.current_stream().cuda_stream
            # The default stream has the number 0, which the provider takes for none.
            assert stream, "a stream of its own must be current"
            how = {"device_id": torch.cuda.current_device(), "user_compute_stream": str(stream)}
        session = self.runtime.InferenceSession(model, options, providers=[(self.provider, how)])
        # A provider that cannot be loaded is silently replaced by the CPU's, which would be given
        # addresses of the device.
        if self.provider not in session.get_providers():
            raise RuntimeError(f"{self.provider} could not be loaded: its libraries are missing")
        return session

    def task(self, cell, tensors, out):
        if cell.kind != "onnx":
            return None
        session = self.session(model_of(cell, out.shape, tensors))
        binding = session.io_binding()
        where = (("cpu", 0) if self.device == "cpu" else ("cuda", torch.cuda.current_device()))
        for name, shape in shapes_of(out.shape, tensors).items():
            number = ONNX[cell.output if name == "scale" else cell.options["type"]]
            binding.bind_input(name, *where, number, list(shape), tensors[name].data_ptr())
        binding.bind_output("y", *where, ONNX[cell.output], list(out.shape), out.data_ptr())
        how = self.runtime.RunOptions()
        how.add_run_config_entry("disable_synchronize_execution_providers", "1")

        def run():
            session.run_with_iobinding(binding, how)
            return out
        return run


def shapes_of(shape, tensors):
    """Input of the model -> its shape."""
    scales = tensors["scale"].shape
    return {"x": shape, "scale": scales, "zero_point": scales}


def model_of(cell, shape, tensors):
    import onnx
    from onnx import helper
    numbers = {"scale": ONNX[cell.output]}
    inputs = [helper.make_tensor_value_info(name, numbers.get(name, ONNX[cell.options["type"]]),
                                            list(of))
              for name, of in shapes_of(shape, tensors).items()]
    y = helper.make_tensor_value_info("y", ONNX[cell.output], list(shape))
    attributes = {name: cell.options[name] for name in ("axis", "block_size")
                  if cell.options.get(name) is not None}
    node = helper.make_node("DequantizeLinear", [i.name for i in inputs], ["y"], **attributes)
    graph = helper.make_graph([node], "g", inputs, [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(model)
    return model.SerializeToString()


#: Name of the option -> the peer, and the package to install where it is missing.
PEERS = {"torch": (Eager, "torch"), "compile": (Compiled, "torch"),
         "bitsandbytes": (Bitsandbytes, "bitsandbytes"),
         "onnxruntime": (OnnxRuntime, "onnxruntime-gpu onnx")}
