// # Checkpoint and resume
//
// A solve is saved halfway, and goes on in another engine, as after a reload of the page: with the same bits.
//
// - The file has values, data, weights and the solver's own state. Functions and indices are not in it: the same code makes
//   the same problem, and the file is checked against it.
// - `save()` may be called within `onIteration`, while the solve goes on.
// - A file of another problem is refused as `checkpoint-mismatch`, with what differs.
import assert from "node:assert/strict";
import { init, LeastwiseError } from "leastwise";

/** A chain of stiff links between two pegs, in disorder at first. */
function chain(lw, { count = 60, length = 0.03 } = {}) {
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 2, values: Float64Array.from({ length: 2 * count }, (_, k) => 0.3 * Math.sin(12.9898 * k)) });
  x.write([[0, 0], [1, 0]], { at: [0, count - 1] });
  x.fix([0, count - 1]);
  problem.energy("links", { over: Array.from({ length: count - 1 }, (_, k) => [k, k + 1]), of: [x, x], weight: 100 }, ([a, b]) => a.sub(b).norm().sub(length).square());
  problem.energy("weight", { of: [x], weight: 0.01 }, ([x]) => x.y);
  return { problem, x };
}
const options = { method: "newton", linear: "sparse-cholesky", maxIterations: 100 };

const first = await init({ backend: "cpu" });
const { problem, x } = chain(first);
let file;
const solver = problem.solver({ ...options, onIteration: ({ index }) => { if (index === 20) solver.save().then((bytes) => { file = bytes; }); } });
const whole = await solver.solve();
const expected = await x.read();
first.dispose();

const second = await init({ backend: "cpu" });
const again = chain(second);
const resumed = again.problem.solver(options);
resumed.restore(file);
const start = await again.x.read();
const report = await resumed.solve();
const values = await again.x.read();

let refusal;
try {
  chain(second, { length: 0.04 }).problem.solver(options).restore(file);
} catch (error) {
  refusal = error;
}
second.dispose();

assert.deepEqual(values, expected);                         // the same bits
assert.equal(report.cost, whole.cost);
assert.equal(report.iterations.length, whole.iterations.length);
assert.ok(refusal instanceof LeastwiseError && refusal.code === "checkpoint-mismatch", String(refusal));

export { file, report, start, values };
