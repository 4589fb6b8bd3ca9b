// Random numbers of tests: new in every run, and told, so that LEASTWISE_TEST_SEED has the same again.
import assert from "node:assert/strict";

/** Seed of this run. */
export const SEED = Number(process.env.LEASTWISE_TEST_SEED ?? Date.now() % 2 ** 31);

/** Numbers between low and high, by the run's seed and one of the caller's. */
export function randoms(seed, low, high) {
  let state = (Math.imul(SEED, 747796405) + Math.imul(seed, 2891336453) + 1) >>> 0;
  const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0);
  for (let k = 0; k < 4; k++) next();
  return () => low + (high - low) * (next() / 2 ** 32);
}

/** Holds a number to another: absolutely below 1, relatively above. */
export function near(actual, expected, tolerance, what = "") {
  // Written so that a NaN fails, too.
  assert.ok(Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected)), `LEASTWISE_TEST_SEED=${SEED}, ${what}: ${actual}, not ${expected}`);
}
