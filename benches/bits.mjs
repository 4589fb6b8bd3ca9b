// `npm run bench -- bits`: vectors of bits by Hamming distance, in bytes of vectors a second; and searches through clusters by sketches of one bit a component
// beside those of a byte, on MiniLM's embeddings (20,000 × 384) if LEASTWISE_DATA names a folder with embeddings/. In WebAssembly on one thread, CPU time.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { init } from "leastwise";
import { indexBits, openVectors } from "leastwise/vectors";
import { machine } from "./lib/machine.mjs";

const K = 10;

const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

/** The least CPU milliseconds of some runs. */
async function least(runs, work) {
  let best = Infinity;
  for (let run = 0; run < runs; run++) {
    const began = cpuMs();
    await work();
    best = Math.min(best, cpuMs() - began);
  }
  return best;
}

async function hamming(lw) {
  for (const [dim, count] of [[128, 1e6], [256, 1e6], [384, 1e6], [1024, 5e5]]) {
    const bytes = dim / 8, rows = new Uint8Array(count * bytes), words = new Uint32Array(rows.buffer);
    let state = 1;
    for (let at = 0; at < words.length; at++) {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      words[at] = state;
    }
    const index = await indexBits(lw, rows, { dim }), rate = (ms) => `${ms.toFixed(2)} ms, ${((count * bytes) / ms / 1e6).toFixed(1)} GB/s`;
    const one = await least(7, () => index.search(rows.subarray(0, bytes), { k: K })), many = (await least(3, () => index.search(rows.subarray(0, 64 * bytes), { k: K }))) / 64;
    console.log(`${dim} bits × ${count}: one query ${rate(one)}; of 64 at once ${rate(many)}`);
    index.dispose();
  }
  const floor = new Float64Array(2e7), words = new Float64Array(2e7);
  const ms = await least(9, () => words.set(floor));
  console.log(`memory floor: copying 160 MB reads ${(160 / ms).toFixed(1)} GB/s and writes as much`);
}

async function sketches(lw, folder) {
  const file = async (name) => openVectors(readFileSync(join(folder, name)));
  const points = await (await file("minilm-20k-base.f16.npy")).rows(), queries = await (await file("minilm-queries.f16.npy")).rows(), nearest = await file("minilm-queries.top100.u32.npy");
  const truth = await nearest.elements(), dim = 384, count = points.length / dim, asked = queries.length / dim;
  for (const ratio of [0.25, 0.125, 0.066]) {
    const index = await lw.compress(points, { dim, ratio });
    const show = async (what, options) => {
      let found = 0;
      const ms = await least(2, async () => {
        found = 0;
        for (let query = 0; query < asked; query++) {
          const { ids } = await index.search(queries.subarray(query * dim, (query + 1) * dim), { k: K, ...options }), right = truth.subarray(query * nearest.dim, query * nearest.dim + K);
          for (const id of ids) if (right.includes(id)) found++;
        }
      });
      const together = (await least(2, () => index.search(queries, { k: K, ...options }))) / asked, { memory, bytes } = index.info, share = (part) => `${((100 * part) / count / dim / 4).toFixed(1)} %`;
      console.log(`ratio ${ratio}, ${what}: file ${share(bytes)}, memory ${share(memory.total)}, recall@10 ${(found / asked / K).toFixed(4)}, alone ${(ms / asked).toFixed(2)} CPU ms, ${asked} at once ${together.toFixed(2)}`);
    };
    await show("a byte a component", {});
    index.sketches = "bits";
    for (const effort of [32, 64, 128, 256]) await show(`a bit, effort ${effort}`, { effort });
    index.dispose();
  }
}

export async function bits() {
  const host = machine();
  console.log(`${host.cpu}, ${host.cores} cores, load average ${host.loadAverage.toFixed(1)}; node ${host.node}; ${host.commit}; one thread; CPU time, since others use the machine`);
  const lw = await init({ backend: "cpu" });
  await hamming(lw);
  const folder = process.env.LEASTWISE_DATA && join(process.env.LEASTWISE_DATA, "embeddings");
  if (folder && existsSync(folder)) await sketches(lw, folder);
  else console.log("LEASTWISE_DATA is not set: it names the folder that holds embeddings/minilm-20k-base.f16.npy");
}
