// Double-floats at their limits: bounds that f32 does not have, adapters that refuse the self-check, tiles of a workgroup's memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import { init } from "leastwise";
import { deviceThatReads, open, rejects } from "./support.mjs";

/** (x − 2)², (y + 3)² and (z − 1)² within limits, of which none is a number of f32. */
function bounded(lw) {
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 3, values: [0.05, -0.05, 0.3] });
  x.bound({ lower: [0, -0.1, 1 / 3], upper: [0.1, 0, 1 / 3] });
  problem.residuals("f", { of: [x] }, ([x]) => [x.x.sub(2), x.y.add(3), x.z.sub(1)]);
  return { problem, x };
}

for (const precision of ["f32x2", "mixed"]) {
  test(`bounds in "${precision}" have 48 bits, and lie within those that were given`, async (t) => {
    const lw = await open(t, { backend: "webgpu", precision });
    const { problem, x } = bounded(lw);
    await problem.solve();
    const [a, b, c] = await x.read(new Float64Array(3));
    assert.ok(a <= 0.1 && 0.1 - a < 1e-14, `${a}`);
    assert.ok(b >= -0.1 && b + 0.1 < 1e-14, `${b}`);
    assert.ok(Math.abs(c - 1 / 3) < 1e-14, `${c}`);
  });
}

test("an adapter whose compiler refuses the self-check stays in f32, and says why", async (t) => {
  const device = await deviceThatReads((code) => (/\bd_\d+\b/.test(code) ? "fn main() { this is no shader; }" : code));
  t.after(() => device.destroy());
  const lw = await init({ backend: "webgpu", device });
  t.after(() => lw.dispose());
  assert.equal(lw.doubles.available, false);
  assert.match(lw.doubles.reason, /self-check of double-floats/);
  const { problem, x } = bounded(lw);
  const report = await problem.solve();
  assert.equal(report.precision, "f32");
  assert.ok(Math.abs((await x.read())[0] - 0.1) < 1e-7);
  await rejects(init({ backend: "webgpu", device, precision: "f32x2" }), "no-adapter", /self-check of double-floats/);
});
