# Exact search in PyTorch of the vectors that `npm run bench -- throughput` wrote: fp16 products on tensor cores, timed; and neighbours in f32, written.
import sys, time, torch, numpy
folder, (rows, dim, queries, judged, k) = sys.argv[1], map(int, sys.argv[2:7])
device = "cuda" if torch.cuda.is_available() else "cpu"
base = torch.from_numpy(numpy.fromfile(f"{folder}/base.f32", dtype=numpy.float32).reshape(rows, dim)).to(device)
asked = torch.from_numpy(numpy.fromfile(f"{folder}/queries.f32", dtype=numpy.float32).reshape(queries, dim)).to(device)
def search(base, squares, asked, chunk):
    found = torch.empty(asked.shape[0], k, dtype=torch.int64, device=device)
    for i in range(0, asked.shape[0], chunk):
        products = asked[i:i + chunk] @ base.t()
        found[i:i + chunk] = torch.topk(torch.addcmul(squares, products, torch.tensor(-2.0, dtype=base.dtype, device=device)), k, dim=1, largest=False).indices
    return found
torch.backends.cuda.matmul.allow_tf32 = False
truth = search(base, (base * base).sum(1), asked[:judged], 100)
truth.to(torch.int32).cpu().numpy().tofile(f"{folder}/truth.i32")
half, squares, asked = base.half(), (base * base).sum(1).half(), asked.half()
del base
def wait():
    if device == "cuda": torch.cuda.synchronize()
best = None
for chunk in [250, 1000, 2000]:
    search(half, squares, asked, chunk); wait()
    times = []
    for _ in range(3):
        started = time.perf_counter(); found = search(half, squares, asked, chunk); wait(); times.append(time.perf_counter() - started)
    if best is None or min(times) < best[0]: best = (min(times), chunk, found)
took, chunk, found = best
hit = sum(len(set(a.tolist()) & set(b.tolist())) for a, b in zip(found[:judged].cpu(), truth.cpu()))
started = time.perf_counter()
for i in range(0, queries, chunk): asked[i:i + chunk] @ half.t()
wait()
product = time.perf_counter() - started
print(f"PyTorch fp16, exact, {device}: {1e3 * took:.1f} ms a batch (the product alone {1e3 * product:.1f}), {queries / took:.0f} queries/s, {2 * dim} bytes a vector, recall {hit / truth.numel():.4f}", flush=True)
