// Vectors of HDF5 files: by a dataset of h5wasm, and on the command line.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { File, ready } from "h5wasm/node";
import { formatOf, openVectors } from "leastwise/vectors";
import { Random } from "../problems/random.mjs";
import { rejects } from "./support.mjs";

const COUNT = 400, DIM = 24;
const numbers = Float32Array.from(new Random(5).normals(COUNT * DIM));
let folder, path;

before(async () => {
  await ready;
  folder = await mkdtemp(join(tmpdir(), "leastwise-hdf5-"));
  path = join(folder, "some-24-euclidean.hdf5");
  const file = new File(path, "w");
  const put = (name, data, shape, more = {}) => file.create_dataset({ name, data, shape, ...more });
  put("train", numbers, [COUNT, DIM]);
  put("test", numbers.subarray(0, 5 * DIM), [5, DIM]);
  put("packed", Float64Array.from(numbers), [COUNT, DIM], { chunks: [7, DIM], compression: 4 });
  put("bytes", Uint8Array.from({ length: 12 }, (_, k) => 20 * k), [4, 3]);
  put("long", BigInt64Array.of(1n, -2n, 3n), [3]);
  put("none", new Float32Array(0), [0, 3]);
  put("cube", new Float32Array(8), [2, 2, 2]);
  file.create_dataset({ name: "words", data: ["a", "b"] });
  file.create_group("group");
  file.close();
});
after(() => rm(folder, { recursive: true }));

test("datasets are vectors, whole, by ranges and in chunks", async () => {
  const file = new File(path, "r");
  for (const [name, type] of [["train", "float32"], ["packed", "float64"]]) {
    const vectors = await openVectors(file.get(name));
    assert.deepEqual([vectors.format, vectors.type, vectors.count, vectors.dim], ["hdf5", type, COUNT, DIM]);
    assert.deepEqual(await vectors.rows(), numbers);
    assert.deepEqual(await vectors.rows(17, 3), numbers.slice(17 * DIM, 20 * DIM));
    const parts = [];
    for await (const rows of vectors.chunks(150)) parts.push(...rows);
    assert.deepEqual(Float32Array.from(parts), numbers);
    await rejects(vectors.rows(399, 2), "index-out-of-range", "2 vectors from vector 399 on were asked for, but there are 400");
  }
  const bytes = await openVectors(file.get("bytes"));
  assert.deepEqual(await bytes.elements(1, 2), Uint8Array.of(60, 80, 100, 120, 140, 160));
  const long = await openVectors(file.get("long"));
  assert.deepEqual([long.type, long.dim, await long.rows()], ["int64", 1, Float32Array.of(1, -2, 3)]);
  const none = await openVectors(file.get("none"));
  assert.deepEqual([none.count, none.dim, await none.rows()], [0, 3, new Float32Array()]);
  file.close();
});

test("what is no dataset of vectors is refused with what it is", async () => {
  const file = new File(path, "r");
  await rejects(openVectors(file.get("cube")), "file-format", /^a dataset of vectors has one or two dimensions, not the shape /);
  await rejects(openVectors(file.get("words")), "file-format", /real or whole numbers of 1 to 8 bytes; this one has /);
  await rejects(openVectors(file.get("train"), { format: "npy" }), "invalid-option", "openVectors(dataset, options): a dataset says itself what is in it, and takes no format");
  await rejects(openVectors(file.get("group")), "invalid-option", /^vectors are read from /);
  await rejects(openVectors({ shape: [2, 3], slice: () => new Float32Array(2) }), "file-format", /^1 rows of this dataset are 2 numbers, where its shape says 3/);
  await rejects(openVectors({ shape: [2, 3], slice: () => { throw new Error("a bad sector"); } }), "invalid-option", /a bad sector/);
  await rejects(openVectors({ get shape() { throw new Error("it is closed"); }, slice: () => 1 }), "invalid-option", /it is closed/);
  file.close();
  const head = Uint8Array.of(0x89, 0x48, 0x44, 0x46, 13, 10, 26, 10, 0, 0);
  for (const format of [undefined, "fvecs", "hdf5"]) await rejects(openVectors(head, format && { format }), "file-format", /^this is an HDF5 file: open it by the package h5wasm/);
  assert.deepEqual([formatOf("x", head), formatOf("a.hdf5"), formatOf("a.H5")], ["hdf5", "hdf5", "hdf5"]);
});

/** What the command line says. */
const run = (...args) => new Promise((resolve) => {
  const main = fileURLToPath(new URL("./cli/main.js", import.meta.resolve("leastwise")));
  execFile(process.execPath, [main, ...args], { cwd: folder }, (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }));
});

test("the command line reads datasets by name", async () => {
  const made = await run("compress", path, "index.lwi", "--backend", "cpu", "--json");
  assert.equal(made.code, 0, made.stderr);
  const found = await run("query", "index.lwi", path, "--dataset", "test", "-k", "1", "--backend", "cpu", "--json", "--quiet");
  assert.equal(found.code, 0, found.stderr);
  assert.deepEqual(found.stdout.trim().split("\n").flatMap((row) => JSON.parse(row).ids), [0, 1, 2, 3, 4]);
  const other = await run("compress", path, "other.lwi", "--dataset", "vectors");
  assert.notEqual(other.code, 0);
  assert.match(other.stderr, /it has no dataset "vectors"; it has .*"train".*: give --dataset/);
  await writeFile(join(folder, "bad.hdf5"), "\x89HDF\r\n\x1a\n and no more", "latin1");
  assert.match((await run("compress", "bad.hdf5", "other.lwi")).stderr, /bad\.hdf5: it is no HDF5 file, or a damaged one/);
  await writeFile(join(folder, "x.fvecs"), Buffer.from(new Int32Array([1, 0]).buffer));
  assert.match((await run("compress", "x.fvecs", "other.lwi", "--dataset", "train")).stderr, /--dataset is for HDF5 files, but it is a fvecs file/);
});
