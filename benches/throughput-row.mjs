// A row of `npm run bench -- throughput`, in a process of its own: vectors that are written to files, or searches of one code on one backend.
import { closeSync, existsSync, openSync, readFileSync, readSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { init } from "leastwise";
import { recall } from "./throughput.mjs";

const { what, folder, rows, dim, queries, backend, code, k } = JSON.parse(process.argv[2]);
const send = (message) => new Promise((resolve) => { process.send(message, resolve); });
/** Vectors of one call of the file system. */
const TOGETHER = 1 << 16;
const RUNS = 5;

/** Vectors around thousands of centres, each along some of a few hundred directions, and a little of everything: of unit length, as embeddings are. */
function vectorsLike(count, first) {
  const centres = 4096, directions = 256, along = 6;
  let state = 0;
  const uniform = () => {                                                 // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const spread = (scale) => scale * (uniform() + uniform() + uniform() + uniform() - 2);
  const table = Float32Array.from({ length: (centres + directions) * dim }, () => spread(1));
  state = 1000003 * (first + 1);
  const points = new Float32Array(count * dim);
  for (let i = 0; i < count; i++) {
    const row = points.subarray(i * dim, (i + 1) * dim), centre = Math.floor(uniform() * centres) * dim;
    for (let j = 0; j < dim; j++) row[j] = table[centre + j] + 0.3 * (uniform() - 0.5);
    for (let a = 0; a < along; a++) {
      const from = (centres + Math.floor(uniform() * directions)) * dim, weight = spread(0.5);
      for (let j = 0; j < dim; j++) row[j] += weight * table[from + j];
    }
    let square = 0;
    for (let j = 0; j < dim; j++) square += row[j] * row[j];
    for (let j = 0; j < dim; j++) row[j] /= Math.sqrt(square);
  }
  return points;
}

function data() {
  for (const [name, count, seed] of [["base.f32", rows, 0], ["queries.f32", queries, 7e6]]) {
    const file = openSync(join(folder, name), "w");
    for (let first = 0; first < count; first += TOGETHER) {
      const points = vectorsLike(Math.min(TOGETHER, count - first), seed + first);
      writeSync(file, new Uint8Array(points.buffer));
    }
    closeSync(file);
  }
}

function read(name) {
  const path = join(folder, name), bytes = new Uint8Array(statSync(path).size), file = openSync(path, "r");
  for (let at = 0; at < bytes.length;) at += readSync(file, bytes, at, Math.min(bytes.length - at, 2 ** 30), at);
  closeSync(file);
  return new Float32Array(bytes.buffer);
}

/** The index, which the first backend compresses and others open. */
async function indexOf(lw) {
  const path = join(folder, `index-${JSON.stringify(code).replace(/\W/g, "")}`), opened = existsSync(path), started = performance.now();
  if (opened) return { index: await lw.openIndex(readFileSync(path)), buildMs: performance.now() - started, opened };
  const index = await lw.compress(read("base.f32"), { dim, ...code }), buildMs = performance.now() - started;
  await send({ stage: "saving" });
  writeFileSync(path, await index.save());
  return { index, buildMs, opened };
}

async function search() {
  const lw = await init({ backend });
  await send({ stage: "compress" });
  const { index, ...built } = await indexOf(lw);
  await send({ ...built, bytes: index.bytes, adapter: lw.adapter, stage: "search" });
  const asked = read("queries.f32"), times = [];
  let hits;
  for (let run = 0; run <= RUNS; run++) {
    const started = performance.now();
    hits = await index.search(asked, { k });
    times.push(performance.now() - started);
    const [firstMs, ...rest] = times;
    const ms = rest.sort((a, b) => a - b)[rest.length >> 1];
    await send({ firstMs, ms, searchedBy: hits.searchedBy, reason: hits.reason, recall: recall(folder, hits.ids) });
  }
}

try {
  await send({ stage: what });
  if (what === "data") data();
  else await search();
  await send({ done: true });
  process.exit(0);
} catch (error) {
  await send({ error: `${error.code ? `${error.code}: ` : ""}${error.message ?? error}` });
  process.exit(1);
}
