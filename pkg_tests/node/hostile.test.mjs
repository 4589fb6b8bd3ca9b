// Hostile input: arrays that were transferred, resized or lie, options that throw, names that mean nothing. Every one is refused with our
// error, by name, and the engine is what it was. One engine for all, behind a boundary that lets nothing of a caller's through.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isProxy } from "node:util/types";
import { column, init, LeastwiseError, perEntry } from "leastwise";
import { fitSet } from "leastwise/fits";
import { edges, stars, weld } from "leastwise/mesh";
import { adam, adamW, conv, linear, mlp, sgd } from "leastwise/nn";
import { sketch } from "leastwise/sketch";
import { ADDON, deviceThatReads, refuses, rejects, wanted } from "./support.mjs";

let real, lw, problem, x, pull, solver, index, tensor;

/** What crosses into the engine is ours: nothing in it may run code of a caller's, or say anything but what it is. */
function mustBeOurs(where, value) {
  if (value === undefined || ["number", "string", "boolean"].includes(typeof value)) return;
  assert.ok(typeof value === "object" && value !== null && !isProxy(value), `${where} is ${isProxy(value) ? "a Proxy" : typeof value}`);
  if (ArrayBuffer.isView(value)) {
    assert.equal(Object.getPrototypeOf(Object.getPrototypeOf(value)), Object.getPrototypeOf(Uint8Array.prototype), `${where} has a class of its own`);
    assert.ok(!Object.hasOwn(value, "length"), `${where} has a length of its own`);
    value.at(0);                                        // throws where the memory is gone
    return;
  }
  assert.ok([Object.prototype, Array.prototype, null].includes(Object.getPrototypeOf(value)), `${where} is a ${value.constructor?.name}`);
  for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
    assert.ok("value" in property, `${where}.${name} is a getter`);
    mustBeOurs(`${where}.${name}`, property.value);
  }
}

/** An engine that looks at all that it is given. */
const looking = (native) => new Proxy(native, {
  get(target, name) {
    const value = Reflect.get(target, name, target);
    if (typeof value !== "function") return value;
    return (...given) => {
      given.forEach((argument, k) => mustBeOurs(`${String(name)}(): argument ${k}`, argument));
      return value.apply(target, given);
    };
  },
});

before(async () => {
  const { EngineOf } = await import(new URL("engine.js", import.meta.resolve("leastwise")));
  real = await init(wanted({ backend: "cpu" }));
  lw = new EngineOf(looking(real.native), () => undefined, { backend: real.backend, precision: real.precision, reason: real.reason });
  problem = lw.problem();
  x = problem.variables("x", { shape: 2, values: [1, 2, 3, 4] });
  pull = problem.residuals("pull", { of: [x], data: { to: new Float64Array([3, 3]) }, weight: [1, 1] }, ([p], { to }) => [p.x.sub(to), p.y.sub(to)]);
  solver = problem.solver();
  index = await lw.compress(Float32Array.from({ length: 64 }, (_, k) => Math.sin(k)), { dim: 2 });
  tensor = lw.tensor([[1, 2], [3, 4]]);
});
after(() => lw.dispose());

/** The engine solves, to the bits of a fresh problem, and its memory can be asked for. */
async function works() {
  const fresh = lw.problem();
  const y = fresh.variables("y", { shape: 1, values: [1, 2] });
  fresh.residuals("r", { of: [y] }, ([a]) => a.sub(3));
  await fresh.solve();
  assert.deepEqual([...await y.read()], [3, 3]);
  fresh.dispose();
  lw.memory();
}

/** What a call does: the error, which must be ours and about this call alone, or undefined. */
async function refusalOf(what, work) {
  try {
    await work();
  } catch (error) {
    assert.ok(error instanceof LeastwiseError, `${what}: ${error?.stack ?? String(error)}`);
    assert.notEqual(error.code, "engine-dead", `${what}: ${error.message}`);
    assert.doesNotMatch(error.message, /recursive use|unsafe aliasing/, what);
    return error;
  }
  return undefined;
}

let problems = 0;
/** A problem of its own, with one variable of two instances. */
function scratch() {
  const own = lw.problem();
  return { own, y: own.variables("y", { shape: 1, values: [1, 2] }), name: `t${problems++}` };
}

// Every call that takes numbers, with as many as it needs.
const TAKES_NUMBERS = {
  "variables({ values })": [4, (a) => lw.problem().variables("v", { shape: 2, values: a })],
  "constants({ values })": [4, (a) => lw.problem().constants("c", { shape: 2, values: a })],
  "x.write(values)": [4, (a) => x.write(a)],
  "data": [2, (a) => { const { own, y, name } = scratch(); own.residuals(name, { of: [y], data: { d: column(a, 1) } }, ([p], { d }) => p.sub(d)); }],
  "weight": [2, (a) => { const { own, y, name } = scratch(); own.residuals(name, { of: [y], weight: a }, ([p]) => p); }],
  "term.set({ data })": [2, (a) => pull.set({ to: column(a, 1) })],
  "term.set({ weight })": [2, (a) => pull.set({ weight: a })],
  "bound": [4, (a) => x.bound({ lower: a })],
  "backward": [4, (a) => problem.backward([[x, a]])],
  "multiStart": [4, (a) => problem.multiStart({ starts: [[[x, a]]], maxIterations: 1 })],
  "lw.tensor": [4, (a) => lw.tensor(a).dispose()],
  "lw.tensor f16": [4, (a) => lw.tensor(a, [4], { dtype: "f16" }).dispose()],
};
const TAKES_INDICES = {
  "over": [2, (a) => { const { own, y, name } = scratch(); own.residuals(name, { over: a, of: [y] }, ([p]) => p); }],
  "at(column)": [2, (a) => { const { own, y, name } = scratch(); own.residuals(name, { of: [y.at(a)] }, ([p]) => p); }],
  "rows": [2, (a) => x.rows({ offsets: [0, 1, 2], indices: a })],
  "each": [2, (a) => x.each({ offsets: [0, 1, 2], indices: a })],
  "write({ at })": [2, (a) => x.write([1, 2, 3, 4], { at: a })],
  "fix": [2, (a) => { x.fix(a); x.free(a); }],
  "covariance(which)": [2, (a) => problem.covariance(x, a, { variance: 1 })],
  "knownInliers": [2, (a) => problem.solveGraduated({ suspects: [{ term: pull, threshold: 1, knownInliers: a }], maxRounds: 1 })],
  "lw.indices": [2, (a) => lw.indices(a).dispose()],
  "gather": [2, (a) => tensor.gather(a).dispose()],
  "reconstruct": [2, (a) => index.reconstruct(a)],
};
const TAKES_BYTES = { "restore": (a) => solver.restore(a), "openIndex": (a) => lw.openIndex(a), "filter": (a) => index.search(new Float32Array(2), { k: 1, filter: a }), "filter({ bits })": (a) => index.search(new Float32Array(2), { k: 1, filter: { bits: a } }) };
const TAKES_POINTS = {
  "cluster": (a) => lw.cluster(a, { dim: 2, clusters: 1, maxIterations: 1 }),
  "compress": async (a) => (await lw.compress(a, { dim: 2 })).dispose(),
  "search": (a) => index.search(a, { k: 1 }),
  "searchRange": (a) => index.searchRange(a, { maxDistance: 1 }),
  "add": (a) => index.add(a),
};

/** An array whose memory is gone. */
function transferred(Kind, length) {
  const array = new Kind(length);
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
}

/** An array that is out of bounds since its buffer was resized. */
function shrunk(Kind, length) {
  const buffer = new ArrayBuffer(length * Kind.BYTES_PER_ELEMENT, { maxByteLength: length * Kind.BYTES_PER_ELEMENT });
  const array = new Kind(buffer, 0, length);
  buffer.resize(0);
  return array;
}

const throwing = () => { throw new Error("boom"); };
const revoked = (of) => { const { proxy, revoke } = Proxy.revocable(of, {}); revoke(); return proxy; };

test("arrays whose buffer was transferred or has shrunk are told apart from empty ones, wherever arrays are taken", async () => {
  const kinds = [
    ...Object.entries(TAKES_NUMBERS).flatMap(([name, [length, work]]) => [[name, Float32Array, length, work], [name, Float64Array, length, work]]),
    ...Object.entries(TAKES_INDICES).flatMap(([name, [length, work]]) => [[name, Uint32Array, length, work], [name, Int32Array, length, work]]),
    ...Object.entries(TAKES_BYTES).map(([name, work]) => [name, Uint8Array, 8, work]),
    ...Object.entries(TAKES_POINTS).map(([name, work]) => [name, Float32Array, 4, work]),
  ];
  const makers = typeof ArrayBuffer.prototype.resize === "function" ? [transferred, shrunk] : [transferred];
  for (const [name, Kind, length, work] of kinds) {
    for (const make of makers) {
      const error = await refusalOf(`${name}, ${make.name} ${Kind.name}`, () => work(make(Kind, length)));
      assert.equal(error?.code, "data-length", `${name}, ${make.name} ${Kind.name}: ${error}`);
      assert.match(error.message, /its buffer was transferred \(postMessage, structuredClone\) or has shrunk/, name);
    }
  }
  await works();
});

test("a column and rows that are transferred before they are used, an array that is transferred while it is read into", async () => {
  const { own, y, name } = scratch();
  const values = new Float64Array(2), late = column(values, 1), at = new Uint32Array(2), slot = y.at(at), entries = new Float64Array(1), each = perEntry(entries);
  for (const { buffer } of [values, at, entries]) structuredClone(buffer, { transfer: [buffer] });
  const gone = /its buffer was transferred/;
  refuses(() => own.residuals(name, { of: [y], data: { late } }, ([p], { late }) => p.sub(late)), "data-length", gone, { term: name });
  refuses(() => own.residuals(name, { of: [slot] }, ([p]) => p), "data-length", gone, { term: name, slot: 0 });
  refuses(() => own.residuals(name, { of: [y.rows({ offsets: [0, 1], indices: [0] })], data: { each } }, ([[p]], { each }) => p.sub(each[0])), "data-length", gone, { term: name });
  const out = new Float64Array(4), reading = x.read(out);
  structuredClone(out.buffer, { transfer: [out.buffer] });
  await rejects(reading, "data-length", gone);
  await works();
});

test("a typed array is as long as it is, whatever its length says, and as its class is, whatever its prototype says", async () => {
  for (const lie of [0, 1, 1e6, 2 ** 31, -1, NaN, 1.5]) {
    for (const [name, [length, work]] of Object.entries(TAKES_NUMBERS)) {
      const liar = Object.defineProperty(new Float64Array(length).fill(1), "length", { value: lie });
      assert.equal(await refusalOf(`${name} says ${lie}`, () => work(liar)), undefined, name);
    }
    for (const [name, [length, work]] of Object.entries(TAKES_INDICES)) {
      const liar = Object.defineProperty(Uint32Array.from({ length }, (_, k) => k), "length", { value: lie });
      assert.equal(await refusalOf(`${name} says ${lie}`, () => work(liar)), undefined, name);
    }
  }
  class Odd extends Float64Array { get length() { throw new Error("boom"); } get buffer() { throw new Error("boom"); } }
  x.write(new Odd(4));
  x.write(Object.setPrototypeOf(new Float64Array([1, 2, 3, 4]), null));
  assert.deepEqual([...await x.read()], [1, 2, 3, 4]);
  // Of what says that it is longer nothing beyond its end is read.
  const long = Object.defineProperty(new Float64Array([5]), "length", { value: 1000 });
  const y = lw.problem().variables("y", { shape: 1, values: long });
  assert.deepEqual([y.count, ...await y.read()], [1, 5]);
  await works();
});

test("arrays of what is no number, of no length and of throwing getters", async () => {
  const odd = {
    "BigInts": [new BigInt64Array(4), /BigInt64Array, whose elements are no numbers/], "a BigInt": [[1n, 1n, 1n, 1n], /(element|value) 0 is a bigint/],
    "strings": [["1", "2", "3", "4"], /(element|value) 0 is ("1"|a string)/], "holes": [[, 1, 1, 1], /(element|value) 0 is undefined/], "symbols": [[Symbol("s"), 1, 1, 1], /(element|value) 0 is a symbol/],
    "an infinite length": [{ length: Infinity }, /an array's length can't be Infinity/], "a huge one": [{ length: 2 ** 31 }, /(element|value) 0 is undefined/], "half a one": [{ length: 1.5, 0: 1 }, /can't be 1.5/],
    "a getter": [Object.defineProperty([1, 2, 3, 4], 1, { get: throwing }), /can't be read: boom/], "a length": [{ get length() { throw new Error("boom"); } }, /can't be read: boom/],
    "a Proxy": [new Proxy([1, 2, 3, 4], { get: throwing }), /can't be read: boom/], "a revoked Proxy": [revoked([1, 2]), /can't be read|that can't be read|revoked/],
    "null": [null, /null/], "a number": [5, /a number|5|must|have 4/], "a string": ["1234", /a string/], "a Set": [new Set([1, 2]), /a Set/], "a function": [() => 1, /a function/], "a DataView": [new DataView(new ArrayBuffer(16)), /a DataView/],
  };
  for (const [kind, [given, message]] of Object.entries(odd)) {
    for (const [name, [, work]] of Object.entries(TAKES_NUMBERS)) {
      // One number is a weight, a bound and a tensor.
      if (kind === "a number" && /weight|bound|tensor$/.test(name)) continue;
      const error = await refusalOf(`${name} of ${kind}`, () => work(given));
      assert.ok(error, `${name} of ${kind} was taken`);
      // A tensor's values are nested in any depth: it has words of its own.
      if (!name.startsWith("lw.tensor")) assert.match(error.message, message, `${name} of ${kind}`);
    }
    for (const [name, [, work]] of Object.entries(TAKES_INDICES)) {
      if (kind === "a number" || (kind === "null" && name === "covariance(which)")) continue;
      assert.ok(await refusalOf(`${name} of ${kind}`, () => work(given)), `${name} of ${kind} was taken`);
    }
    // A filter may be a predicate.
    for (const [name, work] of [...Object.entries(TAKES_POINTS), ...Object.entries(TAKES_BYTES)].filter(([name]) => name !== "filter" || kind !== "a function")) assert.ok(await refusalOf(`${name} of ${kind}`, () => work(given)), `${name} of ${kind} was taken`);
  }
  await works();
});

test("rows are taken where an instance has as many numbers, and refused where they are ragged", async () => {
  const own = lw.problem();
  const y = own.variables("y", { shape: 3, values: [[1, 2, 3], Float32Array.of(4, 5, 6)] });
  assert.deepEqual([y.count, ...await y.read()], [2, 1, 2, 3, 4, 5, 6]);
  y.write([[7, 8, 9]], { at: [1] });
  y.bound({ upper: [[9, 9, 9], [9, 9, 9]] });
  const pair = own.residuals("pair", { over: [[0, 1], [1, 0]], of: [y, y], data: { d: column([[1, 1, 1], [2, 2, 2]], 3) } }, ([a, b], { d }) => a.sub(b).sub(d));
  assert.equal(pair.count, 2);
  // A row may have more columns than slots take.
  assert.equal(own.residuals("one", { over: [[0, 1, 7], [1, 0, 7]], of: [y.at(1)] }, ([a]) => a).count, 2);
  assert.deepEqual(edges([[0, 1, 2]]), edges([0, 1, 2]));
  assert.deepEqual(stars([[0, 1, 2]], 3), stars([0, 1, 2], 3));
  assert.deepEqual(weld([[0, 0, 0], [0, 0, 0]]).toWelded, Uint32Array.of(0, 0));
  refuses(() => own.variables("v", { shape: 3, values: [[1, 2, 3], [4, 5]] }), "data-length", '"v": values[1] has 2 numbers, but 3 are needed (an instance\'s)');
  refuses(() => own.variables("v", { shape: 2, values: [[1, 2, 3]] }), "data-length", '"v": values[0] has 3 numbers, but 2 are needed (an instance\'s)');
  refuses(() => own.variables("v", { shape: 2, values: [[1, 2], 3, 4] }), "invalid-option", '"v": values[1] is a number, but "v": values[0] is an array: all must be rows of numbers, or none');
  refuses(() => own.variables("v", { shape: 1, values: [[["1"]]] }), "invalid-option", '"v": values[0]: element 0 is an array, but must be a number');
  refuses(() => own.residuals("r", { over: [[0, 1], [1]], of: [y, y] }, ([a, b]) => a.sub(b)), "data-length", 'term "r": `over`[1] has 1 numbers, but term "r": `over`[0] has 2', { term: "r" });
  refuses(() => own.residuals("r", { over: [[0], [1]], of: [y, y] }, ([a, b]) => a.sub(b)), "data-length", 'term "r": the rows of `over` have 1 indices, but its slots take 2 columns', { term: "r" });
  refuses(() => own.residuals("r", { of: [y], weight: [[1], [1]] }, ([a]) => a), "invalid-option", 'term "r": weight is an array of arrays: give values.flat()', { term: "r" });
  refuses(() => own.residuals("r", { of: [y], data: { d: [[1, 2, 3], [4, 5, 6]] } }, ([a], { d }) => a.sub(d)), "shape",
    'term "r": data column "d" is an array of arrays: for one vector an instance give column(values, 3), which takes rows', { term: "r" });
});

// Every call with options, and an option of its own that is misspelt.
const TAKES_OPTIONS = {
  "init": ["backned", "backend", (o) => init(o)],
  "init({ limits })": ["bindingByte", "bindingBytes", (o) => init({ limits: o })],
  "variables": ["vlaues", "values", (o) => lw.problem().variables("v", o)],
  "constants": ["shpe", "shape", (o) => lw.problem().constants("v", o)],
  "residuals": ["wieght", "weight", (o) => problem.residuals("r", o, ([a]) => a)],
  "energy": ["ovr", "over", (o) => problem.energy("r", o, ([a]) => a)],
  "constrain": ["dta", "data", (o) => problem.constrain("r", { to: "=0", ...o }, ([a]) => a)],
  "rows": ["offset", "offsets", (o) => x.rows(o)],
  "write": ["att", "at", (o) => x.write([1, 2, 3, 4], o)],
  "bound": ["lowr", "lower", (o) => x.bound(o)],
  "evaluate": ["hesian", "hessian", (o) => pull.evaluate(o)],
  "solve": ["maxIteration", "maxIterations", (o) => problem.solve(o)],
  "solver": ["methd", "method", (o) => problem.solver(o)],
  "advance": ["iteration", "iterations", (o) => solver.advance(o)],
  "multiStart": ["start", "starts", (o) => problem.multiStart(o)],
  "multiStart({ starts })": ["smaple", "sample", (o) => problem.multiStart({ starts: o })],
  "solveGraduated": ["suspect", "suspects", (o) => problem.solveGraduated(o)],
  "suspects": ["treshold", "threshold", (o) => problem.solveGraduated({ suspects: [o] })],
  "covariance": ["spce", "space", (o) => problem.covariance(x, undefined, o)],
  "marginals": ["varience", "variance", (o) => problem.marginals(o)],
  "backward": ["deficent", "deficient", (o) => problem.backward([], o)],
  "cluster": ["cluster", "clusters", (o) => lw.cluster(new Float32Array(4), o)],
  "cluster({ mean })": ["trm", "trim", (o) => lw.cluster(new Float32Array(4), { dim: 2, clusters: 1, method: "lloyd", mean: o })],
  "fit": ["weihgts", "weights", (o) => lw.fit(o)],
  "fitSet": ["strat", "start", (o) => fitSet(lw, o)],
  "compress": ["ration", "ratio", (o) => lw.compress(new Float32Array(4), o)],
  "search": ["prbes", "probes", (o) => index.search(new Float32Array(2), o)],
  "searchRange": ["maxDistnce", "maxDistance", (o) => index.searchRange(new Float32Array(2), o)],
  "upsert": ["kes", "keys", (o) => index.upsert(new Float32Array(2), o)],
  "add": ["onProgres", "onProgress", (o) => index.add(new Float32Array(2), o)],
  "buildGraph": ["degre", "degree", (o) => index.buildGraph(o)],
  "index.evaluate": ["pints", "points", (o) => index.evaluate(new Float32Array(2), o)],
  "tensor": ["dtpye", "dtype", (o) => lw.tensor([1], undefined, o)],
  "indices": ["dtyp", "dtype", (o) => lw.indices([1], undefined, o)],
  "zeros": ["dtpye", "dtype", (o) => lw.zeros([2], o)],
  "ones": ["dtpye", "dtype", (o) => lw.ones([2], o)],
  "full": ["dtpye", "dtype", (o) => lw.full([2], 1, o)],
  "arange": ["strat", "start", (o) => lw.arange(2, o)],
  "random": ["sed", "seed", (o) => lw.random([2], o)],
  "tensors": ["rooting", "routing", (o) => lw.tensors(o)],
  "allocate": ["dtpye", "dtype", (o) => lw.arrays.allocate([2], o)],
  "sum": ["keepDim", "keepDims", (o) => tensor.sum(0, o)],
  "argmax": ["keepDim", "keepDims", (o) => tensor.argmax(0, o)],
  "argmin": ["keepDim", "keepDims", (o) => tensor.argmin(0, o)],
  "window": ["dilaton", "dilation", (o) => tensor.window(0, 1, o)],
  "layerNorm": ["epsilom", "epsilon", (o) => tensor.layerNorm(o)],
  "linear": ["bais", "bias", (o) => linear(lw, 2, 2, o)],
  "conv": ["pading", "padding", (o) => conv(lw, 1, 1, 3, o)],
  "mlp": ["activaton", "activation", (o) => mlp(lw, [2, 2], o)],
  "sgd": ["momentun", "momentum", (o) => sgd(o)],
  "adam": ["decay", "decays", (o) => adam(o)],
  "adamW": ["weigthDecay", "weightDecay", (o) => adamW(o)],
  "edges": ["direct", "directed", (o) => edges([0, 1, 2], o)],
  "sketch.solve": ["tolerence", "tolerance", (o) => sketch(lw).solve(o)],
};

test("a name that is no option is refused by every call that takes options, with the one that was meant", async () => {
  for (const [name, [misspelt, meant, work]] of Object.entries(TAKES_OPTIONS)) {
    const error = await refusalOf(name, () => work({ [misspelt]: undefined }));
    assert.equal(error?.code, "invalid-option", `${name}: ${error}`);
    assert.ok(error.message.includes(` have no "${misspelt}": did you mean "${meant}"? (they have: `), `${name}: ${error.message}`);
    assert.match((await refusalOf(name, () => work({ nothingLikeIt: 1 }))).message, /have no "nothingLikeIt" \(they have: /, name);
    assert.match((await refusalOf(name, () => work({ [Symbol("s")]: 1 }))).message, /have no Symbol\(s\)/, name);
  }
  await works();
});

test("options that throw, that are none, and that are inherited", async () => {
  class Inherited { get maxIterations() { return 1; } }
  const odd = {
    "a revoked Proxy": [() => revoked({}), /can't be read|that can't be read/], "a Proxy that throws": [() => new Proxy({ a: 1 }, { ownKeys: throwing, get: throwing, getPrototypeOf: throwing }), /can't be read: boom|that can't be read/],
    "an array": [() => [1], /must be an object, not an array/], "a Map": [() => new Map(), /must be a plain object, not a Map/], "an instance": [() => new Inherited(), /must be a plain object, not an Inherited/],
    "a string": [() => "lm", /must be an object, not a string/], "a number": [() => 5, /must be an object, not a number/], "a symbol": [() => Symbol("s"), /must be an object, not a symbol/], "a function": [() => () => 1, /must be an object, not a function/], "null": [() => null, /must be an object, not null/],
  };
  for (const [name, [, meant, work]] of Object.entries(TAKES_OPTIONS)) {
    for (const [kind, [make, message]] of Object.entries(odd)) {
      // These options are spread, or may be a word or a list.
      if (name === "constrain" || (name === "rows" && kind === "an array") || (/cluster\(\{ mean \}\)|multiStart\(\{ starts \}\)/.test(name) && !/Proxy|Map/.test(kind))) continue;
      const error = await refusalOf(`${name} of ${kind}`, () => work(make()));
      assert.ok(error, `${name} of ${kind} was taken`);
      assert.match(error.message, message, `${name} of ${kind}`);
    }
    if (name === "constrain") continue;
    const error = await refusalOf(`${name} with a getter`, () => work({ get [meant]() { throw new Error("boom"); } }));
    assert.match(error?.message ?? "", /can't be read: boom/, name);
  }
  await works();
});

// Every option that is a word, a flag or a number, and crosses into the engine.
const WORDS = ["true", true, 1, NaN, {}, [], ["psd"], new Date(0), Symbol("s"), 10n, () => "lm", Object.create(null), { toString: throwing }, "x".repeat(1e5), new Proxy({}, { get: throwing }), revoked({})];
const OPTIONS_OF_WORDS = {
  "evaluate({ hessian })": (v) => pull.evaluate({ hessian: v }), "solve({ method })": (v) => problem.solve({ method: v }), "solve({ linear })": (v) => problem.solve({ linear: v }), "solve({ dogleg })": (v) => problem.solve({ method: "dogleg", dogleg: v }),
  "solve({ preconditioner })": (v) => problem.solve({ preconditioner: v }), "graduated cost": (v) => problem.solveGraduated({ suspects: [{ term: pull, threshold: 1 }], cost: v }), "space": (v) => problem.covariance(x, undefined, { space: v }),
  "deficient": (v) => problem.marginals({ deficient: v }), "backward space": (v) => problem.backward([], { space: v }), "cluster({ method })": (v) => lw.cluster(new Float32Array(4), { dim: 2, clusters: 1, method: v }),
  "compress({ code })": (v) => lw.compress(new Float32Array(4), { dim: 2, code: v }), "index.searching": (v) => { index.searching = v; }, "routing": (v) => lw.tensors({ routing: v }), "slopes": (v) => lw.tensors({ slopes: v }), "dtype": (v) => lw.zeros([2], { dtype: v }),
  "cast": (v) => tensor.cast(v), "backend": (v) => init({ backend: v }), "precision": (v) => init({ precision: v }), "to": (v) => problem.constrain("c", { of: [x], to: v }, ([a]) => a),
  "tuning": (v) => lw.setTuning({ products: { a: v } }), "activation": (v) => mlp(lw, [2, 2], { seed: 1, activation: v }),
};
const EMPTY = [];
const NUMBERS = [NaN, -5, -Infinity, "5", null, {}, EMPTY, Symbol("s"), 10n, () => 1, { valueOf: throwing }, revoked({})];
const OPTIONS_OF_NUMBERS = {
  ...Object.fromEntries(["maxIterations", "costTolerance", "gradientTolerance", "stepTolerance", "timeLimitMs", "forcing", "maxInnerIterations", "nonmonotone", "memory", "learningRate", "penalty", "feasibilityTolerance", "maxOuterIterations"]
    .map((name) => [`solve({ ${name} })`, (v) => problem.solve({ [name]: v })])),
  "decays": (v) => problem.solve({ method: "adam", decays: [v, 0.9] }), "count": (v) => lw.problem().variables("v", { shape: 1, values: [1], count: v }), "iterations": (v) => solver.advance({ iterations: v }), "budgetMs": (v) => solver.advance({ budgetMs: v }),
  "threshold": (v) => problem.solveGraduated({ suspects: [{ term: pull, threshold: v }] }), "muStep": (v) => problem.solveGraduated({ suspects: [{ term: pull, threshold: 1 }], muStep: v }), "rankTolerance": (v) => problem.marginals({ rankTolerance: v }),
  "worst": (v) => pull.worst(v), "clusters": (v) => lw.cluster(new Float32Array(4), { dim: 2, clusters: v }), "dim": (v) => lw.compress(new Float32Array(4), { dim: v }), "k": (v) => index.search(new Float32Array(2), { k: v }),
  "seed": (v) => lw.random([2], { seed: v }), "poolBytes": (v) => lw.tensors({ poolBytes: v }), "bindingBytes": (v) => init({ limits: { bindingBytes: v } }), "groupSize": (v) => init({ limits: { groupSize: v } }),
  "groupsPerDimension": (v) => init({ limits: { groupsPerDimension: v } }), "cudaDevice": (v) => init({ cudaDevice: v }), "timeoutMs": (v) => init({ backend: "cuda", timeoutMs: v }), "devices": (v) => init({ devices: v }), "devices[0]": (v) => init({ devices: [v] }), "weight": (v) => problem.residuals("w", { of: [x], weight: v }, ([a]) => a), "set({ weight })": (v) => pull.set({ weight: v }),
  "window size": (v) => tensor.window(0, v), "transpose": (v) => tensor.transpose(v, 0), "axis": (v) => tensor.sum(v), "shape": (v) => lw.zeros([v]), "full": (v) => lw.full([2], v), "multiStart count": (v) => problem.multiStart({ starts: { count: v, sample: () => [] } }),
};
const FLAGS = ["yes", 1, 0, null, {}, Symbol("s"), revoked({})];
const OPTIONS_OF_FLAGS = {
  "enabled": (v) => { pull.enabled = v; }, "sketches": (v) => { index.sketches = v; }, "fused": (v) => lw.tensors({ fused: v }), "keepDims": (v) => tensor.sum(0, { keepDims: v }), "correlation": async (v) => (await problem.marginals()).joint([x], { correlation: v }),
  "bias": (v) => linear(lw, 2, 2, { seed: 1, bias: v }), "directed": (v) => edges([0, 1, 2], { directed: v }),
};

test("no word, number or flag crosses unchecked", async () => {
  for (const [calls, values] of [[OPTIONS_OF_WORDS, WORDS], [OPTIONS_OF_NUMBERS, NUMBERS], [OPTIONS_OF_FLAGS, FLAGS]]) {
    for (const [name, work] of Object.entries(calls)) {
      for (const value of values) {
        const said = typeof value === "object" || typeof value === "function" ? typeof value : String(value).slice(0, 20);
        // A list of no axes, and a number like any other.
        if ((name === "axis" && value === EMPTY) || (name === "full" && value === -5)) continue;
        assert.ok(await refusalOf(`${name} of ${said}`, () => work(value)), `${name} of ${said} was taken`);
      }
    }
  }
  // Whatever an array without its memory stands beside.
  const gone = new Uint32Array(3);
  structuredClone(gone.buffer, { transfer: [gone.buffer] });
  for (const order of [[undefined, gone], [0, gone], [0, undefined]]) refuses(() => tensor.transpose(...order), "invalid-option", /^transpose\(order\): the axes: element [01] is /);
  refuses(() => tensor.transpose(gone, 0), "shape", /^transpose\(order\): the axes is an array of arrays/);
  assert.equal((await pull.evaluate({ hessian: undefined })).hessian, undefined);
  for (const limits of [{ bindingBytes: 1e300 }, { bindingBytes: 1024 }, { groupSize: 1e9 }, { groupSize: 1 }, { groupsPerDimension: 0 }]) {
    await rejects(init({ backend: "cpu", limits }), "invalid-option", /^limits\.\w+: \S+ is not an integer from \d+ to \d+$/);
  }
  await works();
});

test("names: one table of a name, one term of a name, and strings", () => {
  const own = lw.problem();
  const y = own.variables("position", { shape: 1, values: [1] });
  const taken = '"position": the problem already has a variable or constant of this name, and errors tell them apart by it';
  refuses(() => own.variables("position", { shape: 1, values: [1] }), "invalid-option", taken);
  refuses(() => own.constants("position", { shape: 1, values: [1] }), "invalid-option", taken);
  // One that was refused has taken no name.
  refuses(() => own.variables("late", { shape: 1, values: [NaN] }), "non-finite", /late/, { instance: 0 });
  own.variables("late", { shape: 1, values: [1] });
  for (const name of [Symbol("s"), 5, null, undefined, {}, revoked({}), 10n]) {
    for (const make of [() => own.variables(name, { shape: 1, values: [1] }), () => own.residuals(name, { of: [y] }, ([a]) => a), () => own.constrain(name, { of: [y], to: "=0" }, ([a]) => a), () => own.energy(name, { of: [y] }, ([a]) => a)]) {
      refuses(make, "invalid-option", /^the name of a (variable or constant|term) must be a string, not /);
    }
  }
});

test("small things that were bare TypeErrors", async () => {
  refuses(() => lw.scope(5), "invalid-option", "scope(work): work must be a function, not a number");
  refuses(() => lw.scope(), "invalid-option", "scope(work): work must be a function, not undefined");
  await rejects(x.read([1, 2, 3, 4]), "shape", '"x".read(out): out must be a Float32Array or a Float64Array, not an array');
  await rejects(x.read(new Int32Array(4)), "shape", '"x".read(out): out must be a Float32Array or a Float64Array, not an Int32Array');
  refuses(() => x.write([1, 2, 3, 4], null), "invalid-option", '"x".write(values, options): options must be an object, not null');
  await rejects(pull.worst(10n), "invalid-option", 'term "pull".worst(count): count must be a number that is not negative, not a bigint', { term: "pull" });
  await rejects(problem.solve({ signal: { addEventListener() {} } }), "invalid-option", "signal must be an AbortSignal, not an Object");
  await rejects(problem.solve({ signal: new Proxy(new AbortController().signal, { get: throwing }) }), "invalid-option", 'solve options: "signal" can\'t be read: boom');
  refuses(() => tensor.add(revoked({})), "invalid-option", /operand must be a tensor or a number/);
  refuses(() => problem.residuals("revoked", { of: [x] }, () => revoked([1])), "no-residual", /an object that can't be read/, { term: "revoked" });
  // A number that is none is refused before there is a tensor that nobody would free.
  const { tensors } = lw.memory();
  for (const options of [{ start: {} }, { step: true }, { step: Infinity }]) assert.throws(() => lw.arange(3, options), LeastwiseError);
  assert.equal(lw.memory().tensors, tensors);
  for (const options of [new Proxy({ maxIterations: 1 }, {}), Object.assign(Object.create(null), { maxIterations: 1 })]) assert.equal((await problem.solve(options)).iterations.length <= 1, true);
  await works();
});

test("what throws in the midst of the engine ends it with one error, said to every call, and ends no other engine", { skip: ADDON }, async () => {
  const device = await deviceThatReads((code) => code);
  const own = await init({ device });
  const made = own.problem();
  const y = made.variables("y", { shape: 1, values: [1, 2] });
  made.residuals("r", { of: [y] }, ([a]) => a.sub(3));
  const { queue } = device, submit = queue.submit.bind(queue);
  queue.submit = throwing;
  const said = "the engine was left in the midst of a call and can't go on: make a new one with init(). What ended the call is the host's: boom";
  await rejects(made.solve(), "engine-dead", said);
  queue.submit = submit;
  // Not "recursive use of an object": and nothing that is called later is blamed.
  await rejects(made.solve(), "engine-dead", said);
  await rejects(y.read(), "engine-dead", said);
  refuses(() => y.write([1, 2]), "engine-dead", said);
  refuses(() => own.counters(), "engine-dead", said);
  made.dispose();
  own.dispose();
  await works();
  device.destroy();
});

test("what a device refuses is told as that, with its words: a tape is what was traced", { skip: ADDON }, async () => {
  const device = await deviceThatReads(() => "fn main() { this is no shader; }");
  const own = await init({ device, precision: "f32" });
  const made = own.problem();
  const y = made.variables("y", { shape: 1, values: [1, 2] });
  made.residuals("r", { of: [y] }, ([a]) => a.sub(3));
  await rejects(made.solve(), "device-error", /^kernel `.+` was refused by the device's compiler: /);
  own.dispose();
  device.destroy();
});

/** Takes the memory of an array away, as `postMessage` with a list of transfers does. */
const transfer = (array) => structuredClone(array.buffer, { transfer: [array.buffer] });

/** Numbers that run a function when one of them is read. */
const telling = (values, tell) => new Proxy(values, { get(target, name) { if (name === "0") tell(); return Reflect.get(target, name); } });

test("a later argument that takes the memory of an earlier one away changes nothing, or is refused", async () => {
  const at = Uint32Array.of(1);
  x.write(telling([5, 6], () => { if (at.byteLength) transfer(at); }), { at });
  assert.deepEqual([...(await x.read())].slice(2), [5, 6]);
  const which = Uint32Array.of(1);
  x.fix(which, telling([0], () => { if (which.byteLength) transfer(which); }));
  x.free();
  const data = { t: Float64Array.of(1, 2) }, weight = Float64Array.of(1, 1);
  refuses(() => problem.residuals("gone", { of: [x], data }, ([p], { t }) => { if (data.t.byteLength) transfer(data.t); return p.x.sub(t); }), "data-length", /was transferred/);
  refuses(() => problem.residuals("gone", { of: [x], weight }, ([p]) => { if (weight.byteLength) transfer(weight); return p.x; }), "data-length", /was transferred/);
  const cotangent = Float64Array.of(1, 1, 1, 1);
  await rejects(problem.backward(telling([[x, cotangent], [x, telling([1, 1, 1, 1], () => { if (cotangent.byteLength) transfer(cotangent); })]], () => {})), "data-length", /was transferred/);
  await works();
});

test("a name that is being taken is taken", async () => {
  const own = lw.problem();
  const y = own.variables("y", { shape: 1, values: telling([1, 2], () => refuses(() => own.variables("y", { shape: 1, values: [1] }), "invalid-option", /already has a variable/)) });
  own.residuals("r", { of: [y] }, ([a]) => {
    refuses(() => own.residuals("r", { of: [y] }, ([b]) => b), "invalid-option", /already has a term of this name/, { term: "r" });
    return a.sub(1);
  });
  // What came to nothing leaves its name.
  assert.throws(() => own.residuals("later", { of: [y] }, throwing));
  own.residuals("later", { of: [y] }, ([a]) => a);
  assert.throws(() => own.variables("z", { shape: 1, values: "no" }));
  own.variables("z", { shape: 1, values: [1] });
  own.dispose();
  await works();
});

test("what is no GPUDevice is refused before anything is asked of it", async () => {
  for (const device of [5, "gpu", {}, { limits: {} }, { limits: { maxBufferSize: 1 }, features: new Set(), queue: {}, lost: Promise.resolve() }, new Proxy({}, { get: throwing })]) {
    await rejects(init({ backend: "webgpu", device }), "invalid-option", /device/);
  }
  await works();
});

test("a solver's signal and time limit hold for its steps", async () => {
  const aborted = problem.solver({ signal: AbortSignal.abort() });
  await rejects(aborted.step(), "no-step", /aborted/);
  aborted.dispose();
  await works();
});
