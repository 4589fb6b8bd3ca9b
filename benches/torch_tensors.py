"""What PyTorch takes for what `cargo bench --bench tensors` measures, on the same GPU: `python3 benches/torch_tensors.py`.

Every figure is the least of several with a synchronisation, which is taken off by measuring a small kernel the same way.
"""

import time

import torch

REPEATS = 20


def clock(work):
    best = float("inf")
    for _ in range(REPEATS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def main():
    torch.manual_seed(0)
    gpu = torch.device("cuda")
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}")
    tiny = torch.rand(64, device=gpu)
    idle = clock(lambda: tiny.exp())
    print(f"one small kernel: {idle:.3f} ms; taken off below")

    def show(what, work, amount, unit):
        ms = clock(work) - idle
        print(f"{what}: {ms:.3f} ms, {amount / ms / (1e9 if unit == 'TFLOP/s' else 1e6):.2f} {unit}", flush=True)

    for tf32 in [False, True]:
        torch.backends.cuda.matmul.allow_tf32 = tf32
        name = "TF32" if tf32 else "f32"
        for n in [512, 1024, 4096]:
            a, b, bias = (torch.rand(*shape, device=gpu) - 0.5 for shape in [(n, n), (n, n), (n,)])
            weight = b.T.contiguous()
            flops = 2 * n**3
            show(f"matmul {n}³ ({name})", lambda: a @ b, flops, "TFLOP/s")
            layer = lambda: torch.nn.functional.gelu(torch.nn.functional.linear(a, weight, bias), approximate="tanh")
            show(f"linear + bias + GELU {n}³ ({name})", layer, flops, "TFLOP/s")
        def layers():
            x = a
            for _ in range(10):
                x = torch.nn.functional.gelu(torch.nn.functional.linear(x, weight, bias), approximate="tanh")

        print(f"10 dependent layers (linear + bias + GELU) 4096³ ({name}): {(clock(layers) - idle) / 10:.3f} ms each", flush=True)
        a, b = (torch.rand(512, 512, device=gpu) - 0.5 for _ in range(2))

        def chain():
            x = a
            for _ in range(100):
                x = x @ b

        ms = (clock(chain) - idle) / 100
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            chain()
        replayed = (clock(graph.replay) - idle) / 100
        print(f"100 dependent products 512³ ({name}): {ms:.4f} ms each, {replayed:.4f} as a CUDA graph", flush=True)
    rows, columns = 1 << 15, 1 << 10
    x, y = (torch.rand(rows, columns, device=gpu) for _ in range(2))
    pass_ = rows * columns * 4
    show("add", lambda: x + y, 3 * pass_, "GB/s")
    show("gelu", lambda: torch.nn.functional.gelu(x, approximate="tanh"), 2 * pass_, "GB/s")
    show("sum of all", lambda: x.sum(), pass_, "GB/s")
    show("sum of rows", lambda: x.sum(1), pass_, "GB/s")
    show("sum of columns", lambda: x.sum(0), pass_, "GB/s")
    show("softmax of rows", lambda: torch.softmax(x, 1), 2 * pass_, "GB/s of two passes")
    show("layer norm", lambda: torch.nn.functional.layer_norm(x, (columns,)), 2 * pass_, "GB/s of two passes")
    q, k, v = (torch.rand(64, 1024, 64, device=gpu) for _ in range(3))
    for causal in [False, True]:
        flops = 4 * 64 * 1024 * 1024 * 64 * (0.5 if causal else 1)
        attention = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        show(f"attention{', causal' if causal else ''}", attention, flops, "TFLOP/s")


main()
