// Strips of tensors on the CPU: what is read in place, values at ragged sizes in poisoned memory, exponentials in f32 to the last place.
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import { ON_CUDA, open } from "./support.mjs";

const SKIP = ON_CUDA && "the CPU's kernels";
const SIZES = [1, 3, 4, 5, 63, 64, 65, 255, 257, 513, 1025, 2047];

/** Buffers of the pool have NaN in them, so that what a kernel leaves out is seen. */
async function poison(lw, sizes, dtype) {
  const poisons = sizes.map((size) => lw.full([size], 0, { dtype }).div(0));
  await lw.evaluate(...poisons);
  poisons.forEach((tensor) => tensor.dispose());
}

const near = (found, right, tolerance, what) => {
  assert.equal(found.length, right.length, what);
  const scale = right.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-2);
  found.forEach((value, k) => assert.ok(Math.abs(value - right[k]) <= tolerance * scale, `${what}, element ${k}: ${value} instead of ${right[k]}`));
};

test("whole tensors and rows are read in place, and what is apart is copied", { skip: SKIP }, async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const dtype of ["f32", "f64"]) {
    const random = (shape, seed) => lw.random(shape, { seed, dtype });
    const [x, y, row] = [random([200, 300], 1), random([200, 300], 2), random([300], 3)];
    await lw.evaluate(x, y, row);
    const counted = async (make) => {
      const made = make(), before = lw.tensorStatistics();
      await lw.evaluate(made);
      const after = lw.tensorStatistics();
      return [after.inPlace - before.inPlace, after.copied - before.copied];
    };
    assert.deepEqual(await counted(() => x.add(y)), [120_000, 0], dtype);
    assert.deepEqual(await counted(() => x.mul(row)), [120_000, 0], dtype);
    assert.deepEqual(await counted(() => x.max(1)), [60_000, 0], dtype);
    assert.deepEqual(await counted(() => x.sum(0)), [60_000, 0], dtype);
    assert.deepEqual(await counted(() => x.slice(":", [null, null, -1]).exp()), [0, 60_000], dtype);
  }
});

test("ragged sizes agree with JavaScript, in memory that had NaN", { skip: SKIP }, async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const [dtype, tolerance] of [["f32", 3e-6], ["f64", 1e-13]]) {
    for (const size of SIZES) {
      const rows = 7, seed = randomInt(2 ** 31);
      const [x, row] = [lw.random([rows, size], { seed, low: -1, high: 1, dtype }), lw.random([size], { seed: seed + 1, low: -1, high: 1, dtype })];
      const [a, b] = (await Promise.all([x.read(), row.read()])).map((values) => Array.from(values));
      await poison(lw, [rows * size, rows * size, size, rows, 1], dtype);
      const at = (r, k) => a[r * size + k];
      const each = (of) => Array.from({ length: rows * size }, (_, k) => of(Math.floor(k / size), k % size));
      const line = (r) => a.slice(r * size, (r + 1) * size), column = (k) => Array.from({ length: rows }, (_, r) => at(r, k));
      const sum = (values) => values.reduce((sum, value) => sum + value, 0);
      const softmax = (values) => {
        const most = Math.max(...values), powers = values.map((value) => Math.exp(value - most)), total = sum(powers);
        return powers.map((power) => power / total);
      };
      const norm = (values) => {
        const mean = sum(values) / size, variance = sum(values.map((value) => (value - mean) ** 2)) / size;
        return values.map((value) => (value - mean) / Math.sqrt(variance + 1e-5));
      };
      const byRows = (of) => Array.from({ length: rows }, (_, r) => of(line(r))).flat();
      const byColumns = (of) => Array.from({ length: size }, (_, k) => of(column(k)));
      const pairs = [
        ["add", x.add(row), each((r, k) => at(r, k) + b[k])],
        ["chain", x.mul(2).add(row).tanh().sub(0.5), each((r, k) => Math.tanh(2 * at(r, k) + b[k]) - 0.5)],
        ["backwards", x.slice(":", [null, null, -1]).mul(row), each((r, k) => at(r, size - 1 - k) * b[k])],
        ["sum", x.sum(), [sum(a)]], ["sum of rows", x.sum(1), byRows(sum)], ["sum of columns", x.sum(0), byColumns(sum)],
        ["max", x.max(), [Math.max(...a)]], ["max of rows", x.max(1), byRows((of) => Math.max(...of))], ["min of columns", x.min(0), byColumns((of) => Math.min(...of))],
        ["softmax", x.softmax(), byRows(softmax)],
        // Of one number the variance is rounding's.
        ...(size > 1 ? [["layer norm", x.layerNorm(), byRows(norm)]] : []),
      ];
      const found = await Promise.all(pairs.map(([, tensor]) => tensor.read()));
      // Sums are known to the rounding of what they are of.
      pairs.forEach(([name,, right], k) => near(found[k], right, tolerance * (/sum/.test(name) ? 30 : 4), `${dtype}, ${rows} × ${size}, ${name}, seed ${seed}`));
      [x, row, ...pairs.map(([, tensor]) => tensor)].forEach((tensor) => tensor.dispose());
    }
  }
});

test("exp, tanh and sigmoid in f32 are within an ulp, in wasm as natively", { skip: SKIP }, async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const bits = Uint32Array.from({ length: 2 * 35_000 }, (_, k) => (k >> 1) * 61_001 + (k & 1 ? 0x8000_0000 : 0));
  const singles = new Float32Array(bits.buffer).filter((value) => Number.isFinite(value));
  const values = Float32Array.from([...singles, Infinity, -Infinity, NaN, 0, -0, 88.72283, -103.9, -71.04536, 0.5479283, 0.7, 8.66, 8.660001, 9.01, 9.010913]);
  const x = lw.tensor(values);
  const found = await Promise.all([x.exp().read(), x.tanh().read(), x.sigmoid().read()]);
  const right = [Math.exp, Math.tanh, (a) => (a < 0 ? Math.exp(a) / (1 + Math.exp(a)) : 1 / (1 + Math.exp(-a)))];
  const bounds = [0.992, 0.867, 0.51];
  for (const [which, numbers] of found.entries()) {
    let worst = 0;
    numbers.forEach((value, k) => {
      const exact = right[which](values[k]);
      if (Number.isNaN(exact)) return assert.ok(Number.isNaN(value), `function ${which} of NaN: ${value}`);
      if (!Number.isFinite(Math.fround(exact))) return assert.equal(value, Math.sign(exact) * Infinity, `function ${which} of ${values[k]}`);
      const ulp = 2 ** (Math.floor(Math.log2(Math.max(Math.abs(exact), 2 ** -126))) - 23);
      worst = Math.max(worst, Math.abs(value - exact) / ulp);
      assert.equal(Object.is(value, -0) || value < 0, Object.is(exact, -0) || exact < 0, `the sign of function ${which} of ${values[k]}`);
    });
    assert.ok(worst < bounds[which], `function ${which}: ${worst} ulp`);
  }
});

test("the same bits in any order of evaluation, and again", { skip: SKIP }, async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const x = lw.random([211, 517], { seed: 9, low: -1, high: 1 });
  const make = () => [x.sum(), x.sum(0), x.softmax(), x.layerNorm(), x.max(0)];
  const together = await Promise.all(make().map((tensor) => tensor.read()));
  for (const [k, tensor] of make().entries()) assert.deepEqual(await tensor.read(), together[k]);
});
