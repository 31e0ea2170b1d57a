"""Quantizers of producers, and what each says its weights are: two functions for each tool.

The first writes a checkpoint of a dense folder. The second gives a model whose weights the producer
dequantized, by its own converter of folders, its loader in transformers, or its tensors' own
function.
"""

import json
import shutil

import torch
from safetensors.torch import load_file, save_file
from transformers import (AutoModelForCausalLM, BitsAndBytesConfig, FineGrainedFP8Config,
                          Mxfp4Config, PreTrainedTokenizerFast, TorchAoConfig)

from models import VOCABULARY, loaded, logits

#: Modules that no tool quantizes here: transformers keeps these as they are.
KEPT = ["lm_head", "re:.*embed_tokens", "re:.*mlp.gate$", "re:.*router"]


def config_of(folder):
    return json.loads((folder / "config.json").read_text())


def write(folder, tensors, config):
    """A checkpoint of one file."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()},
              folder / "model.safetensors", {"format": "pt"})


def plain(folder, tensors, where):
    """A model of dense tensors and the configuration of a quantized folder."""
    config = config_of(folder)
    del config["quantization_config"]
    write(where, tensors, config)
    return loaded(where)[0]


def modules(tensors, end):
    return [name.removesuffix(end) for name in tensors if name.endswith(end)]


# LLM Compressor; compressed-tensors.

def llm_compressor(scheme):
    def quantize(dense, folder):
        from llmcompressor import model_free_ptq
        model_free_ptq(str(dense), str(folder), scheme=scheme, ignore=KEPT, device="cpu")
    return quantize


def compressed_tensors(folder, where):
    """Its converter takes norms for quantized weights where a group has codes named "weight"."""
    from compressed_tensors.entrypoints.convert import (CompressedTensorsDequantizer,
                                                        convert_checkpoint)
    converter = CompressedTensorsDequantizer(str(folder), ignore=["re:.*norm"])
    convert_checkpoint(str(folder), str(where), converter, max_workers=1, device="cpu")
    return loaded(where)[0]


# FP8 and MXFP4 of transformers.

def fp8(scale_format="float"):
    """The weights of transformers' quantizer. Its own save_pretrained refuses experts."""
    section = {"quant_method": "fp8", "activation_scheme": "dynamic", "scale_fmt": scale_format,
               "weight_block_size": [128, 128], "modules_to_not_convert": ["lm_head"]}

    def quantize(dense, folder):
        from transformers.integrations.finegrained_fp8 import Fp8Quantize
        config = type("", (), section)
        op = Fp8Quantize(type("", (), {"quantization_config": config}))
        tensors = {}
        for name, tensor in load_file(dense / "model.safetensors").items():
            kept = any(word in name for word in ("lm_head", "embed_tokens", "mlp.gate.", "norm"))
            tensors |= {name: tensor} if kept else op.convert({name: tensor})
        write(folder, tensors, config_of(dense) | {"quantization_config": section})
    return quantize


def transformers_fp8(folder, _):
    return loaded(folder, quantization_config=FineGrainedFP8Config(dequantize=True))[0]


def mxfp4(dense, folder):
    """ModelOpt's quantizer, in the layout of gpt-oss: transformers' own needs a GPU."""
    from modelopt.torch.quantization.qtensor import MXFP4QTensor
    tensors = {}
    for name, tensor in load_file(dense / "model.safetensors").items():
        if not name.endswith(("gate_up_proj", "down_proj")):
            tensors[name] = tensor
            continue
        quantized, scale = MXFP4QTensor.quantize(tensor.transpose(1, 2).contiguous(), 32)
        experts, columns, rows = tensor.shape
        groups = columns // 32
        tensors[name + "_blocks"] = quantized._quantized_data.reshape(experts, rows, groups, 16)
        tensors[name + "_scales"] = scale.reshape(experts, rows, groups)
    section = {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}
    write(folder, tensors, config_of(dense) | {"quantization_config": section})


def transformers_mxfp4(folder, _):
    return loaded(folder, quantization_config=Mxfp4Config(dequantize=True))[0]


# BitNet of transformers, whose quantizers are parts of training: absmean, as onebitllms has it.

def bitnet(linear_class):
    section = {"quant_method": "bitnet", "linear_class": linear_class,
               "quantization_mode": "offline"}

    def quantize(dense, folder):
        from transformers.integrations import pack_weights
        tensors = {}
        for name, tensor in load_file(dense / "model.safetensors").items():
            if tensor.ndim != 2 or any(word in name for word in ("lm_head", "embed_tokens")):
                tensors[name] = tensor
                continue
            scale = 1 / tensor.abs().mean().clamp(min=1e-5)
            tensors[name] = pack_weights((tensor * scale).round().clamp(-1, 1))
            scale = scale if linear_class == "bitlinear" else 1 / scale
            tensors[name + "_scale"] = scale.view(1)
        write(folder, tensors, config_of(dense) | {"quantization_config": section})
    return quantize


def bitnet_model(folder, where):
    from transformers.integrations.bitnet import AutoBitLinear, BitLinear, unpack_weights
    torch.compiler.set_stance("force_eager")
    tensors = load_file(folder / "model.safetensors")
    for name, module in loaded(folder)[0].named_modules():
        if isinstance(module, BitLinear):
            codes = unpack_weights(module.weight, module.dtype)
            tensors[name + ".weight"] = codes / tensors.pop(name + ".weight_scale")
        elif isinstance(module, AutoBitLinear):
            weight = module.weight.detach()
            tensors[name + ".weight"] = weight * tensors.pop(name + ".weight_scale")
    return plain(folder, tensors, where)


# bitsandbytes, torchao, quanto.

def bitsandbytes(**options):
    def quantize(dense, folder):
        model = AutoModelForCausalLM.from_pretrained(
            dense, quantization_config=BitsAndBytesConfig(**options), device_map="cpu")
        model.save_pretrained(folder)
    return quantize


def bitsandbytes_model(folder, _):
    model = AutoModelForCausalLM.from_pretrained(folder, device_map="cpu",
                                                 attn_implementation="eager")
    return model.dequantize().eval()


def conv1d(dequantized_model):
    """The model of GPT-2, whose Conv1D has the transposes of what the producer quantized."""
    def model(folder, where):
        tensors = {name: tensor.t() if name.endswith((".c_attn.weight", ".c_proj.weight",
                                                      ".c_fc.weight")) else tensor
                   for name, tensor in dequantized_model(folder, where).state_dict().items()}
        return plain(folder, tensors, where)
    return model


def torchao(make):
    def quantize(dense, folder):
        import torchao.quantization as ao
        model = AutoModelForCausalLM.from_pretrained(
            dense, quantization_config=TorchAoConfig(make(ao)), dtype=torch.bfloat16)
        model.save_pretrained(folder)
    return quantize


def dequantized(model):
    """The model with plain weights in place of tensors that know how to dequantize themselves."""
    for module in model.modules():
        weight = getattr(module, "weight", None)
        if type(weight) not in (torch.nn.Parameter, torch.Tensor, type(None)):
            values = weight.dequantize()
            del module._parameters["weight"]
            module.register_parameter("weight", torch.nn.Parameter(values, requires_grad=False))
    return model


def torchao_model(folder, _):
    return dequantized(loaded(folder)[0])


def quanto(weights):
    def quantize(dense, folder):
        import optimum.quanto
        model = AutoModelForCausalLM.from_pretrained(dense)
        optimum.quanto.QuantizedModelForCausalLM.quantize(
            model, weights=getattr(optimum.quanto, weights), exclude="lm_head"
        ).save_pretrained(folder)
    return quantize


def quanto_model(folder, where):
    from optimum.quanto import QuantizedModelForCausalLM
    model = QuantizedModelForCausalLM.from_pretrained(folder)
    tensors = load_file(folder / "model.safetensors")
    read = dict(model._wrapped.named_modules())
    dense = {name: tensor for name, tensor in tensors.items()
             if not name.endswith(("_scale", "._data"))}
    for name in modules(tensors, ".weight._data"):
        dense[name + ".weight"] = read[name].weight.dequantize()
    config = config_of(folder)
    write(where, dense, config)
    return loaded(where)[0]


# ModelOpt.

def modelopt(name):
    def quantize(dense, folder):
        import modelopt.torch.quantization as mtq
        from modelopt.torch.export import export_hf_checkpoint
        model = AutoModelForCausalLM.from_pretrained(dense, attn_implementation="eager")
        mtq.quantize(model, getattr(mtq, name), forward_loop=logits)
        export_hf_checkpoint(model, export_dir=folder)
    return quantize


def modelopt_model(folder, where):
    from modelopt.torch.quantization import qtensor as q
    tensors = load_file(folder / "model.safetensors")
    algorithm = json.loads((folder / "hf_quant_config.json").read_text())["quantization"]
    algorithm = algorithm["quant_algo"].upper()
    for name in modules(tensors, ".weight_scale"):
        weight, scale = (tensors.pop(name + end) for end in (".weight", ".weight_scale"))
        shape = list(weight.shape)
        if "FP4" in algorithm:
            shape[-1] *= 2
        kind = {"FP8": q.FP8QTensor, "FP8_PB_WO": q.FP8QTensor, "MXFP4": q.MXFP4QTensor,
                "MXFP8": q.MXFP8QTensor, "NVFP4": q.NVFP4QTensor,
                "W8A8_SQ_PER_CHANNEL": q.INT8QTensor}[algorithm]
        more = {"scale": scale}
        if algorithm == "NVFP4":
            more |= {"double_scale": tensors.pop(name + ".weight_scale_2"),
                     "block_sizes": {-1: 16}}
        elif algorithm in ("MXFP4", "MXFP8"):
            more["block_sizes"] = {-1: 32}
        elif algorithm == "W8A8_SQ_PER_CHANNEL":
            more["scale"] = scale[:, None]
        elif algorithm == "FP8_PB_WO" and scale.ndim:
            more |= {"scale": scale[:, 0, :, 0], "block_sizes": {-1: 128, -2: 128}}
        stored = kind(torch.Size(shape), torch.bfloat16, weight)
        tensors[name + ".weight"] = stored.dequantize(dtype=torch.bfloat16, **more)
    dropped = ("input_scale", "k_scale", "v_scale", "pre_quant_scale")
    return plain(folder, {k: v for k, v in tensors.items() if not k.endswith(dropped)}, where)


# GPTQModel: GPTQ and AWQ.

def gptqmodel(**options):
    def quantize(dense, folder):
        from gptqmodel import GPTQModel, QuantizeConfig
        from tokenizers import Tokenizer
        from tokenizers.models import WordLevel
        source = folder.with_name("source")
        shutil.copytree(dense, source)
        words = {f"t{i}": i for i in range(VOCABULARY)}
        PreTrainedTokenizerFast(
            tokenizer_object=Tokenizer(WordLevel(words, unk_token="t3")), bos_token="t0",
            eos_token="t1", pad_token="t2", unk_token="t3").save_pretrained(source)
        model = GPTQModel.load(str(source), QuantizeConfig(**options), device="cpu")
        text = torch.Generator().manual_seed(1)
        model.quantize([{"input_ids": torch.randint(3, VOCABULARY, (1, 64), generator=text),
                         "attention_mask": torch.ones(1, 64, dtype=torch.long)}
                        for _ in range(4)], batch_size=1)
        model.save(str(folder))
    return quantize


def gptqmodel_model(folder, where):
    from gptqmodel.utils.model_dequant import dequantize_model
    dequantize_model(folder, where, target_dtype=torch.bfloat16, device="cpu")
    return loaded(where)[0]


def autoawq_model(folder, where):
    """AutoAWQ's function. GPTQModel's own converter leaves the columns of words in their order."""
    from awq.utils.packing_utils import dequantize_gemm
    tensors = load_file(folder / "model.safetensors")
    for name in modules(tensors, ".qweight"):
        words, zeros, scales = (tensors.pop(name + end)
                                for end in (".qweight", ".qzeros", ".scales"))
        group = words.shape[0] // scales.shape[0]
        values = dequantize_gemm(words, zeros, scales, 4, group)
        tensors[name + ".weight"] = values.T.to(torch.bfloat16)
    return plain(folder, tensors, where)
