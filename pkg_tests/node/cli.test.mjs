// `npx leastwise`, as it is installed.
import assert from "node:assert/strict";
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { link, mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { encodeNpy, exactSearch, npyHeader, openVectors, toHalf } from "leastwise/vectors";
import { Random } from "../problems/random.mjs";
import { FULL } from "./support.mjs";

const installed = dirname(dirname(dirname(fileURLToPath(import.meta.resolve("leastwise")))));
const command = join(installed, ".bin/leastwise");
const COMMANDS = ["demo", "compress", "info", "query", "bench", "cluster"];

/** Runs the command; what it printed, and how it ended. */
async function leastwise(args, { cwd, env, input, binary = false } = {}) {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"] });
  child.stdin?.on("error", () => undefined).end(input);
  const said = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"]) child[stream].setEncoding(binary && stream === "stdout" ? "latin1" : "utf8").on("data", (text) => { said[stream] += text; });
  const code = await new Promise((resolve) => child.on("close", resolve));
  // Bars are for terminals, of which there is none here.
  assert.doesNotMatch((binary ? "" : said.stdout) + said.stderr, /\x1b/);
  return { code, ...said };
}

async function succeeds(args, options) {
  const { code, stdout, stderr } = await leastwise(args, options);
  assert.equal(code, 0, stderr);
  return { stdout, stderr };
}

/** A process that runs one command after another, for those that end before any work. */
let clerk;
after(() => clerk?.kill());

async function leastwiseByClerk(args, { cwd } = {}) {
  clerk ??= fork(fileURLToPath(new URL("fresh/cli.mjs", import.meta.url)), [join(installed, "leastwise/dist/cli/main.js")], { stdio: "inherit" });
  clerk.send({ args, cwd });
  const [answer] = await Promise.race([once(clerk, "message"), once(clerk, "exit").then(([code]) => assert.fail(`the process of ${args.join(" ")} ended with ${code}`))]);
  assert.doesNotMatch(answer.stdout + answer.stderr, /\x1b/);
  return answer;
}

/** Codes that commands have ended with so far. */
const seen = new Set();

/** It must fail with this exit code, and one line about it. In a quick run only the first of each code is a process of its own. */
async function fails(args, expected, message, options = {}) {
  const isOwn = FULL || !seen.has(expected) || Object.keys(options).some((name) => name !== "cwd");
  seen.add(expected);
  const { code, stdout, stderr } = await (isOwn ? leastwise : leastwiseByClerk)(args, options);
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
  await fails(["info", "a", "--colour"], MISUSED, /there is no option "--colour" \(npx/);
  await fails(["compress", "a", "b", "--ration", "0.5"], MISUSED, /there is no option "--ration"; did you mean --ratio\?/);
  await fails(["compress", "a", "b", "--ratio"], MISUSED, /--ratio needs a value: --ratio R/);
  await fails(["compress", "a", "b", "--ratio", "--json"], MISUSED, /--ratio needs a value, but "--json" follows it/);
  await fails(["compress", "a", "b", "--json=1"], MISUSED, /--json takes no value, but is "1"/);
  await fails(["compress", "a", "b", "--seed", "-1"], MISUSED, /--seed is -1, which is no integer from 0/);
  for (const name of ["query", "bench"]) assert.match((await succeeds([name, "--help"])).stdout, /--probes P +.*all up to 256 and an eighth of those beyond,\n +unless given/);
});

test("numbers that an option can't be are told by the option's name, before any work", async (t) => {
  const { path: cwd } = await folder(t, { count: 30 });
  const WRONG = [
    ["compress", [], [
      ["--bits=13", /--bits is 13, but must be above 0 and at most 12/], ["--bits=0", /--bits is 0, but must be above 0/], ["--ratio=2", /--ratio is 2, but must be above 0 and at most 1/],
      ["--seed=-1", /--seed is -1, which is no integer from 0 to 4294967295/], ["--seed=4294967296", /--seed is 4294967296, which is no integer/], ["--sample=0", /--sample is 0, which/],
      ["--code=bits --bits=13", /--bits is 13, but must be above 0 and at most 12/], ["--code=int8 --bits=4", /--bits is for the code bits: int8 has its size/],
      ["--bits=4 --ratio=0.5", /--bits and --ratio follow from each other/], ["--method=kmeans", /--method is "kmeans", which is not one of/],
      ["--dim=16", /points.npy: --dim is for --format raw; a npy file says itself/], ["--type=float16", /points.npy: --type is for --format raw/],
    ]],
    ["cluster", ["-m", "3"], [
      ["--max-iterations=1.5", /--max-iterations is 1.5, which is no integer/], ["--seed=-1", /--seed is -1/], ["--tolerance=-1", /--tolerance is -1, but must be at least 0/],
      ["--cooling=1", /--cooling is 1, but must be at least 0 and at most 0.999/], ["--start=farthest", /--start is an option of --method lloyd and vlc, not of anneal/],
      ["--method=lloyd --momentum=0.5", /--momentum is an option of --method vlc, not of lloyd/], ["--method=vlc --temperature=0", /--temperature is 0, but must be above 0/],
      ["--method=lloyd --mean=trim:0.7", /--mean trim is 0.7, but must be at least 0 and at most 0.49/], ["--method=lloyd --mean=huber:", /--mean is "huber:", which is not plain/],
    ]],
    ["bench", [], [["--code=int2", /--code is "int2", which is not one of/], ["--ratio=0", /--ratio is 0, but must be above 0/], ["--probes=0", /--probes is 0/], ["-k 1000", /--k is 1000, but there are 27 vectors to find/]]],
  ];
  for (const [name, needed, cases] of WRONG) {
    for (const [options, message] of cases) await fails([name, "points.npy", ...(name === "compress" ? ["x"] : []), ...needed, ...options.split(" ")], 2, message, { cwd });
  }
  assert.deepEqual((await readdir(cwd)).sort(), ["points.npy", "queries.npy"]);
});

test("options that no file can go with", async (t) => {
  const { path: cwd } = await folder(t, { count: 30 });
  const MISUSED = 2, FAILED = 1;
  await fails(["compress", "points.npy", "x", "--ratio", "big"], MISUSED, /--ratio is "big", which is no number/, { cwd });
  await fails(["compress", "points.npy", "x", "--code", "int2"], MISUSED, /--code is "int2", which is not one of none, int8, int4, bits/, { cwd });
  await fails(["compress", "points.npy", "x", "--clusters", "1.5"], MISUSED, /--clusters is 1.5, which is no integer from 1 to 4294967295/, { cwd });
  await fails(["compress", "points.npy", "x", "--backend", "metal"], MISUSED, /--backend is "metal", which is not one of auto, webgpu, cuda, cpu/, { cwd });
  await fails(["cluster", "points.npy"], MISUSED, /--clusters is missing/, { cwd });
  await fails(["cluster", "points.npy", "-m", "3", "--method", "lloyd", "--mean", "median"], MISUSED, /--mean is "median", which is not plain, trim:SHARE or huber:DISTANCE/, { cwd });
  await fails(["compress", "absent.npy", "x"], FAILED, /^leastwise: absent.npy: there is no such file$/m, { cwd });
  await writeFile(join(cwd, "points.bin"), new Uint8Array(64));
  await fails(["compress", "points.bin", "x"], MISUSED, /points.bin: neither its name nor its first bytes say what it is/, { cwd });
  await fails(["compress", "points.bin", "x", "--format", "raw", "--dim", "3"], MISUSED, /--format raw needs --type and --dim/, { cwd });
  await fails(["compress", "points.bin", "x", "--format", "raw", "--dim", "3", "--type", "float32"], FAILED, /points.bin: the file ends within a row/, { cwd });
  await writeFile(join(cwd, "cut.npy"), (await readFile(join(cwd, "points.npy"))).subarray(0, 500));
  await fails(["compress", "cut.npy", "x"], FAILED, /cut.npy: the file ends too early/, { cwd });
  await fails(["info", "points.npy", "--backend", "cpu"], FAILED, /points.npy: /, { cwd });
  await fails(["info", "absent.lwi", "--backend", "cpu"], FAILED, /^leastwise: absent.lwi: there is no such file$/m, { cwd });
  await fails(["compress", ".", "x"], FAILED, /\.: it is a folder, where a file is needed/, { cwd });
  await fails(["compress", "points.npy", "x", "--format", "raw", "--type", "float32", "--dim", "2"], MISUSED, /points.npy is a .npy file, whose header would be read as vectors/, { cwd });
  for (const [name, ...rest] of [["compress", "x"], ["cluster"], ["bench"]]) await fails([name, "points.npy", ...rest, "--clusters", "31"], MISUSED, /--clusters is 31, but points.npy has (30|27) vectors/, { cwd });
  await fails(["compress", "points.npy", "x", "--clusters", "9", "--sample", "8"], MISUSED, /--clusters is 9, but --sample is 8/, { cwd });
  await fails(["compress", "points.npy", "x", "--threads", "65"], MISUSED, /--threads is 65, but there may be 64/, { cwd });
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
  await fails(["query", "index.lwi", "wide.npy", "--backend", "cpu"], 2, /wide.npy has vectors of 17 components, but the vectors of the index have 16/, { cwd });
  await writeFile(join(cwd, "two.npy"), encodeNpy(queries.slice(0, 2 * dim)));
  await fails(["query", "index.lwi", "two.npy", "--backend", "cpu"], 2, /two.npy has 32 numbers, but the vectors of the index have 16 components/, { cwd });
});

test("compress, query: metrics, keys, and what may be found", async (t) => {
  const { path: cwd, points, queries, count, dim } = await folder(t, { count: 300 });
  const cpu = ["--backend", "cpu"], keys = Array.from({ length: count }, (_, i) => `doc ${i}`);
  await writeFile(join(cwd, "keys.txt"), `${keys.join("\r\n")}\r\n`);
  for (const metric of ["cosine", "dot"]) {
    const made = await succeeds(["compress", "points.npy", "index.lwi", "--code", "int8", "--metric", metric, "--keys", "keys.txt", ...cpu], { cwd });
    assert.match(made.stdout, new RegExp(`code int8, metric ${metric}\\); built`));
    assert.match((await succeeds(["info", "index.lwi", ...cpu], { cwd })).stdout, new RegExp(`^  metric +${metric}$`, "m"));
    const truth = await exactSearch(points, queries, { dim, k: 5, metric });
    const rows = (await succeeds(["query", "index.lwi", "queries.npy", "-k", "5", "--metric", metric, ...cpu], { cwd })).stdout.trim().split("\n").map((row) => row.split("\t"));
    assert.equal(rows.length, 100);
    const same = rows.filter(([query, , key]) => [...truth.ids.subarray(5 * query, 5 * query + 5)].some((id) => key === `doc ${id}`)).length;
    assert.ok(same >= 95, `${metric}: ${same}`);
    rows.forEach(([query, rank, , score]) => {
      const exact = metric === "cosine" ? 1 - truth.distances[5 * query + Number(rank)] : -truth.distances[5 * query + Number(rank)];
      assert.ok(Math.abs(score - exact) < 0.02 * Math.max(1, Math.abs(exact)), `${metric}: ${score} of ${exact}`);
    });
    await succeeds(["query", "index.lwi", "queries.npy", "-k", "5", "--scores", "scores.npy", "--distances", "distances.npy", ...cpu], { cwd });
    const [scores, distances] = await Promise.all(["scores.npy", "distances.npy"].map(async (name) => (await openVectors(await readFile(join(cwd, name)))).rows()));
    assert.deepEqual([...scores], rows.map(([, , , score]) => Number(score)));
    distances.forEach((distance, at) => assert.ok(Math.abs(distance - (metric === "cosine" ? 1 - scores[at] : -scores[at])) < 1e-5 * Math.max(1, Math.abs(distance))));
    await writeFile(join(cwd, "only.txt"), "doc 7\ndoc 31\nnobody\n");
    const few = (await succeeds(["query", "index.lwi", "queries.npy", "--only", "only.txt", "--json", ...cpu], { cwd })).stdout.trim().split("\n").map((row) => JSON.parse(row));
    for (const found of few) assert.deepEqual([[...found.keys].sort(), [...found.ids].sort((a, b) => a - b), found.scores.length], [["doc 31", "doc 7"], [7, 31], 2]);
    await fails(["query", "index.lwi", "queries.npy", "--metric", "l2", ...cpu], 2, new RegExp(`--metric is l2, but index.lwi was made for ${metric}`), { cwd });
    const bench = JSON.parse((await succeeds(["bench", "points.npy", "--code", "int8", "--metric", metric, "--json", ...cpu], { cwd })).stdout);
    assert.deepEqual([bench.metric, bench.results[0].recall > 0.9], [metric, true]);
  }
  await succeeds(["compress", "points.npy", "plain.lwi", "--code", "int8", ...cpu], { cwd });
  await writeFile(join(cwd, "ids.txt"), "7\n31\n");
  const plain = (await succeeds(["query", "plain.lwi", "queries.npy", "-k", "1", "--only", "ids.txt", ...cpu], { cwd })).stdout.trim().split("\n");
  assert.ok(plain.length === 20 && plain.every((row) => ["7", "31"].includes(row.split("\t")[2])));
  const clustered = await succeeds(["cluster", "points.npy", "-m", "4", "--metric", "cosine", "--json", ...cpu], { cwd });
  assert.ok(JSON.parse(clustered.stdout).energy < 1, "of unit vectors");
  await writeFile(join(cwd, "zero.npy"), encodeNpy(new Float32Array(40).fill(1, 0, 20), [4, 10]));
  await writeFile(join(cwd, "broken.txt"), Uint8Array.of(0xff, 10));
  const wrong = [
    [["compress", "points.npy", "x", "--metric", "euclid"], 2, /--metric is "euclid", which is not one of l2, cosine, dot/],
    [["compress", "points.npy", "x", "--max-norm", "3"], 2, /--max-norm is for --metric dot/],
    [["compress", "points.npy", "x", "--metric", "dot", "--max-norm", "0.5"], 1, /points.npy: vector 0 has length [\d.]+, but the index was made for lengths up to 0.5/],
    [["compress", "zero.npy", "x", "--metric", "cosine"], 1, /zero.npy: vector 2 is zero, which has no direction/],
    [["compress", "zero.npy", "x", "--keys", "keys.txt"], 2, /keys.txt has 300 lines, but zero.npy has 4 vectors/],
    [["compress", "points.npy", "x", "--keys", "absent.txt"], 1, /absent.txt: there is no such file/],
    [["compress", "points.npy", "x", "--keys", "broken.txt"], 1, /broken.txt: it is no text in UTF-8/],
    [["compress", "points.npy", "keys.txt", "--keys", "keys.txt"], 2, /keys.txt is to be written, but it is what is read|keys.txt is to be written/],
    [["query", "plain.lwi", "queries.npy", "--only", "keys.txt"], 2, /keys.txt: line 1 is "doc 0", but the ids of the index are 0 to 299/],
    [["cluster", "points.npy", "-m", "3", "--metric", "dot"], 2, /--metric is "dot", which is not one of l2, cosine/],
  ];
  for (const [args, code, message] of wrong) await fails([...args, ...cpu], code, message, { cwd });
  assert.ok(!(await readdir(cwd)).includes("x"));
});

test("- is standard input, and standard output", async (t) => {
  const { path: cwd } = await folder(t, { count: 200 });
  const cpu = ["--backend", "cpu"], points = await readFile(join(cwd, "points.npy"));
  await succeeds(["compress", "points.npy", "index.lwi", ...cpu], { cwd });
  const file = await readFile(join(cwd, "index.lwi"));
  const piped = await succeeds(["compress", "-", "-", "--threads", "1", ...cpu], { cwd, input: points, binary: true });
  assert.ok(Buffer.from(piped.stdout, "latin1").equals(file), "the bytes of the index");
  assert.match(piped.stderr, /^-: 200 vectors of 16 components in .*\n$/);
  const lines = (await succeeds(["query", "index.lwi", "queries.npy", "-k", "2", "-q", ...cpu], { cwd })).stdout;
  assert.equal((await succeeds(["query", "-", "queries.npy", "-k", "2", "-q", ...cpu], { cwd, input: file })).stdout, lines);
  assert.equal((await succeeds(["query", "index.lwi", "-", "-k", "2", "-q", ...cpu], { cwd, input: await readFile(join(cwd, "queries.npy")) })).stdout, lines);
  const { stdout } = await succeeds(["query", "index.lwi", "queries.npy", "-k", "2", "-q", "--ids", "-", ...cpu], { cwd, binary: true });
  const ids = await openVectors(Buffer.from(stdout, "latin1"));
  assert.deepEqual([...await ids.elements()], lines.trim().split("\n").map((line) => Number(line.split("\t")[2])));
  assert.match((await succeeds(["info", "-", ...cpu], { cwd, input: file })).stdout, /^-\n/);
  await fails(["query", "-", "-", ...cpu], 2, /- is standard input, which can be read once/, { cwd, input: file });
  await fails(["compress", "-", "x", ...cpu], 1, /^leastwise: -: the file ends too early/, { cwd, input: points.subarray(0, 3000) });
  assert.deepEqual((await readdir(cwd)).sort(), ["index.lwi", "points.npy", "queries.npy"]);
});

test("compress --lazy, query --lazy: the same neighbours of a part of the file", async (t) => {
  const { path, points, dim } = await folder(t), at = (name) => join(path, name), FAILED = 1, MISUSED = 2;
  for (const graph of [[], ["--graph", "--degree", "12"]]) {
    await succeeds(["compress", at("points.npy"), at("lazy.lwi"), "--lazy", "--metric", "cosine", "--clusters", "30", ...graph, "--quiet", "--backend", "cpu"]);
    const of = async (...more) => (await succeeds(["query", at("lazy.lwi"), at("queries.npy"), "-k", "5", ...more, "--backend", "cpu"]));
    const [whole, lazy] = [await of(...(graph.length ? [] : ["--probes", "2"])), await of("--lazy", ...(graph.length ? [] : ["--probes", "2"]))];
    assert.equal(lazy.stdout, whole.stdout);
    assert.match(lazy.stderr, /read .* of /);
  }
  assert.equal(points.length % dim, 0);
  await succeeds(["compress", at("points.npy"), at("plain.lwi"), "--quiet", "--backend", "cpu"]);
  await fails(["query", at("plain.lwi"), at("queries.npy"), "--lazy", "--backend", "cpu"], FAILED, /save it for lazy opening/);
  await fails(["query", "-", at("queries.npy"), "--lazy", "--backend", "cpu"], MISUSED, /a stream can't/);
  await fails(["compress", at("points.npy"), at("x.lwi"), "--lazy", "--code", "none"], MISUSED, /--lazy is for codes/);
});

test("compress --graph, query --effort: through a graph, at the same distances", async (t) => {
  const { path, points, queries, dim } = await folder(t), at = (name) => join(path, name), MISUSED = 2;
  await succeeds(["compress", at("points.npy"), at("plain.lwi"), "--quiet", "--backend", "cpu"]);
  await succeeds(["compress", at("points.npy"), at("graph.lwi"), "--graph", "--degree", "12", "--quiet", "--backend", "cpu"]);
  const { graph } = JSON.parse((await succeeds(["info", at("graph.lwi"), "--json", "--backend", "cpu"])).stdout);
  assert.deepEqual([graph.degree, graph.vectors, graph.removed], [12, 1200, 0]);
  const rows = async (index, ...options) => (await succeeds(["query", at(index), at("queries.npy"), "-k", "5", "--json", "--quiet", "--backend", "cpu", ...options])).stdout.trim().split("\n").map((line) => JSON.parse(line));
  const lists = await rows("plain.lwi"), walked = await rows("graph.lwi", "--effort", "200"), exact = nearest(points, queries, dim, 5);
  const share = (found) => found.reduce((sum, { ids }, query) => sum + ids.filter((id) => exact[query].includes(id)).length, 0) / 100;
  assert.ok(share(walked) >= share(lists) - 0.01, `${share(walked)} and ${share(lists)}`);
  walked.forEach(({ ids, distances }, query) => ids.forEach((id, rank) => {
    const place = lists[query].ids.indexOf(id);
    if (place >= 0) assert.equal(distances[rank], lists[query].distances[place]);
  }));
  await fails(["query", at("plain.lwi"), at("queries.npy"), "--effort", "9"], MISUSED, /--effort is for an INDEX with a graph \(leastwise compress --graph\), but .*plain\.lwi has none/);
  await fails(["query", at("graph.lwi"), at("queries.npy"), "--effort", "9", "--probes", "2"], MISUSED, /--probes and --effort: a search goes through clusters or through the graph/);
  await fails(["compress", at("points.npy"), at("x.lwi"), "--degree", "9"], MISUSED, /--degree is for --graph/);
  await fails(["compress", at("points.npy"), at("x.lwi"), "--graph", "--degree", "3"], MISUSED, /--degree is 3, which is not from 4 to 128/);
  await fails(["compress", at("points.npy"), at("x.lwi"), "--graph", "--code", "none"], MISUSED, /--graph is for codes: without one/);
});

test("query: more neighbours than there are, as lines and as files", async (t) => {
  const { path: cwd, count, dim } = await folder(t, { count: 50 });
  await succeeds(["compress", "points.npy", "index.lwi", "--code", "int8", "--backend", "cpu"], { cwd });
  const lines = (await succeeds(["query", "index.lwi", "queries.npy", "-k", "100000000", "--backend", "cpu"], { cwd })).stdout.trim().split("\n");
  assert.equal(lines.length, 20 * count);
  await fails(["query", "index.lwi", "queries.npy", "-k", "100000000", "--ids", "ids.npy", "--backend", "cpu"], 2, /--k is 100000000: 20 queries would make files of 2000000000 numbers/, { cwd });
  await succeeds(["query", "index.lwi", "queries.npy", "-k", "60", "--ids", "ids.npy", "--distances", "distances.npy", "--backend", "cpu"], { cwd });
  const [ids, distances] = await Promise.all(["ids.npy", "distances.npy"].map(async (name) => openVectors(await readFile(join(cwd, name)))));
  assert.deepEqual([ids.count, ids.dim, distances.dim, dim], [20, 60, 60, 16]);
  const [found, far] = [await ids.elements(), await distances.elements()];
  for (let q = 0; q < 20; q++) {
    assert.deepEqual([...found.subarray(60 * q, 60 * q + count)], lines.slice(count * q, count * (q + 1)).map((line) => Number(line.split("\t")[2])));
    assert.ok(found.subarray(60 * q + count, 60 * (q + 1)).every((id) => id === 0xffffffff) && far.subarray(60 * q + count, 60 * (q + 1)).every((d) => d === Infinity));
  }
});

test("query: batches are as one, and sketches are made for many queries only", async (t) => {
  const { path: cwd, points, count, dim } = await folder(t, { dim: 40, count: 1000 });
  await succeeds(["compress", "points.npy", "index.lwi", "--code", "int8", "--backend", "cpu"], { cwd });
  const few = await succeeds(["query", "index.lwi", "queries.npy", "-k", "3", "--backend", "cpu"], { cwd });
  assert.match(few.stderr, /^20 queries in .* each, on cpu\n$/);
  // Two batches: they are of 4096 queries.
  const random = new Random(9), many = 5000;
  await writeFile(join(cwd, "many.npy"), encodeNpy(Float32Array.from({ length: many * dim }, (_, k) => points[(Math.floor(k / dim) % count) * dim + (k % dim)] + 0.01 * random.normal()), [many, dim]));
  const { stdout, stderr } = await succeeds(["query", "index.lwi", "many.npy", "-k", "1", "--backend", "cpu"], { cwd });
  assert.match(stderr, /^5000 queries in .* each, on cpu with sketches of [\d.]+ KiB\n$/);
  const rows = stdout.trim().split("\n").map((line) => line.split("\t").map(Number));
  assert.equal(rows.length, many);
  rows.forEach(([query, rank, id], at) => assert.deepEqual([query, rank, id], [at, 0, at % count]));
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

  const sampled = await succeeds(["compress", "full.npy", "sampled.lwi", "--sample", "200", "--clusters", "8", "--code", "int8", "--json", "--backend", "cpu"], { cwd });
  assert.match(sampled.stderr, /^Clusters are made of 200 of 300 vectors\.$/m);
  const { trainedOn, count, nextId } = JSON.parse(sampled.stdout);
  assert.deepEqual([trainedOn, count, nextId], [200, 300, 300]);
  const rows = (await succeeds(["query", "sampled.lwi", "queries.npy", "-k", "1", "--json", "--backend", "cpu"], { cwd })).stdout.trim().split("\n").map((row) => JSON.parse(row).ids[0]);
  const exact = nearest(rounded, queries, dim, 1).flat();
  assert.ok(rows.filter((id, q) => id === exact[q]).length >= 18, "nearest vectors, those that were added among them");
});

test("a file of more than 256 MiB is sampled, and its user told", async (t) => {
  const { path: cwd } = await folder(t, { count: 30 });
  // A hole but for its head. Its first vector ends the work before it takes long.
  const [count, dim] = [70_000, 1024], head = npyHeader("float32", [count, dim]);
  const file = await open(join(cwd, "large.npy"), "w");
  await file.write(head, 0, head.length, 0);
  await file.write(Float32Array.of(NaN), 0, 4, head.length);
  await file.truncate(head.length + 4 * count * dim);
  await file.close();
  const { code, stderr } = await leastwise(["compress", "large.npy", "x", "--backend", "cpu"], { cwd });
  assert.equal(code, 1, stderr);
  assert.equal(stderr, "Clusters and codes are made of 65536 of 70000 vectors.\nleastwise: large.npy: vector 0 has a NaN or an infinity\n");
});

test("nothing is written over what is read, and what can't be written is told before any work", async (t) => {
  const { path: cwd, points, dim } = await folder(t, { count: 100 });
  await succeeds(["compress", "points.npy", "index.lwi", "--backend", "cpu"], { cwd });
  const before = await readFile(join(cwd, "points.npy"));
  await link(join(cwd, "points.npy"), join(cwd, "again.npy"));
  await mkdir(join(cwd, "inside"));
  // Work would end with this one's NaN.
  await writeFile(join(cwd, "nan.npy"), encodeNpy(points.map((value, k) => (k === 7 ? NaN : value)), [100, dim]));
  const CASES = [
    [["compress", "points.npy", "points.npy"], 2, /points.npy is to be written, but it is what is read/],
    [["compress", "points.npy", "inside/../again.npy"], 2, /again.npy is to be written, but it is points.npy, which is read/],
    [["compress", "nan.npy", "inside"], 2, /inside is a folder/],
    [["compress", "nan.npy", "absent/x.lwi"], 1, /absent\/x.lwi: there is no folder absent/],
    [["compress", "nan.npy", "points.npy/x.lwi"], 1, /points.npy\/x.lwi: a part of this path is a file/],
    [["cluster", "points.npy", "-m", "3", "--centroids", "points.npy"], 2, /it is what is read/],
    [["cluster", "nan.npy", "-m", "3", "--labels", "absent/labels.npy"], 1, /absent\/labels.npy: /],
    [["cluster", "points.npy", "-m", "3", "--labels", "a.npy", "--centroids", "./a.npy"], 2, /a.npy is to be written twice/],
    [["query", "index.lwi", "queries.npy", "--ids", "queries.npy"], 2, /it is what is read/],
    [["query", "index.lwi", "queries.npy", "--distances", "index.lwi"], 2, /it is what is read/],
  ];
  for (const [args, code, message] of CASES) await fails([...args, "--quiet", "--backend", "cpu"], code, message, { cwd });
  assert.ok(before.equals(await readFile(join(cwd, "points.npy"))));
  assert.deepEqual((await readdir(cwd)).sort(), ["again.npy", "index.lwi", "inside", "nan.npy", "points.npy", "queries.npy"]);
  // What is there and is something else is replaced.
  await succeeds(["compress", "points.npy", "index.lwi", "--code", "int8", "--quiet", "--backend", "cpu"], { cwd });
});

test("what was there stays when something goes wrong, and nothing is left behind", async (t) => {
  const { path: cwd, points, dim } = await folder(t, { count: 100 });
  await succeeds(["compress", "points.npy", "index.lwi", "--backend", "cpu"], { cwd });
  const before = await readFile(join(cwd, "index.lwi"));
  points[77 * dim + 3] = NaN;
  await writeFile(join(cwd, "nan.npy"), encodeNpy(points, [100, dim]));
  await fails(["compress", "nan.npy", "index.lwi", "--quiet", "--backend", "cpu"], 1, /nan.npy: vector 77 has a NaN or an infinity/, { cwd });
  await fails(["compress", "nan.npy", "index.lwi", "--quiet", "--sample", "50", "--backend", "cpu"], 1, /nan.npy: vector 77 has a NaN or an infinity/, { cwd });
  await fails(["compress", "points.npy", "absent/index.lwi", "--quiet", "--backend", "cpu"], 1, /there is no folder absent/, { cwd });
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

test("bench: a ratio that does not fit is told in its row, and the others are measured", async (t) => {
  const { path: cwd } = await folder(t, { count: 500, dim: 8 });
  const { stdout } = await succeeds(["bench", "points.npy", "--backend", "cpu"], { cwd });
  const rows = stdout.trim().split("\n").slice(1);
  assert.deepEqual(rows.map((row) => row.split(/ {2,}/)[0]), ["int8", "int4", "bits @ 0.125", "bits @ 0.066"]);
  assert.match(rows[3], /450 vectors of 8 dimensions .*don't fit into a ratio of 0.066/);
  const { results } = JSON.parse((await succeeds(["bench", "points.npy", "--ratio", "0.01", "--ratio", "0.9", "--json", "--quiet", "--backend", "cpu"], { cwd })).stdout);
  assert.match(results[0].reason, /don't fit into a ratio of 0.01: ask for 0\.\d+ or more/);
  assert.ok(results[1].recall > 0.9 && results[1].ratio <= 0.9, JSON.stringify(results));
  const { code, stderr } = await leastwise(["bench", "points.npy", "--ratio", "0.01", "--quiet", "--backend", "cpu"], { cwd });
  assert.equal(code, 1);
  assert.match(stderr, /^leastwise: no code could be measured: .*don't fit into a ratio of 0.01/);
});

test("vectors of bits: packed files in, exact neighbours by Hamming distance out", async (t) => {
  const path = await mkdtemp(join(tmpdir(), "leastwise-bits-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  const random = new Random(8), rows = Uint8Array.from({ length: 300 * 5 }, () => random.below(256)), asked = rows.subarray(10 * 5, 13 * 5);
  const at = (name) => join(path, name), ones = (byte) => byte.toString(2).replaceAll("0", "").length;
  await writeFile(at("rows.npy"), encodeNpy(rows, [300, 5]));
  await writeFile(at("asked.npy"), encodeNpy(asked, [3, 5]));
  await writeFile(at("floats.npy"), encodeNpy(new Float32Array(10), [2, 5]));
  // The same as .bvecs: the number of bytes before each row.
  await writeFile(at("rows.bvecs"), Buffer.concat(Array.from({ length: 300 }, (_, row) => Buffer.concat([Buffer.of(5, 0, 0, 0), rows.subarray(row * 5, row * 5 + 5)]))));
  await writeFile(at("keys.txt"), Array.from({ length: 300 }, (_, row) => `k${row}\n`).join(""));
  await writeFile(at("only.txt"), "k10\nk20\nk30\n");
  assert.match((await succeeds(["compress", at("rows.npy"), at("one.lwi"), "--metric", "hamming"])).stdout, /300 vectors of 40 bits/);
  await succeeds(["compress", at("rows.bvecs"), at("two.lwi"), "--metric", "hamming", "--keys", at("keys.txt")]);
  const info = JSON.parse((await succeeds(["info", at("one.lwi"), "--json"])).stdout);
  assert.deepEqual([info.metric, info.dim, info.count, info.keyed], ["hamming", 40, 300, false]);
  const expected = [10, 11, 12].flatMap((row) => Array.from({ length: 300 }, (_, id) => [id, Array.from({ length: 5 }, (_, k) => ones(rows[row * 5 + k] ^ rows[id * 5 + k])).reduce((a, b) => a + b)])
    .sort((a, b) => a[1] - b[1] || a[0] - b[0]).slice(0, 4).map(([id, distance], rank) => [row - 10, rank, id, distance]));
  const { stdout } = await succeeds(["query", at("one.lwi"), at("asked.npy"), "-k", "4", "--metric", "hamming", "--quiet"]);
  assert.equal(stdout, expected.map((line) => `${line.join("\t")}\n`).join(""));
  const keyed = await succeeds(["query", at("two.lwi"), at("asked.npy"), "-k", "1", "--only", at("only.txt"), "--json", "--quiet"]);
  assert.deepEqual(keyed.stdout.trim().split("\n").map((line) => JSON.parse(line)).map(({ query, keys }) => [query, keys.length])[0], [0, 1]);
  assert.deepEqual(JSON.parse(keyed.stdout.split("\n")[0]).keys, ["k10"]);
  await succeeds(["query", at("one.lwi"), at("asked.npy"), "-k", "4", "--ids", at("ids.npy"), "--distances", at("distances.npy"), "--quiet"]);
  const ids = await (await openVectors(await readFile(at("ids.npy")))).elements();
  assert.deepEqual([...ids], expected.map(([, , id]) => id));
  const MISUSED = 2;
  await fails(["compress", at("floats.npy"), at("no.lwi"), "--metric", "hamming"], MISUSED, /float32.*uint8.*packbits/);
  await fails(["compress", at("rows.npy"), at("no.lwi"), "--metric", "hamming", "--ratio", "0.5"], MISUSED, /--ratio is not for --metric hamming/);
  await fails(["query", at("one.lwi"), at("asked.npy"), "--probes", "3"], MISUSED, /--probes is not for --metric hamming/);
  await fails(["query", at("one.lwi"), at("asked.npy"), "--metric", "dot"], MISUSED, /made for hamming/);
});
