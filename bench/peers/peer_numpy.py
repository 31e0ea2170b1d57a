"""numpy: a dequantization as users of numpy write it, with one thread."""

import numpy as np
from cells import BLOCK, FLOATS
from peers import Peer, Task


class Numpy(Peer):
    """One operation after another in float32, in the memory of the output; 16-bit outputs are
    converted from float32."""
    name, version = "numpy", np.__version__

    def can(self, cell, threads):
        return cell.linear and threads == 1

    def task(self, cell, tensors, y, threads):
        x, out = tensors.typed(cell), y.view(FLOATS[cell.y])
        wide = out if cell.y == "float32" else np.empty(out.shape, np.float32)
        shaped = self._broadcast(cell, tensors.shape, wide)
        scale = self._parameter(cell, tensors.scale)
        zero = None
        if tensors.zero_point is not None:
            zero = self._parameter(cell, tensors.zero_points(cell)).astype(np.float32)
        scale = scale.astype(np.float32)
        codes = np.empty((*x.shape, 2), np.int8) if cell.x == "int4" else x
        values = codes.reshape(shaped.shape)

        def run():
            if cell.x == "int4":
                self._unpack(x, codes)
            if zero is None:
                np.copyto(shaped, values, casting="unsafe")
            else:
                np.subtract(values, zero, out=shaped, dtype=np.float32, casting="unsafe")
            np.multiply(shaped, scale, out=shaped)
            if wide is not out:
                np.copyto(out, wide, casting="unsafe")
        return Task(run, lambda: y)

    @staticmethod
    def _unpack(x, codes):
        np.bitwise_and(x, 15, out=codes[..., 0].view(np.uint8))
        np.right_shift(x, 4, out=codes[..., 1].view(np.uint8))
        codes ^= 8
        codes -= 8

    @staticmethod
    def _broadcast(cell, shape, flat):
        """The output, for blocks with an additional axis for the elements of a block."""
        if cell.granularity == "blocked 32":
            return flat.reshape(shape[0], shape[1] // BLOCK, BLOCK)
        return flat.reshape(shape)

    @staticmethod
    def _parameter(cell, values):
        if cell.granularity == "blocked 32":
            return values[:, :, None]
        return values[:, None] if cell.granularity == "first axis" else values


def load(name, threads):
    return [Numpy()]
