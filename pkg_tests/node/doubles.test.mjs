// Double-floats on WebGPU: the adapter's self-check, what they and mixed precision find, and going on where f32 stops a solve.
import assert from "node:assert/strict";
import { test } from "node:test";
import { init } from "leastwise";
import { deviceThatReads, FULL, inFreshProcess, open, rejects } from "./support.mjs";
import { digits, nist, readNist } from "../problems/nist.mjs";

/** Fits on which f32 stops short: exponentials that nearly cancel, a valley, a hyperbola. `npm run bench -- nist` has all. */
const FITS = FULL ? ["Misra1a", "Lanczos1", "MGH09", "Thurber", "Kirby2"] : ["Lanczos1", "MGH09"];
const LEAST_DIGITS = 6;

async function fit(lw, name, start, options) {
  const file = readNist(name);
  const { problem, b } = nist(lw, name, file, start);
  const report = await problem.solve(options);
  const found = digits(await b.read(new Float64Array(file.certified.length)), file.certified);
  problem.dispose();
  return { report, found };
}

test("by default a solve goes on in mixed precision where f32 stops it, and says so", async (t) => {
  const lw = await open(t, { backend: "webgpu" });
  assert.equal(lw.precision, "f32");
  assert.ok(lw.doubles.available, lw.doubles.reason);
  for (const name of FITS) {
    const seen = [];
    const { report, found } = await fit(lw, name, 0, { onIteration: ({ index }) => { seen.push(index); } });
    assert.ok(found >= LEAST_DIGITS, `${name}: ${found} digits; ${report.reason}`);
    assert.equal(report.precision, "mixed");
    assert.equal(report.refinement.state, "done", name);
    assert.match(report.reason, /\(in f32 it ended after \d+ iterations: .*; then it went on in mixed precision\)|\(in f32, after \d+ iterations; then it went on in mixed precision, where it ended: .*\)/);
    assert.deepEqual(report.iterations.map(({ index }) => index), report.iterations.map((_, k) => k), name);
    assert.deepEqual(seen, report.iterations.map(({ index }) => index), name);
  }
  assert.equal(lw.memory().live, 0, "the copy is gone");
});

test("in f32 alone, it does not", async (t) => {
  const lw = await open(t, { backend: "webgpu", precision: "f32" });
  const { report, found } = await fit(lw, "Lanczos1", 0);
  assert.equal(report.precision, "f32");
  assert.deepEqual([report.refinement.state, report.refinement.code], ["refused", "off"]);
  assert.match(report.toString(), /^Mixed precision: refused, off \(precision "f32" was asked for/m);
  assert.ok(found < LEAST_DIGITS, `f32 should not find ${found} digits`);
  assert.deepEqual(lw.doubles, { available: false, reason: "the adapter was opened without double-floats" });
});

for (const [precision, least] of [["f32x2", 8], ["mixed", 7.5]]) {
  test(`precision "${precision}" keeps more digits than f32 has`, async (t) => {
    const lw = await open(t, { backend: "webgpu", precision });
    assert.equal(lw.precision, precision);
    for (const start of [0, 1]) {
      const { report, found } = await fit(lw, "Misra1a", start);
      assert.equal(report.precision, precision);
      assert.ok(found >= least, `${found} digits; ${report.reason}`);
    }
  });
}

test("who allows so many steps gets no more", async (t) => {
  const lw = await open(t, { backend: "webgpu" });
  const { report } = await fit(lw, "Misra1a", 0, { maxIterations: 3 });
  assert.deepEqual([report.termination, report.iterations.length, report.precision], ["max-iterations", 3, "f32"]);
  assert.deepEqual([report.refinement.state, report.refinement.code], ["refused", "max-iterations"]);
});

test("a stop ends what goes on in mixed precision, and the best values stay", async (t) => {
  const lw = await open(t, { backend: "webgpu" });
  const whole = await fit(lw, "MGH09", 0);
  const inF32 = Number(/in f32 it ended after (\d+) iterations/.exec(whole.report.reason)[1]);
  const { report } = await fit(lw, "MGH09", 0, { onIteration: ({ index }) => (index === inF32 + 1 ? "stop" : undefined) });
  assert.equal(report.precision, "mixed");
  assert.equal(report.termination, "stopped");
  assert.equal(report.iterations.length, inF32 + 2);
  assert.ok(report.cost <= report.initialCost && report.cost >= whole.report.cost, report.reason);
});

test("values are read, saved and edited on the way", async (t) => {
  const lw = await open(t, { backend: "webgpu" });
  const file = readNist("MGH09");
  const whole = await fit(lw, "MGH09", 0);
  const inF32 = Number(/in f32 it ended after (\d+) iterations/.exec(whole.report.reason)[1]);

  const { problem, b } = nist(lw, "MGH09", file, 0);
  const reads = [], files = [];
  const onIteration = () => { reads.push(b.read()); files.push(solver.save()); };
  const solver = problem.solver({ onIteration });
  const report = await solver.solve();
  assert.equal(reads.length, report.iterations.length);
  assert.deepEqual(await reads.at(-1), await b.read());
  // Of the first step in mixed precision: whoever goes on from there comes to the same, with all steps.
  const later = problem.solver();
  later.restore(await files[inF32]);
  assert.deepEqual(await b.read(), await reads[inF32]);
  const resumed = await later.solve();
  assert.deepEqual(resumed.iterations.map(({ index }) => index), resumed.iterations.map((_, k) => k));
  assert.ok(resumed.iterations.length > inF32 + 1 && resumed.initialCost === report.initialCost, resumed.reason);
  assert.ok(digits(await b.read(new Float64Array(file.certified.length)), file.certified) >= LEAST_DIGITS, resumed.reason);

  // Values that are written after the second step in mixed precision: it goes on from there, and finds the minimum again.
  const edited = nist(lw, "MGH09", file, 0);
  const start = await edited.b.read();
  const again = await edited.problem.solve({ onIteration: ({ index }) => { if (index === inF32 + 1) edited.b.write(start); } });
  assert.match(again.reason, /then it went on in mixed precision, anew after it was edited/);
  assert.ok(digits(await edited.b.read(new Float64Array(file.certified.length)), file.certified) >= LEAST_DIGITS, again.reason);
  assert.deepEqual(again.iterations.map(({ index }) => index), again.iterations.map((_, k) => k));
});

test("an abort while kernels are compiled waits for none of them, and time is counted once", async (t) => {
  const lw = await open(t, { backend: "webgpu" }, { fresh: true });
  const controller = new AbortController();
  let inF32 = 0, watch;
  t.after(() => clearInterval(watch));
  const onIteration = () => {
    inF32 ||= lw.counters().kernelsCreated;
    // More kernels than f32 has: those of the snapshot are being compiled.
    watch ??= setInterval(() => { if (lw.counters().kernelsCreated > inF32) controller.abort(); }, 5);
  };
  const { report } = await fit(lw, "Misra1a", 0, { signal: controller.signal, onIteration });
  assert.deepEqual([report.termination, report.converged, report.precision], ["stopped", false, "f32"]);
  assert.deepEqual([report.refinement.state, report.refinement.code], ["ended", "stopped"]);
  assert.match(report.reason, /^aborted: .* \(in f32 it had ended: .*; it was about to go on in mixed precision\)$/);
  assert.equal(lw.memory().live, 0);

  const started = performance.now();
  const { report: whole } = await fit(lw, "Misra1a", 0);
  assert.equal(whole.precision, "mixed");
  const { compileMs, solveMs } = whole.time;
  assert.ok(compileMs + solveMs <= performance.now() - started, `${compileMs} + ${solveMs}`);
});

// What goes on in mixed precision is mixed precision all the same.
for (const precision of FULL ? ["f32x2", "unasked", "mixed"] : ["f32x2"]) {
  test(`two fresh processes give the same bits (${precision})`, async () => {
    // Such a process spends its time compiling: in a quick run each precision has one of the two problems.
    const problems = FULL ? ["fit", "mesh"] : [precision === "unasked" ? "mesh" : "fit"];
    const run = () => inFreshProcess("fresh/doubles.mjs", [precision, ...problems]);
    const first = await run();
    assert.match(first, new RegExp(`^(${precision === "unasked" ? "mixed" : precision} [0-9a-f]{64}\n?){${problems.length}}$`));
    assert.equal(await run(), first);
  });
}

test("f64 has no need of double-floats", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  assert.deepEqual(lw.doubles, { available: false, reason: "double-floats are for WebGPU, which has no f64: here use precision \"f64\"" });
  await rejects(init({ backend: "cpu", precision: "f32x2" }), "invalid-option", "precision: \"f32x2\" is for WebGPU, which has no f64; backend \"cpu\" has \"f64\"");
  await rejects(init({ backend: "webgpu", precision: "f16" }), "invalid-option", "precision: \"f16\" is not one of \"f32\", \"f64\", \"f32x2\", \"mixed\"");
});

/** A device whose compiler "simplifies" sums: what was lost to rounding is found to be nothing, as algebra says. */
async function brokenDevice() {
  const broken = { modules: 0 };
  // s − a is b to whoever believes in associativity.
  const simplified = (code) => code.replace(/(let (\w+) = bitcast<f32>\(bitcast<u32>\(([\w.]+) \+ ([\w.]+)\) \^ params\.zero\);\s*let p_\w+ = )bitcast<f32>\(bitcast<u32>\(\2 - \3\) \^ params\.zero\)/g, (_, before, sum, a, b) => {
    broken.modules += 1;
    return `${before}${b}`;
  });
  const device = await deviceThatReads(simplified);
  return { device, broken };
}

test("an adapter that breaks two-sums is found out and refused, and f32 goes on without", async (t) => {
  const { device, broken } = await brokenDevice();
  t.after(() => device.destroy());
  await rejects(init({ backend: "webgpu", device, precision: "f32x2" }), "no-adapter", /double-floats are not exact on this adapter: two-sums were exact for \d+ of 1024 pairs/);
  assert.ok(broken.modules > 0, "nothing was broken");
  const lw = await init({ backend: "webgpu", device });
  t.after(() => lw.dispose());
  assert.equal(lw.doubles.available, false);
  assert.match(lw.doubles.reason, /two-sums were exact for \d+ of 1024 pairs/);
  const { report } = await fit(lw, "Misra1a", 1);
  assert.equal(report.precision, "f32");
  assert.deepEqual(report.refinement, { state: "refused", code: "no-doubles", reason: lw.doubles.reason });
});
