// Arguments that a call does not take: none is ignored in silence. Names among options that are taken are in hostile.test.mjs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { LeastwiseError } from "leastwise";
import { fitSet } from "leastwise/fits";
import { edges, stars, weld } from "leastwise/mesh";
import { closeTo, open, refuses, rejects } from "./support.mjs";

const code = (error) => error instanceof LeastwiseError && error.code;

test("options that a call does not take are refused, with where they belong", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 1, values: [1, 2] });
  const pull = problem.residuals("pull", { of: [x] }, ([a]) => a.sub(3));
  const hold = problem.constrain("hold", { of: [x], to: "<=0" }, ([a]) => a.sub(4));
  const solver = problem.solver();
  const index = await lw.compress(Float32Array.from({ length: 64 }, (_, k) => Math.sin(k)), { dim: 2 });
  const tensor = lw.tensor([1]);
  const belongs = "a solver's options are given when it is made, to problem.solver(options)";
  await rejects(solver.solve({ maxIterations: 1 }), "invalid-option", `solver.solve() takes no arguments, but argument 1 is an Object: ${belongs}`);
  await rejects(solver.step({ foo: 1 }), "invalid-option", `solver.step() takes no arguments, but argument 1 is an Object: ${belongs}`);
  await rejects(pull.checkGradients({ steps: 1 }), "invalid-option", 'term "pull": checkGradients() takes no arguments, but argument 1 is an Object', { term: "pull" });
  refuses(() => lw.problem({ precision: "f64" }), "invalid-option",
    "lw.problem() takes no arguments, but argument 1 is an Object: options of solves are given to problem.solve(options), and those of the engine to init(options)");
  refuses(() => weld([0, 0, 0], { tolerance: 1 }), "invalid-option", "weld(positions) takes one argument, but argument 2 is an Object: vertices become one where they are at exactly the same place");
  refuses(() => x.fix([0], [0], true), "invalid-option", '"x".fix(which, components) takes 2 arguments, but argument 3 is a boolean');

  const set = await fitSet(lw, { model: ([a]) => a, parameters: ["a"], points: 2, data: [1, 2], start: { a: 0 } });
  // Every call, given all that it takes and one thing more.
  const calls = {
    "solver.report": [(...a) => solver.report(...a)], "solver.save": [(...a) => solver.save(...a)], "solver.advance": [(...a) => solver.advance(...a), {}], "solver.restore": [(...a) => solver.restore(...a), undefined],
    "solver.solve": [(...a) => solver.solve(...a)], "solver.step": [(...a) => solver.step(...a)],
    "term.set": [(...a) => pull.set(...a), {}], "term.cost": [(...a) => pull.cost(...a)], "term.worst": [(...a) => pull.worst(...a), 1], "term.evaluate": [(...a) => pull.evaluate(...a), {}],
    "term.checkGradients": [(...a) => pull.checkGradients(...a)], "multipliers": [(...a) => hold.multipliers(...a)],
    "x.read": [(...a) => x.read(...a), { as: "f64" }], "x.read(out)": [(...a) => x.read(...a), new Float64Array(2)], "x.write": [(...a) => x.write(...a), [1, 2], {}], "x.free": [(...a) => x.free(...a), [0]], "x.bound": [(...a) => x.bound(...a), {}],
    "problem.solve": [(...a) => problem.solve(...a), {}], "problem.solver": [(...a) => problem.solver(...a), {}], "multiStart": [(...a) => problem.multiStart(...a), { starts: [] }],
    "solveGraduated": [(...a) => problem.solveGraduated(...a), { suspects: [] }], "marginals": [(...a) => problem.marginals(...a), {}], "covariance": [(...a) => problem.covariance(...a), x, [0], {}], "backward": [(...a) => problem.backward(...a), [], {}],
    "lw.tune": [(...a) => lw.tune(...a), problem], "lw.setTuning": [(...a) => lw.setTuning(...a), lw.tuning], "lw.measureTensors": [(...a) => lw.measureTensors(...a)], "lw.sumOverRanks": [(...a) => lw.sumOverRanks(...a), [tensor]], "lw.meanOverRanks": [(...a) => lw.meanOverRanks(...a), [tensor]], "lw.trim": [(...a) => lw.trim(...a)],
    "lw.cluster": [(...a) => lw.cluster(...a), new Float32Array(4), { dim: 2, clusters: 1 }], "lw.fit": [(...a) => lw.fit(...a), { model: ([a]) => a, parameters: ["a"], points: 2, data: [1, 2], start: { a: 0 } }], "fitSet": [(...a) => fitSet(...a), lw, { model: ([a]) => a, parameters: ["a"], points: 2, data: [1, 2], start: { a: 0 } }], "set.run": [(...a) => set.run(...a), {}], "set.write": [(...a) => set.write(...a), [1, 2]], "set.read": [(...a) => set.read(...a)], "set.values": [(...a) => set.values(...a), "a"],
    "lw.compress": [(...a) => lw.compress(...a), new Float32Array(4), { dim: 2 }], "lw.openIndex": [(...a) => lw.openIndex(...a), new Uint8Array(4)], "lw.scope": [(...a) => lw.scope(...a), () => 1],
    "index.search": [(...a) => index.search(...a), new Float32Array(2), { k: 1 }], "index.add": [(...a) => index.add(...a), new Float32Array(2), {}], "index.evaluate": [(...a) => index.evaluate(...a), new Float32Array(2), { k: 1 }],
    "index.searchRange": [(...a) => index.searchRange(...a), new Float32Array(2), { maxDistance: 1 }], "index.upsert": [(...a) => index.upsert(...a), new Float32Array(2), { keys: ["a"] }], "index.has": [(...a) => index.has(...a), "a"],
    "index.idsOf": [(...a) => index.idsOf(...a), ["a"]],
    "index.remove": [(...a) => index.remove(...a), [0]], "index.reconstruct": [(...a) => index.reconstruct(...a), [0]], "index.save": [(...a) => index.save(...a), {}],
    "tensor.read": [(...a) => tensor.read(...a)], "tensor.item": [(...a) => tensor.item(...a)], "edges": [edges, [0, 1, 2], {}], "stars": [stars, [0, 1, 2], 3],
  };
  for (const [name, [work, ...takes]] of Object.entries(calls)) {
    let error;
    try {
      await work(...takes, { foo: 1 });
    } catch (thrown) {
      error = thrown;
    }
    assert.equal(code(error), "invalid-option", `${name}: ${error?.stack}`);
    const count = ["no arguments", "one argument", `${takes.length} arguments`][Math.min(takes.length, 2)];
    assert.ok(error.message.includes(` takes ${count}, but argument ${takes.length + 1} is an Object`), `${name}: ${error.message}`);
  }
  // What is undefined was not given, and what was refused has done nothing.
  const report = await solver.solve(undefined);
  assert.equal(report.converged, true, String(report));
  for (const value of await x.read(undefined, undefined)) closeTo(value, 3, 1e-6, "x");
});
