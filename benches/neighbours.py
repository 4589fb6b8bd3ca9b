"""FAISS, hnswlib and usearch beside what `npm run bench -- graphs` searches, query by query on one thread: recall@10, processor time and bytes.

Arguments: a folder with base.npy and queries.npy (f32) and truth.npy (the ids of the ten nearest of each query, u32). Libraries that are not there are named.
"""

import os
import sys
import tempfile
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np

K = 10
folder = sys.argv[1]
base, queries, truth = (np.load(os.path.join(folder, f"{name}.npy")) for name in ("base", "queries", "truth"))
count, dim = base.shape
raw = base.nbytes


def show(name, build_seconds, size, search):
    """Recall and processor milliseconds of each query alone, after a few that warm caches."""
    for query in queries[:20]:
        search(query[None, :])
    start = time.process_time()
    found = [search(query[None, :]) for query in queries]
    ms = (time.process_time() - start) * 1e3 / len(queries)
    met = sum(len(set(map(int, ids)) & set(map(int, wanted))) for ids, wanted in zip(found, truth))
    recall = met / (K * len(queries))
    print(f"{name:<34} recall@10 {recall:.4f}  {ms:.3f} CPU ms  file {100 * size / raw:.1f} % of f32; built in {build_seconds:.1f} CPU s", flush=True)


def built(make):
    start = time.process_time()
    index = make()
    return index, time.process_time() - start


def size_of(write):
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "index")
        write(path)
        return os.path.getsize(path)


def with_faiss():
    import faiss

    faiss.omp_set_num_threads(1)
    print(f"FAISS {faiss.__version__}, {faiss.get_compile_options().strip()}")

    def search(index):
        return lambda query: index.search(query, K)[1][0]

    def hnsw():
        index = faiss.IndexHNSWFlat(dim, 32)
        index.hnsw.efConstruction = 96
        index.add(base)
        return index

    index, seconds = built(hnsw)
    size = size_of(lambda path: faiss.write_index(index, path))
    for effort in (32, 64, 128, 256):
        index.hnsw.efSearch = effort
        show(f"FAISS HNSW32, ef {effort}", seconds, size, search(index))
    def whole():
        index = faiss.IndexFlatL2(dim)
        index.add(base)
        return index

    flat, seconds = built(whole)
    show("FAISS flat", seconds, size_of(lambda path: faiss.write_index(flat, path)), search(flat))
    lists = max(1, int(count**0.5))
    parts = dim // 4 if dim % 4 == 0 else dim

    def trained(make):
        def train():
            index = make()
            index.train(base)
            index.add(base)
            return index

        return built(train)

    for name, make in (
        (f"FAISS IVF{lists}, int8", lambda: faiss.index_factory(dim, f"IVF{lists},SQ8")),
        (f"FAISS IVF{lists}, PQ{parts} of 4 bits", lambda: faiss.index_factory(dim, f"IVF{lists},PQ{parts}x4fs")),
    ):
        index, seconds = trained(make)
        size = size_of(lambda path, index=index: faiss.write_index(index, path))
        for probes in (8, 32):
            faiss.ParameterSpace().set_index_parameter(index, "nprobe", probes)
            show(f"{name}, {probes} probes", seconds, size, search(index))


def with_hnswlib():
    import hnswlib

    print("hnswlib")

    def make():
        index = hnswlib.Index(space="l2", dim=dim)
        index.init_index(max_elements=count, M=32, ef_construction=96, random_seed=1)
        index.set_num_threads(1)
        index.add_items(base, num_threads=1)
        return index

    index, seconds = built(make)
    size = size_of(index.save_index)
    for effort in (32, 64, 128, 256):
        index.set_ef(effort)
        show(f"hnswlib M 32, ef {effort}", seconds, size, lambda query: index.knn_query(query, k=K, num_threads=1)[0][0])


def with_usearch():
    import usearch
    from usearch.index import Index

    print(f"usearch {usearch.__version__}")
    for kind in ("f32", "i8"):
        # Its int8 is of directions: components of unit vectors times 127.
        if kind == "i8" and not np.allclose(np.linalg.norm(base[:100], axis=1), 1, atol=1e-2):
            continue

        def make(kind=kind):
            index = Index(ndim=dim, metric="l2sq" if kind == "f32" else "cos", dtype=kind, connectivity=32, expansion_add=96)
            index.add(np.arange(count), base, threads=1)
            return index

        index, seconds = built(make)
        size = size_of(index.save)
        for effort in (32, 64, 128, 256):
            index.expansion_search = effort
            show(f"usearch {kind}, ef {effort}", seconds, size, lambda query: index.search(query[0], K, threads=1).keys)


for library in (with_faiss, with_hnswlib, with_usearch):
    try:
        library()
    except Exception as error:
        print(f"not beside it: {type(error).__name__}: {error}")
