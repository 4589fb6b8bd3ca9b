// A lane of mistakes: every one is refused with a documented code or does no harm, and the engine goes on as if it had not been made.
import { grad, map, quaternion, vec } from "leastwise";
import { normalTable } from "leastwise/mesh";
import { CODES } from "./calls.mjs";
import { junk, OWN } from "./junk.mjs";

export async function misuseLane(session, lane) {
  const { lw } = lane.engine;
  const problem = await session.act(lane, "problem", () => lw.problem());
  const x = problem.variables("x", { shape: 2, values: [1, 2, 3, 4] }), q = problem.variables("q", { shape: quaternion, values: [0, 0, 0, 1] });
  const places = problem.constants("places", { shape: 3, values: [0, 0, 0, 1, 0, 0, 0, 1, 0] });
  const term = problem.residuals("term", { of: [x], data: { d: new Float64Array(2) } }, ([a], { d }) => a.sub(vec(d, d)));
  const limit = problem.constrain("limit", { of: [q], to: "<=0" }, ([a]) => a.xyzw().x);
  const index = await session.act(lane, "compress", () => lw.compress(Float32Array.from({ length: 40 }, (_, k) => k % 7), { dim: 2, clusters: 2 }));
  const subject = { lw, lib: session.lib, problem, x, q, places, term, limit, index, tensor: lw.tensor([1, 2, 3, 4], [2, 2]), made: 0 };
  const sentinel = await session.act(lane, "sentinel", () => sentinelOf(lw));
  for (const { call, args } of lane.actions) {
    const label = `${call}(${args.join(", ")})`, given = args.map(junk);
    session.count("mistakes");
    let was = false;
    await session.act(lane, label, async () => {
      const result = await CALLS[call](subject, ...given);
      // What came of it is freed, if it can be: mistakes that are none.
      if (result !== subject.index && typeof result?.dispose === "function") result.dispose();
      was = true;
    }, { codes: CODES, reason: OWN });
    if (was && call.startsWith("typo")) session.fail("typo-taken", label, "an option of no such name was taken without a word");
    await session.act(lane, `counters after ${label}`, () => lw.counters());
    if (lane.engine.over) return;
  }
  const after = await session.act(lane, "sentinel after mistakes", () => sentinelOf(lw));
  if (after !== undefined && after !== sentinel) session.fail("differs", "sentinel", `${sentinel} before mistakes, ${after} after`);
  subject.tensor.dispose();
  index?.dispose();
  problem.dispose();
}

/** A small solve and its bits. */
async function sentinelOf(lw) {
  const problem = lw.problem();
  try {
    const x = problem.variables("x", { shape: 2, values: [0.5, -1.5] });
    problem.residuals("rosenbrock", { of: [x] }, ([p]) => vec(p.y.sub(p.x.square()).mul(10), p.x.sub(1)));
    const { cost } = await problem.solve();
    return `${cost} at ${await x.read(new Float64Array(2))}`;
  } finally {
    problem.dispose();
  }
}

const CPU = { backend: "cpu" };
const named = (of, name) => `${name}${of.made++}`;
const solverOf = (of) => of.problem.solver();
const withSolver = (of, work) => { const solver = solverOf(of); try { return work(solver); } finally { solver.dispose(); } };
const DISPOSED = { tensor: (of) => { const t = of.lw.tensor([1]); t.dispose(); return t; }, term: (of) => { const t = of.problem.residuals(named(of, "gone"), { of: [of.x] }, ([a]) => a); t.dispose(); return t; }, solver: (of) => { const s = solverOf(of); s.dispose(); return s; } };

/** Calls by name, each with what it is given that it should not be. */
export const CALLS = {
  "lw.problem().variables": ({ problem }, a, b) => problem.variables(a, b),
  "variables shape": (of, a, b, c) => of.problem.variables(named(of, "v"), { shape: a, values: b, count: c }),
  "variables values": (of, a) => of.problem.variables(named(of, "v"), { shape: 2, values: a }),
  "variables quaternion": (of, a) => of.problem.variables(named(of, "v"), { shape: quaternion, values: a }),
  "constants values": (of, a) => of.problem.constants(named(of, "c"), { shape: 1, values: a }),
  "residuals": ({ problem }, a, b, c) => problem.residuals(a, b, c),
  "residuals over": (of, a, b, c) => of.problem.residuals(named(of, "r"), { of: a, over: b, data: c }, () => 1),
  "residuals index": (of, a) => of.problem.residuals(named(of, "r"), { of: [of.x.at(a)] }, ([p]) => p),
  "residuals weight": (of, a, b) => of.problem.residuals(named(of, "r"), { of: [of.x], weight: a, loss: b }, ([p]) => p),
  "residuals data": (of, a, b) => of.problem.residuals(named(of, "r"), { of: [of.x], data: { a, b } }, ([p]) => p),
  "residuals arithmetic": (of, a, b) => of.problem.residuals(named(of, "r"), { of: [of.x] }, ([p]) => p.mul(a).add(b)),
  "residuals result": (of, a) => of.problem.residuals(named(of, "r"), { of: [of.x] }, () => a),
  "residuals rows": (of, a, b) => of.problem.residuals(named(of, "r"), { of: [of.x.rows({ offsets: a, indices: b })] }, ([p]) => p[0]),
  "residuals each": (of, a) => of.problem.residuals(named(of, "r"), { of: [of.x.each(a)] }, ([p]) => p),
  "energy result": (of, a) => of.problem.energy(named(of, "e"), { of: [of.x] }, () => a),
  "constrain": (of, a, b) => of.problem.constrain(named(of, "k"), { of: [of.x], to: a, weight: b }, ([p]) => p),
  "foreign": (of) => { const other = of.lw.problem(); try { return other.residuals("r", { of: [of.x] }, ([p]) => p); } finally { other.dispose(); } },
  "solve": ({ problem }, a) => problem.solve(a),
  ...Object.fromEntries(["method", "linear", "preconditioner", "dogleg", "eliminate", "decays", "memory", "learningRate", "maxIterations", "timeLimitMs", "costTolerance", "forcing", "nonmonotone", "penalty", "signal", "onIteration"].map((name) => [`solve ${name}`, ({ problem }, a) => problem.solve({ maxIterations: 2, [name]: a })])),
  "solver": (of, a) => of.problem.solver(a),
  // Who asks for a month of steps gets it.
  "advance": (of, a, b) => withSolver(of, (solver) => solver.advance({ iterations: a, budgetMs: typeof b === "number" && b > 1000 ? 1 : b })),
  "restore": (of, a) => withSolver(of, (solver) => solver.restore(a)),
  "write": ({ x }, a, b) => x.write(a, b),
  "write at": ({ x }, a) => x.write([1, 2], { at: a }),
  "write values": ({ x }, a) => x.write(a, { at: [0] }),
  "read": ({ x }, a) => x.read(a),
  "read into what goes": async ({ x }) => { const out = new Float64Array(4), reading = x.read(out); structuredClone(out.buffer, { transfer: [out.buffer] }); return reading; },
  "normalTable": (_, a, b) => normalTable(a, b),
  "normalTable faces": async ({ places }, a) => (await normalTable(places, a)).dispose(),
  "read normals": async ({ places }, a) => { const normals = await normalTable(places, [0, 1, 2]); try { await normals.read(a); } finally { normals.dispose(); } },
  "fix": ({ x }, a, b) => { x.fix(a, b); x.free(); },
  "free": ({ x }, a) => x.free(a),
  "bound": ({ x }, a, b) => { x.bound({ lower: a, upper: b }); x.bound({ lower: -Infinity, upper: Infinity }); },
  "bound quaternion": ({ q }, a) => q.bound({ lower: a }),
  "set": ({ term }, a) => term.set(a),
  "set data": ({ term }, a) => { term.set({ d: a }); term.set({ d: new Float64Array(2) }); },
  "set weight": ({ term }, a, b) => { term.set({ weight: a, loss: b }); term.set({ weight: 1 }); },
  "enabled": ({ term }, a) => { term.enabled = a; term.enabled = true; },
  "worst": ({ term }, a) => term.worst(a),
  "evaluate": ({ term }, a) => term.evaluate(a),
  "evaluate hessian": ({ term }, a) => term.evaluate({ hessian: a }),
  "multiStart": ({ problem }, a, b) => problem.multiStart({ starts: a, maxIterations: 1, onStart: b }),
  "multiStart sampled": ({ problem, x }, a, b) => problem.multiStart({ starts: { count: 2, sample: () => [[x, a]], seed: b }, maxIterations: 1 }),
  "solveGraduated": ({ problem, term }, a, b) => problem.solveGraduated({ suspects: [{ term, threshold: a, knownInliers: b }], maxIterations: 1, maxRounds: 1 }),
  "solveGraduated options": ({ problem }, a) => problem.solveGraduated(a),
  "covariance": ({ problem }, a, b, c) => problem.covariance(a, b, c),
  "covariance which": ({ problem, x }, a, b) => problem.covariance(x, a, b),
  "marginals": async ({ problem }, a) => problem.marginals(a),
  "backward": ({ problem }, a, b) => problem.backward(a, b),
  "backward cotangent": ({ problem, x }, a) => problem.backward([[x, a]]),
  "tensor": ({ lw }, a, b, c) => lw.tensor(a, b, c),
  "tensor dtype": ({ lw }, a) => lw.tensor([1], [1], { dtype: a }),
  "zeros": ({ lw }, a) => lw.zeros([2, a]),
  "full": ({ lw }, a) => lw.full([2], a),
  "arange": ({ lw }, a, b) => lw.arange(3, { start: a, step: b }),
  "random": ({ lw }, a) => lw.random([2], a),
  "indices of a tensor": ({ tensor }, a) => tensor.gather(a),
  ...Object.fromEntries(["add", "matmul", "reshape", "slice", "sum", "max", "softmax", "transpose", "pad", "window", "broadcastTo", "squeeze", "expandDims", "cast", "flip", "layerNorm", "pow"].map((name) => [`tensor ${name}`, ({ tensor }, a, b) => tensor[name](a, b)])),
  "grad": (_, a, b) => grad(a, b),
  "map": ({ tensor }, a) => map(a, tensor),
  "lw.evaluate": ({ lw }, a) => lw.evaluate(a),
  "scope": ({ lw }, a) => lw.scope(a),
  "tensors": ({ lw }, a) => lw.tensors({ routing: a }),
  "cluster": ({ lw }, a, b) => lw.cluster(a, b),
  "cluster points": ({ lw }, a) => lw.cluster(a, { dim: 2, clusters: 2 }),
  "cluster options": ({ lw }, a, b, c) => lw.cluster(new Float32Array([1, 2, 3, 4]), { dim: 2, clusters: a, method: b, seed: c }),
  "compress": ({ lw }, a, b) => lw.compress(a, b),
  "compress points": ({ lw }, a) => lw.compress(a, { dim: 2, clusters: 1 }),
  "compress options": ({ lw }, a, b, c) => lw.compress(new Float32Array(20), { dim: 2, code: a, bits: b, ratio: c }),
  "openIndex": ({ lw }, a) => lw.openIndex(a),
  "openIndex files": ({ lw }, a, b, c) => lw.openIndex({ idx: a, anchors: b, assign: c }),
  "search": ({ index }, a) => index.search(a, { k: 1 }),
  "search options": ({ index }, a, b, c) => index.search(new Float32Array(2), { k: a, probes: b, filter: c }),
  "add": ({ index }, a) => index.add(a),
  "remove": ({ index }, a) => index.remove(a),
  "reconstruct": ({ index }, a) => index.reconstruct(a),
  "searching": ({ index }, a) => { index.searching = a; index.searching = "auto"; },
  "setTuning": ({ lw }, a) => lw.setTuning(a),
  "tune": ({ lw }, a) => lw.tune(a),
  "init": ({ lib }, a) => lib.init(a === null || typeof a !== "object" ? a : CPU),
  ...Object.fromEntries(["precision", "limits", "tuning", "device", "wasm"].map((name) => [`init ${name}`, ({ lib }, a) => lib.init({ ...CPU, [name]: a })])),
  "limits of init": ({ lib }, a, b) => lib.init({ ...CPU, limits: { bindingBytes: a, groupSize: b } }),
  "disposed tensor": (of) => DISPOSED.tensor(of).read(),
  "disposed tensor added": (of) => of.tensor.add(DISPOSED.tensor(of)),
  "disposed term": (of) => DISPOSED.term(of).cost(),
  "disposed solver": (of) => DISPOSED.solver(of).step(),
  "typo of init": ({ lib }) => lib.init({ ...CPU, precison: "f64" }),
  "typo of limits": ({ lib }) => lib.init({ ...CPU, limits: { bindingByte: 1e9 } }),
  "typo of variables": (of) => of.problem.variables(named(of, "v"), { shape: 2, values: [1, 2], cuont: 1 }),
  "typo of residuals": (of) => of.problem.residuals(named(of, "r"), { of: [of.x], wieght: 2 }, ([p]) => p),
  "typo of constrain": (of) => of.problem.constrain(named(of, "k"), { of: [of.x], to: "=0", wieght: 2 }, ([p]) => p),
  "typo of solve": ({ problem }) => problem.solve({ maxIteration: 5 }),
  "typo of zeros": ({ lw }) => lw.zeros([2], { dtpye: "f64" }),
  "typo of advance": (of) => withSolver(of, (solver) => solver.advance({ iteration: 5 })),
  "typo of write": ({ x }) => x.write([1, 2, 3, 4], { att: [0] }),
  "typo of cluster": ({ lw }) => lw.cluster(new Float32Array([1, 2, 3, 4]), { dim: 2, cluster: 2, clusters: 1 }),
  "typo of compress": ({ lw }) => lw.compress(new Float32Array(8), { dim: 2, bit: 2 }),
};

export const CALL_NAMES = Object.keys(CALLS);
