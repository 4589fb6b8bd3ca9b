// Both bindings and the façade hold to the declared surface: every value that crosses in the calls below is what `surface.json` says, every
// field of a record is there at least once, and the options that the engine reads are those that are declared.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { init, log, quaternion } from "leastwise";
import { fitSet } from "leastwise/fits";
import { openLazily } from "leastwise/vectors";
import { ADDON, wanted } from "./support.mjs";

const { words, types, records, methods } = JSON.parse(readFileSync(new URL("surface.json", import.meta.url), "utf8"));

/** What only a GPU gives. */
const OF_GPUS = ["NativeRefinement.code", "NativeHits.reason", "NativeEvaluation.reason", "NativeView.buffer", "NativeView.offset", "NativeView.stride"];
/** Fields of records and methods that came up. */
const seen = new Set(), called = new Set();

const PARAMETERS = {
  u32: (value) => Number.isInteger(value) && value >= 0 && value < 2 ** 32, f64: (value) => typeof value === "number", bool: (value) => typeof value === "boolean",
  string: (value) => typeof value === "string", strings: (value) => Array.isArray(value) && value.every((part) => typeof part === "string"),
  words: (value) => value instanceof Uint32Array, indices: (value) => value instanceof Uint32Array, doubles: (value) => value instanceof Float64Array,
  singles: (value) => value instanceof Float32Array, bytes: (value) => value instanceof Uint8Array, buffer: (value) => value instanceof Uint8Array,
  reals: (value) => value instanceof Float64Array || value instanceof Float32Array, vectors: (value) => value instanceof Float64Array || value instanceof Float32Array,
  weight: (value) => typeof value === "number" || value instanceof Float64Array || value instanceof Float32Array,
};
const KINDS = {
  number: (value) => typeof value === "number", string: (value) => typeof value === "string", boolean: (value) => typeof value === "boolean",
  null: (value) => value === null, undefined: (value) => value === undefined, unknown: () => true,
  Float64Array: PARAMETERS.doubles, Float32Array: PARAMETERS.singles, Uint32Array: PARAMETERS.words, Uint8Array: PARAMETERS.bytes,
};

/** What is wrong with a value of a record's field; undefined where nothing is. */
function fault(type, value, where) {
  const wrong = (must) => `${where} is ${JSON.stringify(value) ?? value}, not ${must}`;
  if (typeof type === "string") {
    if (records[type]) return recordFault(type, records[type].fields, value, where);
    if (types[type]) return fault(types[type], value, where);
    return KINDS[type](value) ? undefined : wrong(type);
  }
  if (type.literal !== undefined) return value === type.literal ? undefined : wrong(`"${type.literal}"`);
  if (type.union) {
    const faults = type.union.map((part) => fault(part, value, where));
    return faults.includes(undefined) ? undefined : faults.join("; ");
  }
  if (type.array) return Array.isArray(value) ? value.map((part, k) => fault(type.array, part, `${where}[${k}]`)).find(Boolean) : wrong("an array");
  if (type.tuple) return value.length === type.tuple.length ? type.tuple.map((part, k) => fault(part, value[k], `${where}[${k}]`)).find(Boolean) : wrong(`${type.tuple.length} values`);
  if (type.map) return Object.entries(value).map(([key, part]) => fault(type.map, part, `${where}.${key}`)).find(Boolean);
  return recordFault(undefined, type.fields, value, where);
}

function recordFault(name, fields, value, where) {
  if (typeof value !== "object" || value === null) return `${where} is no object`;
  const unknown = Object.keys(value).find((key) => !fields.some((field) => field.name === key));
  if (unknown !== undefined) return `${where} has "${unknown}", which ${name ?? "it"} is not declared to have`;
  for (const { name: key, optional, type } of fields) {
    if (value[key] === undefined && optional) continue;
    const found = fault(type, value[key], `${where}.${key}`);
    if (found) return found;
  }
  // Only of what is right: of a union another part may be.
  for (const { name: key } of fields) if (name && value[key] !== undefined) seen.add(`${name}.${key}`);
  return undefined;
}

function mustBe(type, value, where) {
  assert.equal(fault(type, value, where), undefined);
}

function mustTake(method, given) {
  const { parameters } = methods[method];
  assert.ok(given.length <= parameters.length, `${method} takes ${parameters.length} arguments, not ${given.length}`);
  parameters.forEach(({ name, type, optional }, k) => {
    const value = given[k], where = `${method}(${name})`;
    if (value === undefined && optional) return;
    if (words[type]) assert.ok(words[type].includes(value), `${where} is ${value}`);
    else if (records[type]) mustBe(type, value, where);
    else assert.ok(PARAMETERS[type](value), `${where} is ${value}, not ${type}`);
  });
}

function mustGive(method, value) {
  const { result } = methods[method];
  if (!result) return assert.equal(value, undefined, method);
  if (result.optional && (value === undefined || value === null)) return undefined;
  if (result.type === "Progress") return mustBeProgress(value);
  if (result.many) return value.forEach((part) => mustBe(result.type, part, method));
  return records[result.type] ? mustBe(result.type, value, method) : assert.ok(PARAMETERS[result.type](value), `${method} gives ${value}, not ${result.type}`);
}

function mustBeProgress({ state, ...rest }) {
  const fields = { yielded: [], waiting: ["ready"], iteration: ["iteration"], progress: ["done", "total"] }[state];
  if (state === "done") return mustBe("NativeDone", rest, "resume");
  assert.deepEqual(Object.keys(rest), fields, state);
  if (state === "iteration") mustBe("NativeIteration", rest.iteration, "resume");
  return undefined;
}

/** An engine that looks at all that crosses. */
const looking = (native) => new Proxy(native, {
  get(target, name) {
    const value = Reflect.get(target, name, target);
    if (typeof name !== "string" || (typeof value !== "function" && !methods[name]?.isGetter)) return value;
    assert.ok(methods[name], `${name} is not declared`);
    called.add(name);
    if (typeof value !== "function") { mustGive(name, value); return value; }
    return (...given) => {
      mustTake(name, given);
      let made;
      try {
        made = value.apply(target, given);
      } catch (thrown) {
        const { code, message, term, instance, slot } = thrown;
        mustBe("NativeError", { code, message, term, instance, slot }, name);
        throw thrown;
      }
      mustGive(name, made);
      return made;
    };
  },
});

let lw, real;
before(async () => {
  const { EngineOf } = await import(new URL("engine.js", import.meta.resolve("leastwise")));
  real = await init(wanted({ backend: "cpu" }));
  lw = new EngineOf(looking(real.native), () => undefined, { backend: real.backend, precision: real.precision, reason: real.reason });
});
after(() => lw.dispose());

test("problems", async () => {
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 2, values: [1, 2, 3, 4] }), q = problem.variables("q", { shape: quaternion, values: [0, 0, 0, 1] });
  const shift = problem.constants("shift", { shape: 1, values: new Float32Array([0.25]) });
  x.fix([0], [1]);
  x.free([0]);
  x.bound({ lower: [0, 0] });
  x.write([1, 2], { at: [0] });
  const term = problem.residuals("pull", { of: [x, shift], data: { to: new Float64Array([3, 3]), one: [1, 2] }, weight: new Float64Array([1, 2]) }, ([p, s], { to, one }) => p.sub(one).mul(s).mul(to));
  problem.residuals("turn", { of: [q] }, ([q]) => [q.x, q.y, q.z]);
  problem.residuals("rows", { of: [x.rows({ offsets: [0, 2], indices: [0, 1] })] }, ([rows]) => rows[0].sub(rows[1]).mul(1e-3));
  term.set({ to: new Float32Array([2, 2]), weight: 2 });
  term.enabled = false;
  term.enabled = true;
  await term.cost();
  await term.checkGradients();
  await term.evaluate();
  assert.throws(() => problem.residuals("outside", { of: [x.at([7])] }, ([p]) => p), { code: "index-out-of-range" });
  for (const options of [{}, { linear: "pcg", preconditioner: "block-jacobi" }, { linear: "assembled-pcg", preconditioner: "frozen-factor" }, { method: "dogleg" }, { method: "lbfgs", memory: 3 }]) {
    await problem.solve({ ...options, maxIterations: 5, onIteration() {} });
  }
  const solver = problem.solver({ method: "adam", learningRate: 0.1, decays: [0.9, 0.99] });
  await solver.step();
  solver.restore(await solver.save());
  solver.dispose();
  await x.read();
  lw.stats();
  lw.memory();
  problem.dispose();
});

test("reports of what is special", async () => {
  const wild = lw.problem();
  const x = wild.variables("x", { shape: 1, values: [1, 1, 1] }), loose = wild.variables("loose", { shape: 2, values: [1, 2, 3, 4] });
  wild.variables("free", { shape: 1, values: [1] });
  wild.residuals("logs", { of: [x], data: { k: Float64Array.of(0.1, 9, 0.1) } }, ([a], { k }) => log(a).add(k));
  wild.residuals("pair", { of: [loose.at([0]), loose.at([1])] }, ([a, b]) => a.sub(b));
  await wild.solve({ maxIterations: 100 });
  await wild.marginals({ deficient: "pseudo-inverse", variance: 1 });
  const held = lw.problem();
  const y = held.variables("y", { shape: 2, values: [1, 2] });
  held.residuals("near", { of: [y] }, ([p]) => [p.x.sub(3), p.y.sub(4)]);
  held.constrain("sum", { of: [y], to: "=0" }, ([p]) => p.x.add(p.y).sub(1));
  await held.solve({ feasibilityTolerance: 1e-6, penalty: 10, maxOuterIterations: 10 });
  for (const problem of [wild, held]) problem.dispose();
});

test("what follows a solve", async () => {
  const problem = lw.problem();
  const m = problem.variables("mean", { shape: 1, values: [0] }), c = problem.constants("shift", { shape: 1, values: [0.25] });
  const term = problem.residuals("mean", { of: [m, c], data: { y: Float64Array.of(1, 2, 4, 8) } }, ([m, c], { y }) => m.sub(c).sub(y));
  await problem.solve();
  await problem.covariance(m);
  await problem.backward([[m, [2]]]);
  await problem.solveGraduated({ suspects: [{ term, threshold: 1, knownInliers: [0] }], maxRounds: 2 });
  lw.setTuning(await lw.tune(problem));
  const { handle } = problem, native = looking(real.native);
  native.describeTerm(handle, term.handle);
  const solver = native.solver(handle, { linear: "pcg" });
  native.traffic(solver);
  native.freeSolver(solver);
  problem.dispose();
});

test("vectors", async () => {
  const points = Float32Array.from({ length: 512 }, (_, k) => Math.sin(k * k));
  await lw.cluster(points, { dim: 4, clusters: 4 });
  const index = await lw.compress(points, { dim: 4 });
  await index.search(points.subarray(0, 8), { k: 3, filter: new Uint8Array(128).fill(1) });
  await index.evaluate(points.subarray(0, 40), { k: 3, points });
  await index.add(points.subarray(0, 4));
  index.remove([0]);
  index.reconstruct([1]);
  const again = await lw.openIndex(await index.save());
  again.info;
  const lazy = await openLazily(lw, await index.save({ lazy: true }));
  await lazy.search(points.subarray(0, 8), { k: 3, filter: new Uint8Array(129).fill(1) });
  lazy.info;
  for (const each of [index, again, lazy]) each.dispose();
});

test("fits", async () => {
  const { values } = await lw.fit({ model: ([a]) => a, parameters: ["a"], points: 2, data: [1, 3, 2, 4], start: { a: 0 }, maxIterations: 10, costTolerance: 1e-6, stepTolerance: 1e-6 });
  assert.deepEqual([...values.a].map(Math.round), [2, 3]);
  const set = await fitSet(lw, { model: ([a]) => a, parameters: ["a"], points: 2, data: [1, 3, 2, 4], start: { a: 0 } });
  await set.run();
  await set.write([5, 5, 6, 6]);
  await set.run();
  assert.deepEqual([...await set.values("a")].map(Math.round), [5, 6]);
  set.dispose();
});

test("tensors", async () => {
  lw.tensors({ routing: "auto", fused: true });
  const a = lw.tensor([[1, 2], [3, 4]]), b = a.matmul(a).add(1);
  await b.read();
  const native = looking(real.native);
  native.tensorTrace();
  native.tensorStatistics();
  native.tensorTrim();
  for (const each of [a, b]) each.dispose();
});

test("options that the engine reads are those that are declared", () => {
  const points = new Float32Array(8), native = real.native, problem = native.problem();
  const readers = {
    NativeOptions: (given) => native.solver(problem, given), NativeClusterOptions: (given) => native.cluster(points, undefined, given),
    NativeCompressOptions: (given) => native.compress(points, given), NativeTensorSettings: (given) => native.tensorSettings(given),
    NativeFitOptions: (given) => native.runFits(0, false, new Float64Array(0), 0, false, given),
  };
  const given = Object.entries(records).filter(([name, { isGiven }]) => isGiven && name !== "NativeLimits").map(([name]) => name);
  assert.deepEqual(Object.keys(readers).sort(), given.sort());
  for (const [name, read] of Object.entries(readers)) {
    let message;
    try { read({ nonsense: 1 }); } catch (thrown) { ({ message } = thrown); }
    assert.match(message ?? "", /unknown field `nonsense`, expected one of /, name);
    const known = [...message.matchAll(/`(\w+)`/g)].slice(1).map(([, field]) => field);
    assert.deepEqual(known.sort(), records[name].fields.map((field) => field.name).sort(), name);
  }
  native.freeProblem(problem);
});

test("words that are not declared are refused", () => {
  const { native } = real, made = lw.problem(), x = made.variables("x", { shape: 1, values: [1] });
  made.residuals("r", { of: [x] }, ([x]) => x);
  const problem = made.handle, solver = native.solver(problem, {});
  const refused = (work, message) => assert.throws(work, (thrown) => thrown.code === "invalid-option" && thrown.message === message);
  refused(() => native.solve(solver, "stop"), "mode \"stop\" is not \"solve\" or \"step\"");
  refused(() => native.measure(solver, "nothing", 1), "measured \"nothing\" is not \"evaluation\" or \"product\"");
  refused(() => native.evaluateTerm(problem, 0, "some"), "hessian \"some\" is not \"exact\" or \"psd\"");
  made.dispose();
});

test("every field that a record is declared to have came up", () => {
  // Natively no program is compiled to WebAssembly.
  const given = (name) => records[name].isGiven || name === "NativeTensorModel" || name === "NativeRates" || (ADDON && name === "NativeEvaluator");
  const declared = Object.entries(records).filter(([name]) => !given(name)).flatMap(([name, { fields }]) => fields.map((field) => `${name}.${field.name}`));
  const missing = declared.filter((field) => !seen.has(field) && !OF_GPUS.includes(field));
  assert.deepEqual(missing, []);
  assert.ok(called.size > 50, `${called.size} methods were called`);
});
