"""python.safetensors, as the format's own library writes it: pip install safetensors==0.8.0 numpy. With a file's name: what the library reads in that."""
import pathlib
import sys

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

if len(sys.argv) > 1:
    with safe_open(sys.argv[1], "np") as file:
        print(file.metadata())
        for name in file.keys():
            tensor = file.get_tensor(name)
            print(name, tensor.dtype, tensor.shape, tensor.tolist())
else:
    save_file({
        "half": np.array([1.5, -0.1, 65504], np.float16), "weight": np.arange(6, dtype=np.float32).reshape(2, 3) / 4, "exact": np.array([0.1, -2.5]), "labels": np.array([[7, -9]], np.int32),
        "bytes": np.array([0, 255, 3], np.uint8), "steps": np.array(12, np.int64), "none": np.zeros((0, 4), np.float32), "seen": np.array([True, False]),
    }, pathlib.Path(__file__).with_name("python.safetensors"), metadata={"format": "pt", "größe": "μ"})
