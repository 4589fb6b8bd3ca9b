// What a report says of what was computed and why: products and tuning tables, dispatches, what was not finite, what nothing holds.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { init, log } from "leastwise";
import { ADDON, arap, arapMesh, BACKENDS, icosphere, open, refuses, rejects } from "./support.mjs";

const mesh = arapMesh(icosphere(2));

for (const backend of BACKENDS) {
  test(`tune() on ${backend}: its table decides, is JSON, and gives the same bits elsewhere`, async (t) => {
    const lw = await open(t, { backend });
    assert.deepEqual(lw.tuning, { products: {} });
    const it = arap(lw, mesh);
    const start = await it.x.read();
    const table = await lw.tune(it.problem);
    assert.deepEqual(await it.x.read(), start, "values stay");
    assert.deepEqual(lw.tuning, table);
    assert.equal(Object.keys(table.products).length, 2, JSON.stringify(table));
    const report = await it.problem.solve({ linear: "pcg", maxIterations: 5 });
    for (const { key, schedule, reason, instances, term } of report.products) {
      assert.equal(schedule, table.products[key]);
      assert.equal(reason, "the tuning table says so");
      assert.ok(instances > 0 && (term === "arap" || term === "handles"));
    }
    const other = await open(t, { backend, tuning: JSON.parse(JSON.stringify(table)) });
    const again = await arap(other, mesh).problem.solve({ linear: "pcg", maxIterations: 5 });
    assert.deepEqual(again.products, report.products);
    assert.deepEqual(again.iterations.map(({ cost }) => cost), report.iterations.map(({ cost }) => cost));
    // Every other schedule is another way to the same place.
    for (const schedule of ["two-pass", "recompute"]) {
      other.setTuning({ products: { "*": schedule } });
      const forced = await arap(other, mesh).problem.solve({ linear: "pcg", maxIterations: 5 });
      assert.ok(forced.products.every((product) => product.schedule === schedule), forced.toString());
      assert.ok(Math.abs(forced.cost - report.cost) < 1e-3 * report.cost, `${schedule}: ${forced.cost} and ${report.cost}`);
    }
  });

  test(`reports on ${backend} count dispatches, and say what is not finite and what nothing holds`, async (t) => {
    const lw = await open(t, { backend });
    const { problem } = arap(lw, mesh);
    const report = await problem.solve({ linear: "pcg" });
    const { dispatches, readbacks, submissions } = report.counters;
    // A tenth, and on GPUs, which are sooner done than a flag is back, what two submissions hold at most in a step: 32 inner iterations of 3.
    const most = backend !== "cpu" ? 2 * 32 * 3 * report.iterations.length : dispatches / 10;
    assert.ok(report.idleDispatches <= most, `${report.idleDispatches} of ${dispatches} were idle`);
    assert.equal(readbacks, report.iterations.length + 1);
    assert.ok(submissions > 0);
    assert.deepEqual([report.nonFinite, report.firstNonFinite, report.gauge], [0, undefined, []]);
    assert.match(report.toString(), /^Device: \d+ dispatches \(\d+ idle\), \d+ submissions, \d+ readbacks of \d+ bytes, \d+ bytes uploaded$/m);
    assert.match(report.toString(), /^Products: "arap" /m);

    const wild = lw.problem();
    const x = wild.variables("x", { shape: 1, values: [1, 1, 1] });
    const loose = wild.variables("loose", { shape: 2, values: [1, 2, 3, 4] });
    wild.residuals("logs", { of: [x], data: { k: Float64Array.of(0.1, 9, 0.1) } }, ([a], { k }) => log(a).add(k));
    wild.residuals("pair", { of: [loose.at([0]), loose.at([1])] }, ([a, b]) => a.sub(b));
    const found = await wild.solve({ maxIterations: 100 });
    assert.ok(found.nonFinite > 0 && found.converged, found.toString());
    assert.deepEqual({ ...found.firstNonFinite, iteration: 0 }, { iteration: 0, term: "logs", instance: 1 });
    assert.deepEqual(found.gauge, [{ kind: "translation", variable: "loose", components: [0, 1] }]);
    assert.match(found.toString(), /^Not finite: \d+ steps? .*term "logs", instance 1$/m);
    assert.match(found.toString(), /^Gauge: no residual changes when all of "loose" moves along component 0, component 1; damping holds it$/m);
    const json = JSON.parse(JSON.stringify(found));
    for (const key of ["termination", "reason", "iterations", "costByTerm", "nonFinite", "firstNonFinite", "gauge", "products", "counters", "idleDispatches", "time", "refinement"]) assert.ok(key in json, key);
    loose.fix([0]);
    assert.deepEqual((await wild.solve()).gauge, []);
  });

  test(`edits on ${backend} lay nothing out anew`, async (t) => {
    const lw = await open(t, { backend });
    const { problem, x, handles } = arap(lw, mesh);
    x.fix([0]);
    const solver = problem.solver({ linear: "pcg" });
    await solver.step();
    const made = () => ({ ...lw.stats(), objects: lw.memory().objects, kernels: lw.counters().kernelsCreated });
    const before = made();
    for (let round = 0; round < 3; round++) {
      handles.set({ target: mesh.targets.map((value) => value + 0.01 * round), weight: 4 + round });
      x.write([0.1, 0.2, 0.3], { at: [7] });
      x.fix([1 + round]);
      await solver.step();
    }
    assert.deepEqual(made(), before);
    solver.dispose();
  });

  test(`an AbortSignal at random moments on ${backend}: the problem stays usable`, async (t) => {
    const lw = await open(t, { backend });
    const { problem, handles, rigid } = arap(lw, mesh);
    const costNow = async () => (await handles.cost()) + (await rigid.cost());
    let lowest = await costNow();
    for (let round = 0; round < 8; round++) {
      const control = new AbortController();
      const timer = setTimeout(() => control.abort(), Math.random() * 40);
      const report = await problem.solve({ linear: "pcg", costTolerance: 0, maxIterations: 40, signal: control.signal });
      clearTimeout(timer);
      const left = await costNow();
      assert.ok(left <= lowest * (1 + 1e-4), `${left} after ${lowest}: ${report}`);
      assert.ok(Math.abs(report.cost - left) <= 1e-4 * left, `${report.cost} is not ${left}`);
      assert.ok(report.termination !== "stopped" || report.reason.startsWith("aborted"), report.reason);
      lowest = Math.min(lowest, left);
    }
    assert.ok((await problem.solve({ linear: "pcg", maxIterations: 200 })).cost <= lowest * (1 + 1e-4));
  });
}

test("hostile tuning tables are refused, with what is wrong", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const schedules = '"two-pass", "recompute", "owner-computes", "owner-recomputes"';
  refuses(() => lw.setTuning(null), "invalid-option", "tuning table: it must be an object, not null");
  refuses(() => lw.setTuning({}), "invalid-option", "tuning table: products must be an object, not undefined");
  refuses(() => lw.setTuning({ products: {}, version: 2 }), "invalid-option", 'tuning table: it has no "version", only products and evaluators');
  refuses(() => lw.setTuning({ products: { "*": "fastest" } }), "invalid-option", `tuning table: products["*"] is "fastest", which is not one of ${schedules}`);
  refuses(() => lw.setTuning({ products: { x: "two-pass" } }), "invalid-option", 'tuning table: no product can be called "x"; it must be one that tune() made');
  await rejects(init({ backend: "cpu", tuning: { products: { "*": "none" } } }), "invalid-option", `tuning table: products["*"] is "none", which is not one of ${schedules}`);
  assert.deepEqual(lw.tuning, { products: {} });
  await rejects(lw.tune({}), "invalid-option", "tune(problem): it must be a problem of this engine");
  const { problem } = arap(lw, mesh);
  let refused;
  const onIteration = () => { try { lw.setTuning({ products: { "*": "recompute" } }); } catch (error) { refused = error; } };
  await problem.solve({ maxIterations: 2, onIteration });
  assert.equal(refused?.code, "busy");
});

for (const backend of BACKENDS) {
  test(`counters on ${backend} are of the call, not of the solver's life`, async (t) => {
    const { problem, x } = arap(await open(t, { backend }), mesh);
    const start = await x.read(), solver = problem.solver({ linear: "pcg", maxIterations: 3, costTolerance: 0, gradientTolerance: 0, stepTolerance: 0 });
    const counted = [];
    for (let call = 0; call < 3; call++) {
      x.write(start);
      counted.push((await solver.solve()).counters.dispatches);
    }
    assert.ok(counted[0] > 0 && counted[2] < 1.5 * counted[1], counted.join());
  });
}

test("a callback that returns a promise is refused, since nothing would wait for it", async (t) => {
  const lw = await open(t, { backend: "cpu" }), problem = lw.problem(), x = problem.variables("x", { shape: 1, values: [3] });
  problem.residuals("root", { of: [x] }, ([x]) => x.square().sub(2));
  const message = /^onIteration returned a promise, which nothing waits for: it must be synchronous, and return "stop" or nothing$/;
  for (const onIteration of [async () => "stop", async () => { throw new Error("nobody is told"); }, () => ({ then: () => {} })]) {
    await rejects(problem.solve({ onIteration }), "invalid-option", message);
    await rejects(problem.solver({ onIteration }).step(), "invalid-option", message);
  }
  assert.equal((await problem.solve({ onIteration: () => "stop" })).termination, "stopped");
});

test("the cost of a problem without costs is 0, not −0", async (t) => {
  const lw = await open(t, { backend: "cpu" }), problem = lw.problem(), x = problem.variables("x", { shape: 1, values: [3] });
  problem.constrain("held", { of: [x], to: "=0" }, ([x]) => x.sub(1));
  const report = await problem.solve();
  assert.ok(Object.is(report.cost, 0), `${report.cost} is not 0`);
});

test("the report that is read line by line is that of the mesh in START.md", { skip: ADDON && "programs are compiled in WebAssembly alone" }, async (t) => {
  const read = (name) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), "utf8");
  const program = /## A first mesh[^]*?```ts\n([^]*?)```/.exec(read("START.md"))[1].replace("init()", 'init({ backend: "cpu" })').replace(/console\.log\(.*/, "reports.push(String(report));");
  const folder = mkdtempSync(fileURLToPath(new URL("./reports-", import.meta.url)));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "mesh.mjs"), `export const reports = [];\n${program}`);
  const { reports } = await import(join(folder, "mesh.mjs"));
  // Milliseconds are a machine's, and so are slices of work.
  const timeless = (text) => text.split("\n").filter((line) => !/^(Device|Time):/.test(line)).map((line) => (/^ +\d+\*? /.test(line) ? line.replace(/ +\S+$/, "") : line));
  const printed = timeless(reports.at(-1)), shown = timeless(/```text\n([^]*?)\n```/.exec(read("REPORTS.md"))[1]);
  const left = printed.filter((line) => !shown.includes(line));
  assert.deepEqual(printed.filter((line) => shown.includes(line)), shown);
  assert.ok(left.length > 0 && left.every((line) => /^ +\d+\*? /.test(line)), left.join("\n"));
});
