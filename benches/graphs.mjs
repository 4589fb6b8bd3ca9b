// `npm run bench -- graphs [--count=1000000] [--degree=16] [--ratio=0.1] [--python=python3]`: searches through a graph beside those through lists, in WebAssembly on one thread: CPU
// time of one query, recall@10 against exact search, bytes of file and memory, and the time of making it. With `--backend=webgpu` or `cuda`: graphs that
// a GPU builds beside those of the CPU, over the same codes (`--cpu=0` leaves the CPU's out): seconds, recall, and if they are the same file. MiniLM's embeddings (20,000 × 384) if LEASTWISE_DATA
// names a folder with embeddings/, and `count` vectors of 128 components on a curved surface of 24 dimensions, with noise.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { init } from "leastwise";
import { encodeNpy, openVectors } from "leastwise/vectors";
import { machine } from "./lib/machine.mjs";

const K = 10;

function options(args) {
  const given = { count: 100_000, degree: 16, ratio: 0.1, cpu: 1, backend: "cpu", python: undefined };
  for (const arg of args) {
    const [name, value] = arg.replace(/^--/, "").split("=");
    if (name === "backend" && ["cpu", "webgpu", "cuda"].includes(value)) given.backend = value;
    else if (name === "python" && value) given.python = value;
    else if (name === "cpu" && ["0", "1"].includes(value)) given.cpu = Number(value);
    else if (!(name in given) || !(Number(value) > 0)) throw new Error(`graphs has no "${arg}": it has --count=N, --degree=D and --ratio=R of the 128-dimensional vectors, --backend=B, --cpu=0 and --python=PYTHON`);
    else given[name] = Number(value);
  }
  return given;
}

/** Random numbers in [0, 1), and nearly normal ones. */
function random(seed) {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { uniform, normal: () => (uniform() + uniform() + uniform() + uniform() - 2) * Math.sqrt(3) };
}

/** Vectors tanh(W z) + noise, with z in one of 200 normal clusters of 24 dimensions. */
function surface(count, dim, seed) {
  const hidden = 24, clusters = 200, model = random(7);
  const weights = Float32Array.from({ length: dim * hidden }, () => model.normal() / Math.sqrt(hidden)), centres = Float32Array.from({ length: clusters * hidden }, model.normal);
  const { uniform, normal } = random(seed), rows = new Float32Array(count * dim), z = new Float32Array(hidden);
  for (let row = 0; row < count; row++) {
    const centre = Math.floor(uniform() * clusters) * hidden;
    for (let j = 0; j < hidden; j++) z[j] = centres[centre + j] + 0.6 * normal();
    for (let i = 0; i < dim; i++) {
      let sum = 0;
      for (let j = 0; j < hidden; j++) sum += weights[i * hidden + j] * z[j];
      rows[row * dim + i] = Math.tanh(sum) + 0.08 * normal();
    }
  }
  return rows;
}

/** Ids of the K nearest of each query, by comparing with all. */
function truthOf(points, queries, dim) {
  const all = [];
  for (let q = 0; q < queries.length; q += dim) {
    const ids = new Uint32Array(K), distances = new Float64Array(K).fill(Infinity);
    for (let i = 0, at = 0; at < points.length; i++, at += dim) {
      let sum = 0;
      for (let j = 0; j < dim && sum < distances[K - 1]; j += 8) {
        for (let k = j; k < j + 8; k++) sum += (points[at + k] - queries[q + k]) ** 2;
      }
      if (sum >= distances[K - 1]) continue;
      let place = K - 1;
      for (; place > 0 && distances[place - 1] > sum; place--) [ids[place], distances[place]] = [ids[place - 1], distances[place - 1]];
      [ids[place], distances[place]] = [i, sum];
    }
    all.push(ids);
  }
  return all;
}

const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

/** Recall, and CPU and least wall milliseconds of queries one by one. */
async function searched(index, queries, dim, truth, options) {
  const count = queries.length / dim, at = (q) => queries.subarray(q * dim, (q + 1) * dim);
  for (let q = 0; q < Math.min(count, 20); q++) await index.search(at(q), { k: K, ...options });
  let found = 0, least = Infinity;
  const began = cpuMs();
  let through;
  for (let q = 0; q < count; q++) {
    const started = performance.now(), hits = await index.search(at(q), { k: K, ...options });
    least = Math.min(least, performance.now() - started);
    through = hits.through;
    for (const id of hits.ids) if (truth[q].includes(id)) found++;
  }
  return { recall: found / (K * count), cpu: (cpuMs() - began) / count, least, through };
}

/** An index without a graph. */
async function coded(lw, points, dim, build) {
  if (build.trainOn === undefined) return lw.compress(points, { dim, ...build });
  const count = points.length / dim, index = await lw.compress(points.subarray(0, build.trainOn * dim), { dim, ratio: build.ratio, trainFor: count });
  for (let first = 0; first < count; first += 50_000) await index.add(points.subarray(first * dim, (first + 50_000) * dim));
  return index;
}

/** Graphs of the engine's device and of the CPU, over the same codes. */
async function compare(lw, points, queries, dim, build, degree, places) {
  const count = points.length / dim;
  console.log(`\ncurved surface: ${count} × ${dim}, degree ${degree}, ${JSON.stringify(build)}`);
  const truth = truthOf(points, queries, dim), made = await coded(lw, points, dim, build), bare = await made.save(), files = [];
  made.dispose();
  for (const place of places) {
    const index = await lw.openIndex(bare), began = cpuMs(), started = performance.now();
    index.sketches = false;
    index.searching = place;
    await index.buildGraph({ degree });
    const [seconds, cpu] = [performance.now() - started, cpuMs() - began].map((ms) => (ms / 1000).toFixed(2)), { builtBy, reason } = index.info.graph;
    console.log(`graph on ${place}: ${seconds} s, ${cpu} CPU s of the host; built by ${builtBy}${reason === undefined ? "" : ` (${reason})`}`);
    index.searching = "cpu";
    for (const effort of [64, 192]) console.log(`  effort ${effort}: recall@10 ${(await searched(index, queries, dim, truth, { effort })).recall.toFixed(4)}`);
    files.push(await index.save());
    index.dispose();
  }
  if (files.length > 1) console.log(`the same file: ${Buffer.compare(files[0], files[1]) === 0}`);
}

/** FAISS, hnswlib and usearch on the same vectors and queries. */
function rivals(python, name, points, queries, dim, truth) {
  if (!python) return console.log(`\nNo other library is beside it: --python=PYTHON names a Python that has faiss, hnswlib or usearch.`);
  console.log(`\n${name}: other libraries, native`);
  const folder = mkdtempSync(join(tmpdir(), "leastwise-"));
  try {
    const put = (file, values, width) => writeFileSync(join(folder, `${file}.npy`), encodeNpy(values, [values.length / width, width]));
    put("base", points, dim);
    put("queries", queries, dim);
    put("truth", Uint32Array.from(truth.flatMap((ids) => [...ids])), K);
    execFileSync(python, [fileURLToPath(new URL("neighbours.py", import.meta.url)), folder], { stdio: ["ignore", "inherit", "pipe"] });
  } catch (error) {
    console.log(`${python} did not run benches/neighbours.py (${`${error.stderr || error.message}`.trim().split("\n").at(-1)})`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function measure(lw, name, points, queries, dim, build, degree, truth) {
  const count = points.length / dim, raw = 4 * dim;
  console.log(`\n${name}: ${count} × ${dim}, ${queries.length / dim} queries, ${JSON.stringify(build)}`);
  let began = cpuMs();
  const index = await coded(lw, points, dim, build);
  console.log(`codes: ${((cpuMs() - began) / 1000).toFixed(1)} CPU s, ${index.info.clusters} clusters, file ${(index.bytes / count).toFixed(1)} B a vector`);
  const show = (what, { recall, cpu, least, through }, bytes) => console.log(`${what.padEnd(22)} ${through.padEnd(6)} recall@10 ${recall.toFixed(4)}  ${cpu.toFixed(3)} CPU ms  ${least.toFixed(3)} ms at least${bytes ? `  ${bytes}` : ""}`);
  const lists = await searched(index, queries, dim, truth, {});
  show("lists", lists, `sketches ${(index.info.sketchBytes / count).toFixed(1)} B a vector`);
  index.sketches = false;
  began = cpuMs();
  const started = performance.now();
  await index.buildGraph({ degree });
  console.log(`graph: ${((cpuMs() - began) / 1000).toFixed(1)} CPU s (${((performance.now() - started) / 1000).toFixed(1)} s of wall time), degree ${degree}, ${(index.info.graph.bytes / count).toFixed(1)} B a vector`);
  for (const effort of [undefined, 32, 64, 96, 128, 192, 256, 384]) show(effort === undefined ? "graph, default" : `graph, effort ${effort}`, await searched(index, queries, dim, truth, effort === undefined ? {} : { effort }));
  const { bytes, memory } = index.info, each = (number) => (number / count).toFixed(1);
  console.log(`file ${(bytes / count).toFixed(1)} B a vector, ${((100 * bytes) / count / raw).toFixed(1)} % of f32; memory ${each(memory.total)} B, ${((100 * memory.total) / count / raw).toFixed(1)} %: ${Object.entries(memory).filter(([name]) => name !== "total").map(([name, part]) => `${name} ${each(part)}`).join(", ")}`);
  index.dispose();
}

export async function graphs(args) {
  const { count, degree, ratio, backend, cpu, python } = options(args), host = machine();
  console.log(`${host.cpu}, ${host.cores} cores, load average ${host.loadAverage.toFixed(1)}; node ${host.node}; ${host.commit}; one thread; CPU time, since others use the machine`);
  const lw = await init({ backend }), of128 = { ratio, trainOn: Math.min(count, 65_536) };
  if (backend !== "cpu") {
    if (python) console.log("--python is for --backend=cpu: other libraries search on the CPU");
    console.log(`${lw.backend}: ${lw.adapter}`);
    await compare(lw, surface(count, 128, 1), surface(200, 128, 2), 128, of128, degree, cpu ? ["device", "cpu"] : ["device"]);
    lw.dispose();
    return;
  }
  const folder = process.env.LEASTWISE_DATA && join(process.env.LEASTWISE_DATA, "embeddings");
  if (folder && existsSync(folder)) {
    const read = async (name) => (await openVectors(readFileSync(join(folder, name)))).rows();
    const [points, queries] = [await read("minilm-20k-base.f16.npy"), await read("minilm-queries.f16.npy")];
    const truth = truthOf(points, queries, 384);
    for (const build of [{ ratio: 0.19 }, { ratio: 0.25 }, { code: "f16" }, { code: "f32" }]) await measure(lw, "MiniLM", points, queries, 384, build, 32, truth);
    rivals(python, "MiniLM", points, queries, 384, truth);
  } else console.log("LEASTWISE_DATA is not set: it names the folder that holds embeddings/minilm-20k-base.f16.npy");
  const points = surface(count, 128, 1), queries = surface(200, 128, 2), truth = truthOf(points, queries, 128);
  await measure(lw, "curved surface", points, queries, 128, of128, degree, truth);
  rivals(python, "curved surface", points, queries, 128, truth);
}
