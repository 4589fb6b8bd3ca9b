// Checkpoints: a solve goes on in another engine, or another process, with the same bits.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { cauchy, column, huber, quaternion } from "leastwise";
import { BACKENDS, FULL, inFreshProcess, open, refuses } from "./support.mjs";
import { SCENES } from "../problems/suite.mjs";

const numbersOf = (iterations) => iterations.map(({ ms, ...numbers }) => numbers);
const valuesOf = async (tables) => Promise.all(tables.map((table) => table.read(new Float64Array(table.count * table.width))));

/** An iteration after another, by hand. */
async function steps(solver, count) {
  const made = [];
  for (let k = 0; k < count; k++) made.push(await solver.step());
  return numbersOf(made);
}

const engines = [...BACKENDS.map((backend) => ({ backend })), { backend: "cpu", precision: "f32" }];
// A software adapter takes seconds for a step with eigenvalues, and to compile any.
const isShort = ({ backend }) => backend === "webgpu" && !FULL;
const scenesFor = (engine) => SCENES.filter(({ name }) => engine.backend !== "webgpu" || (name !== "developability" && (FULL || ["as rigid as possible", "springs", "damped wave", "bundle adjustment"].includes(name))));

for (const engine of engines) {
  test(`${isShort(engine) ? "four kinds of problem go" : "every kind of problem goes"} on to the bit after a checkpoint on ${JSON.stringify(engine)}`, async (t) => {
    const [lw, other] = [await open(t, engine), await open(t, engine)];
    for (const { name, make } of scenesFor(engine)) {
      const whole = make(lw);
      const solver = whole.problem.solver();
      await steps(solver, 2);
      const file = await solver.save();
      const rest = await steps(solver, 2);
      const again = make(other);
      const resumed = again.problem.solver();
      resumed.restore(file);
      assert.deepEqual(await steps(resumed, 2), rest, name);
      assert.deepEqual(await valuesOf(again.tables), await valuesOf(whole.tables), name);
      [whole, again].forEach(({ problem }) => problem.dispose());
    }
  });

  test(`a fresh process goes on within a solve on ${JSON.stringify(engine)}`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "leastwise-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const lw = await open(t, engine);
    for (const [name, options] of [["as rigid as possible", { maxIterations: 7 }], ["bundle adjustment", { maxIterations: 7, method: "dogleg" }], ["pose graph", { maxIterations: 5, linear: "pcg" }]].slice(0, isShort(engine) ? 2 : 3)) {
      const scene = SCENES.find((known) => known.name === name);
      const { problem, tables } = scene.make(lw);
      const files = [];
      const solver = problem.solver({ ...options, onIteration: () => { files.push(solver.save()); } });
      const report = await solver.solve();
      const hash = createHash("sha256");
      for (const values of await valuesOf(tables)) hash.update(values);
      hash.update(JSON.stringify([report.termination, report.reason, report.cost, report.costByTerm, numbersOf(report.iterations)]));
      const expected = hash.digest("hex");
      assert.equal(files.length, report.iterations.length);
      const file = join(folder, "checkpoint");
      // A process on a software adapter spends its time making pipelines.
      const middle = Math.floor(files.length / 2);
      for (const k of engine.backend === "webgpu" || !FULL ? [middle] : [0, middle, files.length - 1]) {
        writeFileSync(file, await files[k]);
        assert.equal(await inFreshProcess("fresh/resume.mjs", [JSON.stringify(engine), scene.name, JSON.stringify(options), file]), expected, `${scene.name}, after step ${k}`);
      }
      problem.dispose();
    }
  });
}

/** Points that a rotation turns, robustly, with everything that can be edited. */
function turning(lw, { count = 6, loss = huber(0.2) } = {}) {
  const problem = lw.problem();
  const q = problem.variables("turn", { shape: quaternion, values: [0.1, 0.2, 0.3, Math.sqrt(1 - 0.14)] });
  const offset = problem.variables("offset", { shape: 3, values: [0.5, -0.25, 1] });
  const from = Float64Array.from({ length: 3 * count }, (_, k) => Math.sin(k + 1));
  const to = Float64Array.from({ length: 3 * count }, (_, k) => Math.cos(2 * k));
  const term = problem.residuals("turned", { of: [q, offset], data: { from: column(from, 3), to: column(to, 3) }, weight: new Float64Array(count).fill(1), loss },
    ([turn, move], data) => turn.rotate(data.from).add(move).sub(data.to));
  return { problem, q, offset, term, count };
}

for (const backend of BACKENDS) {
  test(`${backend}: a page made of code and a file goes on, edits and all`, async (t) => {
    const lw = await open(t, { backend });
    const first = turning(lw);
    const solver = first.problem.solver();
    await solver.step();
    first.term.set({ to: new Float64Array(3 * first.count).fill(0.5), weight: Float64Array.from({ length: first.count }, (_, k) => 1 + k), loss: huber(0.3) });
    first.offset.fix([0], [2]);
    first.offset.bound({ lower: -0.5, upper: 0.75 });
    const file = await solver.save();
    const expected = await steps(solver, 3);
    const second = turning(lw);
    const resumed = second.problem.solver();
    resumed.restore(file);
    assert.deepEqual(await steps(resumed, 3), expected);
    assert.deepEqual(await valuesOf([second.q, second.offset]), await valuesOf([first.q, first.offset]));
    assert.equal((await resumed.report()).iterations.length, 4, "a report knows the steps before the checkpoint");
  });

  test(`${backend}: live steps go on`, async (t) => {
    const lw = await open(t, { backend });
    const [first, second] = [turning(lw), turning(lw)];
    const [solver, resumed] = [first, second].map(({ problem }) => problem.solver());
    // Once compiled, advance() no longer does nothing.
    await Promise.all([solver.step(), resumed.step()]);
    solver.advance({ iterations: 3, budgetMs: Infinity });
    resumed.restore(await solver.save());
    for (const each of [solver, resumed]) each.advance({ iterations: 2, budgetMs: Infinity });
    assert.deepEqual(await valuesOf([second.q, second.offset]), await valuesOf([first.q, first.offset]));
  });
}

test("a file that doesn't fit is refused, says why, and changes nothing", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const { problem, q, offset } = turning(lw);
  const solver = problem.solver();
  await solver.step();
  const file = await solver.save();
  const before = await valuesOf([q, offset]);
  refuses(() => solver.restore(file.subarray(0, file.length - 64)), "file-truncated", /ends too early/);
  const damaged = file.slice();
  damaged[file.length >> 1] ^= 4;
  refuses(() => solver.restore(damaged), "file-corrupt", /damaged/);
  const later = file.slice();
  later[8] = 9;
  refuses(() => solver.restore(later), "file-version", /version 9, but this build reads version 4/);
  refuses(() => solver.restore(new Uint8Array(100)), "file-format", "this isn't a checkpoint of a solve: it doesn't begin with LWSOLVE");
  refuses(() => solver.restore("file"), "invalid-option", "restore(state): a Uint8Array, not a string");
  const mismatch = (of, options, message) => refuses(() => of.problem.solver(options).restore(file), "checkpoint-mismatch", message);
  mismatch(turning(lw, { count: 7 }), {}, /term "turned" has 6 instances in it, and 7 here/);
  mismatch(turning(lw, { loss: cauchy(0.2) }), {}, /term "turned" computes something else/);
  mismatch(turning(lw), { method: "dogleg" }, /method "lm", and this one "dogleg"/);
  mismatch(turning(lw), { linear: "pcg" }, /linear: "dense"/);
  const single = await open(t, { backend: "cpu", precision: "f32" });
  mismatch(turning(single), {}, /precision: "f64"/);
  assert.deepEqual(await valuesOf([q, offset]), before);
  solver.restore(file);
  solver.dispose();
  refuses(() => solver.restore(file), "disposed", /this solver was disposed/);
});
