// `npx leastwise`, as it is installed.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { encodeNpy, openVectors, toHalf } from "leastwise/vectors";
import { Random } from "../problems/random.mjs";

const installed = dirname(dirname(dirname(fileURLToPath(import.meta.resolve("leastwise")))));
const command = join(installed, ".bin/leastwise");
const COMMANDS = ["compress", "info", "query", "bench", "cluster"];

/** Runs the command; what it printed, and how it ended. */
async function leastwise(args, { cwd, env } = {}) {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const said = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"]) child[stream].setEncoding("utf8").on("data", (text) => { said[stream] += text; });
  const code = await new Promise((resolve) => child.on("close", resolve));
  // Bars are for terminals, of which there is none here.
  assert.doesNotMatch(said.stdout + said.stderr, /\x1b/);
  return { code, ...said };
}

async function succeeds(args, options) {
  const { code, stdout, stderr } = await leastwise(args, options);
  assert.equal(code, 0, stderr);
  return { stdout, stderr };
}

/** It must fail with this exit code, and one line about it. */
async function fails(args, expected, message, options) {
  const { code, stdout, stderr } = await leastwise(args, options);
  assert.deepEqual([code, stdout], [expected, ""], stderr);
  assert.match(stderr, /^leastwise: [^\n]*\n$/);
  assert.match(stderr, message);
}

/** A folder of its own with vectors in normal clusters, and queries. */
async function folder(t, { count = 1200, dim = 16, clusters = 12 } = {}) {
  const path = await mkdtemp(join(tmpdir(), "leastwise-cli-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  const random = new Random(5);
  const centres = Array.from({ length: clusters }, () => random.normals(dim, 3));
  const draw = (rows) => Float32Array.from(Array.from({ length: rows }, (_, i) => centres[i % clusters].map((at) => at + random.normal())).flat());
  const [points, queries] = [draw(count), draw(20)];
  await writeFile(join(path, "points.npy"), encodeNpy(points, [count, dim]));
  await writeFile(join(path, "queries.npy"), encodeNpy(queries, [20, dim]));
  return { path, points, queries, count, dim, clusters };
}

/** The k nearest rows of each query, by comparing with all. */
function nearest(points, queries, dim, k) {
  return Array.from({ length: queries.length / dim }, (_, q) => Array.from({ length: points.length / dim }, (_, i) => {
    let distance = 0;
    for (let j = 0; j < dim; j++) distance += (points[i * dim + j] - queries[q * dim + j]) ** 2;
    return [distance, i];
  }).sort((a, b) => a[0] - b[0]).slice(0, k).map(([, i]) => i));
}

test("help, version, and what is typed wrongly", async () => {
  const manifest = JSON.parse(await readFile(join(installed, "leastwise/package.json"), "utf8"));
  assert.equal((await succeeds(["--version"])).stdout, `${manifest.version}\n`);
  const { stdout } = await succeeds(["--help"]);
  for (const name of COMMANDS) {
    assert.match(stdout, new RegExp(`^  ${name} `, "m"));
    const help = (await succeeds([name, "--help"])).stdout;
    assert.match(help, new RegExp(`^leastwise ${name} — .*\n\nUsage: npx leastwise ${name} `));
    for (const option of ["backend", "json", "quiet"]) assert.match(help, new RegExp(`--${option}\\b`));
  }
  const MISUSED = 2;
  await fails([], MISUSED, /say which command/);
  await fails(["compres"], MISUSED, /there is no command "compres"/);
  await fails(["compress", "a.npy"], MISUSED, /INDEX is missing \(npx leastwise compress --help/);
  await fails(["info", "a", "b"], MISUSED, /"b" is one argument too many/);
  await fails(["info", "a", "--colour"], MISUSED, /Unknown option '--colour'/);
  await fails(["compress", "a", "b", "--ratio"], MISUSED, /Option '--ratio <value>' argument missing/);
});

test("options that no file can go with", async (t) => {
  const { path: cwd } = await folder(t, { count: 30 });
  const MISUSED = 2, FAILED = 1;
  await fails(["compress", "points.npy", "x", "--ratio", "big"], MISUSED, /--ratio is "big", which is no number/, { cwd });
  await fails(["compress", "points.npy", "x", "--code", "int2"], MISUSED, /--code is "int2", which is not one of none, int8, int4, pq, bits/, { cwd });
  await fails(["compress", "points.npy", "x", "--clusters", "1.5"], MISUSED, /--clusters is 1.5, which is no integer from 1 on/, { cwd });
  await fails(["compress", "points.npy", "x", "--backend", "metal"], MISUSED, /--backend is "metal", which is not one of auto, webgpu, cuda, cpu/, { cwd });
  await fails(["cluster", "points.npy"], MISUSED, /--clusters is missing/, { cwd });
  await fails(["cluster", "points.npy", "-m", "3", "--mean", "median"], MISUSED, /--mean is "median", which is not plain, trim:SHARE or huber:DISTANCE/, { cwd });
  await fails(["cluster", "points.npy", "-m", "3", "--start", "farthest", "--backend", "cpu"], FAILED, /options have no "start"/, { cwd });
  await fails(["compress", "absent.npy", "x"], FAILED, /no such file or directory, open 'absent.npy'/, { cwd });
  await writeFile(join(cwd, "points.bin"), new Uint8Array(64));
  await fails(["compress", "points.bin", "x"], MISUSED, /points.bin: neither its name nor its first bytes say what it is/, { cwd });
  await fails(["compress", "points.bin", "x", "--format", "raw", "--dim", "3"], MISUSED, /--format raw needs --type and --dim/, { cwd });
  await fails(["compress", "points.bin", "x", "--format", "raw", "--dim", "3", "--type", "float32"], FAILED, /points.bin: the file ends within a row/, { cwd });
  await writeFile(join(cwd, "cut.npy"), (await readFile(join(cwd, "points.npy"))).subarray(0, 500));
  await fails(["compress", "cut.npy", "x"], FAILED, /cut.npy: the file ends too early/, { cwd });
  await fails(["info", "points.npy", "--backend", "cpu"], FAILED, /points.npy: /, { cwd });
  await fails(["info", "absent.lwi", "--backend", "cpu"], FAILED, /absent.lwi/, { cwd });
});

test("compress, info, query: from vectors to their neighbours, by files", async (t) => {
  const { path: cwd, points, queries, count, dim } = await folder(t);
  const made = await succeeds(["compress", "points.npy", "index.lwi", "--code", "int8", "--backend", "cpu"], { cwd });
  assert.match(made.stdout, /^index.lwi: 1200 vectors of 16 components in .*, code int8\); built in .* on cpu\n$/);
  const info = JSON.parse((await succeeds(["info", "index.lwi", "--json", "--backend", "cpu"], { cwd })).stdout);
  const file = await readFile(join(cwd, "index.lwi"));
  assert.deepEqual([info.count, info.dim, info.code, info.nextId, info.bytes], [count, dim, "int8", count, file.length]);
  const lines = (await succeeds(["info", "index.lwi", "--backend", "cpu"], { cwd })).stdout;
  for (const what of [/^  code +int8$/m, /^  clusters +\d+$/m, /^  ratio +[\d.]+ % of f32/m]) assert.match(lines, what);

  const exact = nearest(points, queries, dim, 5);
  const rows = (await succeeds(["query", "index.lwi", "queries.npy", "-k", "5", "--backend", "cpu"], { cwd })).stdout.trim().split("\n").map((row) => row.split("\t").map(Number));
  assert.equal(rows.length, 100);
  const found = exact.map((_, q) => rows.filter(([query]) => query === q).map(([, , id]) => id));
  const recall = exact.flatMap((ids, q) => ids.filter((id) => found[q].includes(id))).length / 100;
  assert.ok(recall > 0.9, `recall ${recall}`);
  rows.forEach(([query, rank, , distance], at) => assert.ok(query === Math.floor(at / 5) && rank === at % 5 && distance >= 0));

  await succeeds(["query", "index.lwi", "queries.npy", "-k", "5", "--ids", "ids.npy", "--distances", "distances.npy", "--backend", "cpu"], { cwd });
  const ids = await openVectors(await readFile(join(cwd, "ids.npy"))), distances = await openVectors(await readFile(join(cwd, "distances.npy")));
  assert.deepEqual([ids.count, ids.dim, ids.type, distances.type], [20, 5, "uint32", "float32"]);
  assert.deepEqual([...await ids.elements()], rows.map(([, , id]) => id));
  const json = (await succeeds(["query", "index.lwi", "queries.npy", "-k", "5", "--json", "--quiet", "--backend", "cpu"], { cwd }));
  assert.deepEqual(json.stdout.trim().split("\n").map((row) => JSON.parse(row).ids), found);
  assert.equal(json.stderr, "");

  // One vector, as NumPy saves it.
  await writeFile(join(cwd, "one.npy"), encodeNpy(queries.slice(0, dim)));
  const one = (await succeeds(["query", "index.lwi", "one.npy", "-k", "5", "--json", "--backend", "cpu"], { cwd })).stdout;
  assert.deepEqual(JSON.parse(one).ids, found[0]);
  await writeFile(join(cwd, "wide.npy"), encodeNpy(new Float32Array(34), [2, 17]));
  await fails(["query", "index.lwi", "wide.npy", "--backend", "cpu"], 2, /wide.npy has vectors of 17 components, those of the index have 16/, { cwd });
});

test("the same index comes of every format, and of vectors that are added after the first", async (t) => {
  const { path: cwd, points, queries, dim } = await folder(t, { count: 300 });
  const halves = toHalf(points);
  const rounded = await (await openVectors(encodeNpy(halves, [300, dim]))).rows();
  await writeFile(join(cwd, "half.npy"), encodeNpy(halves, [300, dim]));
  await writeFile(join(cwd, "full.npy"), encodeNpy(rounded, [300, dim]));
  await writeFile(join(cwd, "half.bin"), halves.bits);
  const records = Array.from({ length: 300 }, (_, i) => [Int32Array.of(dim), rounded.slice(i * dim, (i + 1) * dim)]).flat();
  await writeFile(join(cwd, "full.fvecs"), Buffer.concat(records.map((part) => Buffer.from(part.buffer))));
  const inputs = [["half.npy"], ["full.npy"], ["full.fvecs"], ["half.bin", "--format", "raw", "--type", "float16", "--dim", String(dim)]];
  const files = [];
  for (const [k, [name, ...options]] of inputs.entries()) {
    await succeeds(["compress", name, `${k}.lwi`, "--clusters", "8", "--bits", "4", ...options, "--quiet", "--backend", "cpu"], { cwd });
    files.push(await readFile(join(cwd, `${k}.lwi`)));
  }
  for (const file of files) assert.ok(file.equals(files[0]), "the bytes of the index");

  const sampled = await succeeds(["compress", "full.npy", "sampled.lwi", "--sample", "200", "--clusters", "8", "--code", "int8", "--backend", "cpu"], { cwd });
  assert.match(sampled.stderr, /made of the first 200 of 300 vectors/);
  const rows = (await succeeds(["query", "sampled.lwi", "queries.npy", "-k", "1", "--json", "--backend", "cpu"], { cwd })).stdout.trim().split("\n").map((row) => JSON.parse(row).ids[0]);
  const exact = nearest(rounded, queries, dim, 1).flat();
  assert.ok(rows.filter((id, q) => id === exact[q]).length >= 18, "nearest vectors, those that were added among them");
});

test("what was there stays when something goes wrong, and nothing is left behind", async (t) => {
  const { path: cwd, points, dim } = await folder(t, { count: 100 });
  await succeeds(["compress", "points.npy", "index.lwi", "--backend", "cpu"], { cwd });
  const before = await readFile(join(cwd, "index.lwi"));
  points[77 * dim + 3] = NaN;
  await writeFile(join(cwd, "nan.npy"), encodeNpy(points, [100, dim]));
  await fails(["compress", "nan.npy", "index.lwi", "--quiet", "--backend", "cpu"], 1, /nan.npy: vector 77 has a NaN or an infinity/, { cwd });
  await fails(["compress", "nan.npy", "index.lwi", "--quiet", "--sample", "50", "--backend", "cpu"], 1, /nan.npy: vector 77 has a NaN or an infinity/, { cwd });
  await fails(["compress", "points.npy", "absent/index.lwi", "--quiet", "--backend", "cpu"], 1, /no such file or directory/, { cwd });
  assert.ok(before.equals(await readFile(join(cwd, "index.lwi"))));
  assert.deepEqual((await readdir(cwd)).sort(), ["index.lwi", "nan.npy", "points.npy", "queries.npy"]);
  const flipped = Buffer.from(before);
  flipped[flipped.length - 5] ^= 16;
  await writeFile(join(cwd, "flipped.lwi"), flipped);
  await fails(["info", "flipped.lwi", "--backend", "cpu"], 1, /flipped.lwi: the file is damaged/, { cwd });
});

test("cluster: centroids and labels as files", async (t) => {
  const { path: cwd, points, count, dim, clusters } = await folder(t);
  const options = ["--method", "lloyd", "--mean", "trim:0.05", "--seed", "3", "--max-iterations", "30", "--backend", "cpu"];
  const { stdout } = await succeeds(["cluster", "points.npy", "-m", String(clusters), "--centroids", "centroids.npy", "--labels", "labels.npy", ...options, "--json"], { cwd });
  const said = JSON.parse(stdout);
  const centroids = await (await openVectors(await readFile(join(cwd, "centroids.npy")))).rows();
  const labels = await (await openVectors(await readFile(join(cwd, "labels.npy")))).elements();
  assert.deepEqual([centroids.length, labels.length, said.clusters], [clusters * dim, count, clusters]);
  let energy = 0;
  points.forEach((value, at) => { energy += (value - centroids[labels[Math.floor(at / dim)] * dim + (at % dim)]) ** 2 / count; });
  assert.ok(Math.abs(energy / said.energy - 1) < 1e-3, `${energy} and ${said.energy}`);
  const text = (await succeeds(["cluster", "points.npy", "-m", "4", "--backend", "cpu"], { cwd })).stdout;
  assert.match(text, /^1200 vectors of 16 components, 4 centroids: energy [\d.]+ after \d+ iterations in .* on cpu \(converged: .*\)\n$/);
});

test("bench: a row a code, with build time next to recall", async (t) => {
  const { path: cwd } = await folder(t);
  const { stdout } = await succeeds(["bench", "points.npy", "--code", "int8", "--code", "none", "--ratio", "0.3", "--clusters", "16", "--backend", "cpu"], { cwd });
  const [head, ...rows] = stdout.trim().split("\n");
  assert.match(head, /^code +clusters +bytes +of f32 +build +recall +one query +of many +exact$/);
  assert.deepEqual(rows.map((row) => row.split(/ {2,}/)[0]), ["int8", "none", "bits @ 0.3"]);
  const { results, queries } = JSON.parse((await succeeds(["bench", "points.npy", "--queries", "queries.npy", "--code", "int8", "--code", "none", "-k", "5", "--json", "--quiet", "--backend", "cpu"], { cwd })).stdout);
  assert.equal(queries, 20);
  const [int8, none] = results;
  assert.ok(int8.recall > 0.9 && none.recall < int8.recall && int8.buildMs > 0 && int8.msSingle > 0 && none.bytesPerVector < int8.bytesPerVector, JSON.stringify(results));
});
