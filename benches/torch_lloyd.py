# Lloyd's iteration in plain PyTorch, as REFERENCE.md has it: what ours is compared with, on the same GPU.
import sys, time, torch
def step(x, x2, a, half):
    n, m = x.shape[0], a.shape[0]
    labels = torch.empty(n, dtype=torch.int64, device=x.device)
    an = (a * a).sum(1)
    at = a.t().contiguous()
    chunk = max(1, (1 << 28) // m)
    for i in range(0, n, chunk):
        xs = x[i:i + chunk]
        p = (xs.half() @ at.half()).float() if half else xs @ at
        labels[i:i + chunk] = (an - 2 * p).argmin(1)
    sums = torch.zeros_like(a).index_add_(0, labels, x)
    counts = torch.zeros(m, device=x.device).index_add_(0, labels, torch.ones(n, device=x.device))
    return torch.where(counts[:, None] > 0, sums / counts.clamp(min=1)[:, None], a)
def timed(f, times):
    f(); torch.cuda.synchronize(); best = 1e9
    for _ in range(times):
        t = time.perf_counter(); f(); torch.cuda.synchronize(); best = min(best, time.perf_counter() - t)
    return best * 1e3
for n, d, m in [(10000, 128, 256), (1000000, 128, 2048)]:
    x = torch.randn(n, d, device="cuda"); a = x[torch.randperm(n, device="cuda")[:m]].clone()
    for name, tf32, half in [("fp32", False, False), ("tf32", True, False), ("fp16", True, True)]:
        torch.backends.cuda.matmul.allow_tf32 = tf32
        print(f"torch {name} {n}x{d}x{m}: {timed(lambda: step(x, None, a, half), 10):.3f} ms an iteration", flush=True)
    torch.backends.cuda.matmul.allow_tf32 = False
    print(f"torch fp32 {n}x{d}x{m}: product alone {timed(lambda: [x[i:i+131072] @ a.t() for i in range(0,n,131072)], 10):.3f} ms", flush=True)
m = torch.randn(4096, 4096, device="cuda"); t = timed(lambda: m @ m, 10); print(f"torch fp32 4096 matmul: {2*4096**3/t*1e-9:.1f} TFLOP/s")
