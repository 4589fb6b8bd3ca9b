"""What NumPy takes for what `npm run bench -- streaming` measures, on one thread, as JSON: the least milliseconds of each row, by name and dtype.

Arguments: side of the square arrays, how often each row is repeated, and "wall" or "cpu": the clock, or processor time.
"""

import json
import os
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np

size, repeats = int(sys.argv[1]), int(sys.argv[2])
now = time.process_time if sys.argv[3] == "cpu" else time.perf_counter


def least(work):
    best = float("inf")
    for _ in range(repeats):
        start = now()
        work()
        best = min(best, now() - start)
    return best * 1e3


def rows(dtype):
    random = np.random.default_rng(1)
    x, y = (random.uniform(-1, 1, (size, size)).astype(dtype) for _ in range(2))
    a, b = (random.uniform(-1, 1, (512, 512)).astype(dtype) for _ in range(2))

    def softmax():
        powers = np.exp(x - x.max(1, keepdims=True))
        return powers / powers.sum(1, keepdims=True)

    def layer_norm():
        centred = x - x.mean(1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(1, keepdims=True) + 1e-5)

    return {
        "add": lambda: x + y,
        "sum": lambda: x.sum(),
        "sum, columns": lambda: x.sum(0),
        "sum, rows": lambda: x.sum(1),
        "max": lambda: x.max(),
        "max, columns": lambda: x.max(0),
        "max, rows": lambda: x.max(1),
        "exp": lambda: np.exp(x),
        "tanh": lambda: np.tanh(x),
        "tanh(2x + 1)": lambda: np.tanh(x * 2 + 1),
        "softmax": softmax,
        "layer norm": layer_norm,
        "512³": lambda: a @ b,
    }


found = {dtype: {name: least(work) for name, work in rows(kind).items()} for dtype, kind in (("f32", "f4"), ("f64", "f8"))}
print(json.dumps({"version": np.__version__, "rows": found}))
