import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";

// Copies a part whenever the round changes, and counts itself among those that are done.
const WORKER = `
const { workerData: { from, to, words, start, end } } = require("node:worker_threads");
const source = new Float64Array(from).subarray(start, end), target = new Float64Array(to).subarray(start, end), state = new Int32Array(words);
for (let round = 0; ;) {
  const next = Atomics.load(state, 0);
  if (next < 0) break;
  if (next === round) continue;
  round = next;
  target.set(source);
  Atomics.add(state, 1, 1);
}`;

/** Bytes a millisecond, read and written, of a copy of so many bytes by so many threads: the most within a second. Fewer cores than threads give none. */
export async function copyRate(bytes, threads = 1) {
  if (threads > availableParallelism()) return undefined;
  const count = bytes / 8, shared = () => new SharedArrayBuffer(bytes);
  const from = shared(), to = shared(), words = new SharedArrayBuffer(8), state = new Int32Array(words);
  new Float64Array(from).fill(1);
  const ends = Array.from({ length: threads + 1 }, (_, k) => Math.floor(count * k / threads));
  const workers = Array.from({ length: threads - 1 }, (_, k) => new Worker(WORKER, { eval: true, workerData: { from, to, words, start: ends[k + 1], end: ends[k + 2] } }));
  await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once("online", resolve))));
  const source = new Float64Array(from).subarray(0, ends[1]), target = new Float64Array(to).subarray(0, ends[1]);
  const end = performance.now() + 1000;
  let best = Infinity;
  for (let round = 1, started = 0; started < end; round++) {
    Atomics.store(state, 1, 0);
    started = performance.now();
    Atomics.store(state, 0, round);
    target.set(source);
    while (Atomics.load(state, 1) < threads - 1);
    best = Math.min(best, performance.now() - started);
  }
  Atomics.store(state, 0, -1);
  await Promise.all(workers.map((worker) => worker.terminate()));
  return 2 * bytes / best;
}
