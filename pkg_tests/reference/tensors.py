"""Values and gradients that PyTorch gives in f64: `python3 pkg_tests/reference/tensors.py > pkg_tests/reference/tensors.json`.

Every case is an operation of Leastwise by its name, its operands and arguments, the result, and the gradients of
the sum of the result times cos(0), cos(1), cos(2)... with respect to every operand that has one.
"""
import json
import torch
import torch.nn.functional as F

torch.manual_seed(20261122)
torch.set_default_dtype(torch.float64)


def random(*shape):
    return torch.rand(*shape) * 2 - 1


def number(tensor):
    return {"shape": list(tensor.shape), "values": [round(v, 12) for v in tensor.reshape(-1).tolist()]}


cases = []


def case(name, function, operands, arguments=None, whole=()):
    """`whole` operands are whole numbers, without a gradient."""
    # What is written down is what is computed with.
    operands = [torch.tensor([round(v, 12) for v in x.reshape(-1).tolist()], dtype=x.dtype).reshape(x.shape) for x in operands]
    leaves = [x if i in whole else x.clone().requires_grad_() for i, x in enumerate(operands)]
    result = function(*leaves)
    weights = torch.cos(torch.arange(result.numel(), dtype=torch.float64)).reshape(result.shape)
    (result * weights).sum().backward()
    cases.append({
        "name": name, "arguments": arguments or {}, "whole": list(whole), "operands": [number(x) for x in operands],
        "result": number(result.detach()),
        "gradients": [None if i in whole else number(x.grad) for i, x in enumerate(leaves)],
    })


for name in ["relu", "sigmoid", "tanh", "exp", "sin", "cos", "abs", "square", "silu", "softplus", "erf", "expm1"]:
    function = {"silu": F.silu, "softplus": F.softplus}.get(name) or getattr(torch, name)
    case(name, function, [random(7, 3)])
case("gelu", lambda x: F.gelu(x, approximate="tanh"), [3 * random(5, 5)])
for name in ["sqrt", "log", "rsqrt", "log1p"]:
    case(name, getattr(torch, name), [random(11) + 1.5])
for name in ["add", "sub", "mul", "div", "maximum", "minimum"]:
    divide = name == "div"
    case(name, getattr(torch, name), [random(4, 1, 3), random(5, 3) + (3 if divide else 0)])
case("pow", torch.pow, [random(6) + 1.5, random(2, 6)])
for axis in [0, 1, 2, -1]:
    case("softmax", lambda x: F.softmax(x, axis), [5 * random(3, 5, 4)], {"axis": axis})
    case("logSoftmax", lambda x: F.log_softmax(x, axis), [5 * random(3, 5, 4)], {"axis": axis})
for axis in [0, 1, -1]:
    case("sum", lambda x: x.sum(axis), [random(3, 7, 5)], {"axis": axis})
    case("mean", lambda x: x.mean(axis), [random(3, 7, 5)], {"axis": axis})
    case("max", lambda x: x.amax(axis), [random(3, 7, 5)], {"axis": axis})
    case("min", lambda x: x.amin(axis), [random(3, 7, 5)], {"axis": axis})
case("matmul", torch.matmul, [random(5, 7), random(7, 3)])
case("matmul", torch.matmul, [random(2, 1, 5, 7), random(3, 7, 4)])
case("matmul", torch.matmul, [random(7), random(2, 7, 3)])
case("matmul", torch.matmul, [random(2, 5, 7), random(7)])
case("layerNorm", lambda x, w, b: F.layer_norm(x, (6,), w, b, 1e-5), [random(3, 4, 6), random(6), random(6)], {"epsilon": 1e-5})
case("crossEntropy", F.cross_entropy, [3 * random(6, 5), torch.tensor([0, 4, 2, 2, 1, 3])], whole=[1])
case("embedding", lambda w, i: F.embedding(i, w), [random(7, 3), torch.tensor([[0, 6, 6], [2, 0, 6]])], whole=[1])
for causal in [False, True]:
    operands = [random(2, 3, 5, 4), random(2, 3, 7, 4), random(2, 3, 7, 6)]
    case("attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal), operands, {"causal": causal})
for stride, padding, dilation in [((1, 1), (0, 0), (1, 1)), ((2, 1), (1, 2), (1, 1)), ((1, 2), (2, 0), (2, 1))]:
    arguments = {"stride": stride, "padding": padding, "dilation": dilation}
    case("conv2d", lambda x, w: F.conv2d(x, w, None, stride, padding, dilation), [random(2, 3, 8, 7), random(4, 3, 3, 2)], arguments)
for size, stride, padding in [((2, 2), (2, 2), (0, 0)), ((3, 2), (1, 2), (1, 0))]:
    arguments = {"size": size, "stride": stride, "padding": padding}
    case("maxPool2d", lambda x: F.max_pool2d(x, size, stride, padding), [random(2, 2, 6, 7)], arguments)

# Optimizers: the parameters after each of five steps with the same gradients.
optimizers = []
start, gradients = random(4), [random(4) for _ in range(5)]
for name, make, options in [
    ("sgd", lambda p: torch.optim.SGD(p, lr=0.1), {"learningRate": 0.1}),
    ("sgd", lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), {"learningRate": 0.1, "momentum": 0.9}),
    ("adam", lambda p: torch.optim.Adam(p, lr=0.01), {"learningRate": 0.01}),
    ("adamW", lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1), {"learningRate": 0.01, "weightDecay": 0.1}),
]:
    parameter = start.clone().requires_grad_()
    optimizer = make([parameter])
    steps = []
    for gradient in gradients:
        parameter.grad = gradient.clone()
        optimizer.step()
        steps.append(number(parameter.detach()))
    optimizers.append({"name": name, "options": options, "steps": steps})

document = {"torch": torch.__version__, "cases": cases, "start": number(start), "gradients": [number(g) for g in gradients], "optimizers": optimizers}
print(json.dumps(document, separators=(",", ":")))
