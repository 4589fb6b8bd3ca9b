// `npm run bench -- compression [--limit=SECONDS] [--backend=NAME]`: batches of queries on that backend (default: the CPU), and codebooks and indices. Ours in WebAssembly on one thread against the packages on npm,
// on the same data: time, and the energy of the centroids, computed here. With LEASTWISE_DATA also the embeddings there: energies, and
// size, recall and build time of codes beside FAISS' figures.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { machine } from "./lib/machine.mjs";
import { measure } from "./lib/measure.mjs";
import { short } from "./lib/table.mjs";

/** The published tests' settings. */
const VLC = { method: "vlc", start: "farthest", mean: { trim: 0.1 }, temperature: 1, cooling: 0.05, learningRate: 0.2, maxIterations: 50, tolerance: 1e-3, minChanges: 1, maintenanceInterval: 20 };
const FASTER = 20;

const SYNTHETIC = { name: "published rows, 10,000 × 128", rows: 10000, dim: 128 };
const MIXTURE = { name: "64 normal clusters, 20,000 × 16", rows: 20000, dim: 16, components: 64 };

/** FAISS' indices on the embeddings (2 cores, native; codebooks of PQ, another 19.7 bytes a vector, not counted): bytes a vector, recall@10, seconds. */
const FAISS = [["SQ8", 384, 0.9948, 0.03], ["SQ4", 192, 0.9378, 0.02], ["PQ192", 192, 0.9522, 163], ["OPQ192", 192, 0.956, 454], ["PQ96", 96, 0.8692, 85]];
const CODES = [{ code: "int8" }, { ratio: 0.252 }, { code: "int4" }, { ratio: 0.125 }, { ratio: 0.066 }];

const seconds = (ms) => (ms === undefined ? "–" : `${short(ms / 1000)} s`);
const line = (cells, widths) => console.log(cells.map((cell, k) => (k === 0 ? cell.padEnd(widths[k]) : cell.padStart(widths[k]))).join("  "));

async function codebooks(data, clusters, limit, more = []) {
  console.log(`\n${data.name}, ${clusters} centroids`);
  const widths = [26, 10, 11, 12, 9];
  line(["", "time", "iterations", "energy", "centroids"], widths);
  const jobs = [
    { name: "leastwise cpu, anneal", what: "leastwise", backend: "cpu", options: {} },
    { name: "leastwise cpu, lloyd", what: "leastwise", backend: "cpu", options: { method: "lloyd" } },
    ...more,
    { name: "npm ml-kmeans", what: "ml-kmeans", options: { initialization: "kmeans++", maxIterations: 100 } },
    { name: "npm skmeans", what: "skmeans", options: { maxIterations: 100 } },
  ];
  const rows = new Map();
  for (const { name, ...job } of jobs) {
    const row = await measure({ ...job, data, clusters }, limit, "codebook.mjs");
    rows.set(name, row);
    line([name, seconds(row.ms), String(row.iterations ?? "–"), row.energy?.toPrecision(6) ?? "–", String(row.found ?? "–")], widths);
    if (row.cut) console.log(`  ${row.cut}`);
  }
  return rows;
}

/** At least twenty times faster, at an energy that is no higher. */
function compared(rows, ours) {
  const own = rows.get(ours);
  for (const name of ["npm ml-kmeans", "npm skmeans"]) {
    const other = rows.get(name);
    if (own.ms === undefined || other.ms === undefined) {
      console.log(`not measured: ${ours} against ${name}${other.cut ? ` (${other.cut})` : ""}`);
      continue;
    }
    const [times, higher] = [other.ms / own.ms, own.energy / other.energy - 1];
    console.log(`${times >= FASTER && higher <= 0 ? "pass" : "MISS"}  ${ours} against ${name}: ${short(times)} times faster (target: ${FASTER}), energy ${higher <= 0 ? "lower" : "HIGHER"} by ${(100 * Math.abs(higher)).toFixed(2)} %`);
  }
}

async function indices(folder, limit) {
  const [base, queries] = ["minilm-20k-base.f16.npy", "minilm-queries.f16.npy"].map((name) => join(folder, "embeddings", name));
  console.log("\nembeddings, 20,000 × 384: indices, recall of the 10 nearest of 500 queries; every stored byte counted");
  const widths = [24, 9, 8, 9, 8, 10, 10];
  line(["", "bytes", "of f32", "build", "recall", "one query", "of many"], widths);
  for (const code of CODES) {
    const name = code.code ?? `bits, ratio ${code.ratio}`;
    const row = await measure({ what: "index", backend: "cpu", data: { file: base }, queries, k: 10, code }, limit, "codebook.mjs");
    line([`leastwise cpu, ${name}`, short(row.bytesPerVector), row.ratio ? `${(100 * row.ratio).toFixed(2)} %` : "–", seconds(row.buildMs), row.recall?.toFixed(4) ?? "–", seconds(row.msSingle), seconds(row.msPerQuery)], widths);
    if (row.cut) console.log(`  ${row.cut}`);
  }
  for (const [name, bytes, recall, build] of FAISS) line([`FAISS ${name}`, String(bytes), `${((100 * bytes) / 1536).toFixed(1)} %`, `${build} s`, recall.toFixed(4), "", ""], widths);
}

/** Batches of queries, the 10 nearest of each. */
async function batches(data, backend, limit) {
  console.log(`\n${data.name}: searches of batches, the 10 nearest, on ${backend}`);
  const widths = [24, 9, 12, 12, 12];
  line(["", "queries", "first", "time", "queries/s"], widths);
  for (const code of [{ ratio: 0.125 }, { code: "int8" }]) {
    const row = await measure({ what: "search", backend, data, k: 10, code, counts: [1000, 10000], runs: 5 }, limit, "codebook.mjs");
    for (const { count, firstMs, ms, searchedBy, reason } of row.searches ?? []) {
      line([`${searchedBy}, ${code.code ?? `bits, ratio ${code.ratio}`}`, String(count), seconds(firstMs), seconds(ms), short((1000 * count) / ms)], widths);
      if (reason) console.log(`  not on ${backend}: ${reason}`);
    }
    if (row.cut) console.log(`  ${row.cut}`);
  }
}

export async function compression(args) {
  let [limit, backend] = [300, "cpu"];
  for (const arg of args) {
    const [name, value] = arg.split("=", 2);
    if (name === "--limit" && Number(value) > 0) limit = Number(value);
    else if (name === "--backend" && ["cpu", "webgpu", "cuda"].includes(value)) backend = value;
    else throw new Error(`bench -- compression has no "${arg}", only --limit=SECONDS of a row and --backend=cpu, webgpu or cuda`);
  }
  const host = machine();
  console.log(`${host.cpu}, ${host.cores} cores; node ${host.node}; ${host.commit}; one thread`);
  if (host.loadAverage > 0.5) console.log(`NOTE: other programs keep this machine busy (load average ${host.loadAverage.toFixed(1)}): times are too long by that.`);
  const embeddings = process.env.LEASTWISE_DATA && join(process.env.LEASTWISE_DATA, "embeddings/minilm-20k-base.f16.npy");
  await batches(embeddings && existsSync(embeddings) ? { name: "embeddings, 20,000 × 384", file: embeddings } : SYNTHETIC, backend, limit);
  const vlc = { name: "leastwise cpu, published", what: "leastwise", backend: "cpu", options: VLC };
  compared(await codebooks(SYNTHETIC, 256, limit, [vlc]), "leastwise cpu, lloyd");
  compared(await codebooks(MIXTURE, 64, limit), "leastwise cpu, lloyd");
  const folder = process.env.LEASTWISE_DATA;
  if (!folder || !existsSync(join(folder, "embeddings"))) return console.log("\nLEASTWISE_DATA names no folder with embeddings: rows about them are left out.");
  await codebooks({ name: "embeddings, 20,000 × 384", file: join(folder, "embeddings/minilm-20k-base.f16.npy") }, 64, limit);
  await indices(folder, limit);
}
