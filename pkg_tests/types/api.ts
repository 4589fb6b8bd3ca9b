// Compiled, never run: what the types must accept, infer and refuse. `run.mjs` says with which compilers.
import { column, cos, exp, huber, init, LeastwiseError, mat3, perEntry, rotateXYZ, select, sin, sqrt, sum, sumOver, vec } from "leastwise";
import type { Bool, Constants, Marginals, DeviceView, Each, Engine, ErrorCode, F32, F64, Mat3, Report, Scalar, Values, Variables, Vec, Vec2, Vec3, Vec4 } from "leastwise";
import { edges, weld } from "leastwise/mesh";
import { sketch, sketchFromJSON } from "leastwise/sketch";
import type { Sketch, SketchPlacement } from "leastwise/sketch";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
function is<T extends true>(_proof?: T): void {}

declare const positions: F32, triangles: Uint32Array, pinned: Uint32Array, targets: F32;
declare const renderer: { setAnimationLoop(f: () => void): void };

export async function deformMesh() {
  const lw = await init();
  const problem = lw.problem();
  const x = problem.variables("position", { shape: 3, values: positions });
  const turn = problem.variables("rotation", { shape: 3, values: new Float32Array(positions.length) });
  const rest = problem.constants("rest", { shape: 3, values: positions });
  problem.residuals("arap", { over: edges(triangles, { directed: true }), of: [x, x, turn.at(0), rest.at(0), rest.at(1)] },
    ([a, b, w, a0, b0]) => a.sub(b).sub(rotateXYZ(w, a0.sub(b0))));
  const handles = problem.residuals("handles", { of: [x.at(pinned)], data: { target: column(targets, 3) }, weight: 5 },
    ([p], { target }) => p.sub(target));
  const solver = problem.solver({ linear: "pcg" });
  renderer.setAnimationLoop(() => { handles.set({ target: targets }); solver.advance({ iterations: 2, budgetMs: 8 }); });
}

export async function solveOnce(lw: Engine, signal: AbortSignal): Promise<string> {
  using problem = lw.problem();
  const x = problem.variables("x", { shape: 1, values: [1, 2, 3] });
  using term = problem.residuals("t", { of: { x } }, ({ x }) => x.sub(1));
  const report = await problem.solve({
    method: "dogleg", dogleg: "subspace", nonmonotone: 5, maxInnerIterations: 100, forcing: 0.01, linear: "auto", maxIterations: 10, timeLimitMs: 100, costTolerance: 1e-6, gradientTolerance: 1e-10, stepTolerance: 1e-8, signal,
    onIteration: (it) => (it.cost < 1e-9 && it.accepted ? "stop" : undefined),
  });
  const fixed = problem.constants("c", { shape: 1, values: [1, 2, 3] });
  // @ts-expect-error constants are not solved for, so they can't be eliminated
  await problem.solve({ linear: "schur", eliminate: [fixed] });
  await problem.solve({ preconditioner: "two-level" });
  await problem.solve({ linear: "schur-pcg", preconditioner: "schur-jacobi" });
  // @ts-expect-error there is no such preconditioner
  await problem.solve({ preconditioner: "ilu" });
  // @ts-expect-error there is no such linear solver
  await problem.solve({ linear: "lu" });
  await problem.solve({ linear: "schur", eliminate: [x] });
  await problem.solve({ onIteration: (it) => console.log(it.index, it.gainRatio) });
  is<Same<typeof report, Report>>();
  const f64 = await x.read(new Float64Array(3));
  const upload: ArrayBufferView = f64;
  is<Same<typeof x.buffer, DeviceView | undefined>>();
  term.enabled = false;
  const [first] = await term.worst(1);
  return `${report} ${upload.byteLength} ${first?.instance} ${await term.cost()} ${report.time.traceMs} ${report.costByTerm.t}`;
}

export async function reads(lw: Engine, as: "f32" | "f64") {
  const x = lw.problem().variables("x", { shape: 1, values: [1, 2, 3] });
  const values = await x.read(), f32 = await x.read({ as: "f32" }), f64 = await x.read({ as: "f64" }), either = await x.read({ as }), single = await x.read(new Float32Array(3));
  is<Same<typeof values, Values>>(); is<Same<typeof either, Values>>();
  is<Same<typeof f32, F32>>(); is<Same<typeof f64, F64>>(); const kept: ArrayLike<number> & Float32Array = single;
  // Uses of an array that need not know its type.
  const [first] = values, total: number = values.reduce((sum, value) => sum + value, 0), largest: number = values.reduce((most, value) => Math.max(most, value));
  const list: number[] = values.reduce<number[]>((list, value) => [...list, value], []), twice = values.map((value) => 2 * value), ok: boolean = values.every(Number.isFinite);
  const upload: ArrayBufferView = values, copy = Float32Array.from(values), part = values.slice(1).subarray(1), spread: number[] = [...values, ...twice];
  for (const value of values) void value.toFixed(1);
  x.write(values);
  if (values instanceof Float32Array) { const exactly: F32 = values; void exactly; }
  // @ts-expect-error the engine says which
  const wrong: F32 = await x.read();
  // @ts-expect-error no such precision
  await x.read({ as: "f16" });
  // @ts-expect-error no such option
  await x.read({ at: [0] });
  // @ts-expect-error arrays of numbers are not written to
  await x.read([0, 0, 0]);
  return [first, total, largest, list, ok, upload, copy, part, spread, wrong, kept];
}

export async function sharedParameters(lw: Engine, t: F64, seen: F64, pairs: Uint32Array) {
  const problem = lw.problem();
  const a = problem.variables("a", { shape: 1, values: [1] }), tau = problem.variables("tau", { shape: 1, values: [1] }), x = problem.variables("x", { shape: 3, values: t });
  const term = problem.residuals("decay", { of: [a, tau], data: { t, seen } }, ([a, tau], { t, seen }) => { is<Same<typeof a, Scalar>>(); return a.mul(exp(t.neg().div(tau))).sub(seen); });
  problem.energy("pairs", { over: pairs, of: { p: x, q: x, tau } }, ({ p, q, tau }) => { is<Same<typeof tau, Scalar>>(); return p.sub(q).normSq().mul(tau); });
  return term.count;
}

export async function checkpoints(lw: Engine, file: Uint8Array) {
  const problem = lw.problem();
  const solver = problem.solver({ onIteration: () => void solver.save() });
  const report = await solver.solve(), saved = await solver.save();
  is<Same<typeof report, Report>>();
  is<Same<typeof saved, Uint8Array>>();
  const done: void = solver.restore(file);
  const code: ErrorCode = "checkpoint-mismatch";
  // @ts-expect-error a checkpoint is bytes
  solver.restore("file");
  return [done, code];
}

export async function gradients(lw: Engine, floats: F32) {
  const problem = lw.problem(), x = problem.variables("x", { shape: 3, values: floats }), c = problem.constants("c", { shape: 1, values: floats });
  const term = problem.residuals("t", { of: [x, c], data: { rest: floats, gain: 2 }, weight: 2 }, ([x, c], { rest, gain }) => x.norm().sub(rest).mul(gain).add(c));
  const made = await problem.backward([[x, floats]], { space: "tangent", deficient: "least-norm" });
  const of = made.of(term), constants = made.of(c), held = made.of(x);
  is<Same<typeof of.rest, F64>>();
  is<Same<typeof of.gain, F64>>();
  is<Same<typeof of.weight, F64>>();
  is<Same<typeof constants, F64>>();
  // @ts-expect-error no such column
  void of.retsu;
  // @ts-expect-error constants are no part of the solution
  await problem.backward([[c, floats]]);
  return [held, made.stationary, made.distance];
}

export async function outliers(lw: Engine, floats: F32, mask: Uint8Array) {
  const problem = lw.problem(), x = problem.variables("x", { shape: 3, values: floats });
  const term = problem.residuals("t", { of: [x] }, ([x]) => x.mul(2));
  const found = await problem.solveGraduated({ suspects: [{ term, threshold: 0.1, knownInliers: mask }], cost: "gm", muStep: 1.2, maxIterations: 5 });
  const weights = found.weights(term), inliers = found.inliers(term), report: Report = found.report;
  is<Same<typeof weights, F64>>();
  is<Same<typeof inliers, Uint8Array>>();
  // @ts-expect-error a suspect has a threshold
  await problem.solveGraduated({ suspects: [{ term }] });
  const best = await problem.multiStart({ starts: { count: 3, seed: 1, sample: (random) => [[x, [random(), 0, 1]]] }, method: "dogleg" });
  await problem.multiStart({ starts: [[], [[x, floats]]], onStart: ({ index, best }) => (index > best + 10 ? "stop" : undefined) });
  // @ts-expect-error a start is a list of pairs
  await problem.multiStart({ starts: [[x, floats]] });
  return [report, best.costs[best.best]];
}

export function energies(lw: Engine, floats: F32) {
  const p = lw.problem(), x = p.variables("x", { shape: 3, values: floats });
  const term = p.energy("e", { of: { x }, data: { rest: floats }, weight: 2 }, ({ x }, { rest }) => x.norm().sub(rest).square());
  term.set({ rest: floats, weight: 3 });
  // @ts-expect-error an energy is one scalar
  p.energy("vector", { of: [x] }, ([a]) => a);
  // @ts-expect-error an energy has no loss
  p.energy("robust", { of: [x], loss: huber(1) }, ([a]) => a.norm());
  // @ts-expect-error a constraint says what it is compared with
  p.constrain("area", { of: [x] }, ([a]) => a.norm());
  // @ts-expect-error a constraint has no loss
  p.constrain("soft", { of: [x], to: "=0", loss: huber(1) }, ([a]) => a.norm());
  // @ts-expect-error nor is it compared with anything else
  p.constrain("more", { of: [x], to: "<1" }, ([a]) => a.norm());
  const unit = p.constrain("unit", { of: [x], data: { rest: floats }, to: ">=0", weight: floats }, ([a], { rest }) => a.norm().sub(rest));
  const multipliers: Promise<Float64Array> = unit.multipliers();
  p.solve({ method: "lbfgs", memory: 5, feasibilityTolerance: 1e-6 });
  p.solve({ method: "adam", learningRate: 0.1, decays: [0.9, 0.99] });
  // @ts-expect-error there is no such method
  p.solve({ method: "bfgs" });
  // @ts-expect-error two decays
  p.solve({ method: "adam", decays: [0.9] });
  void multipliers;
  // @ts-expect-error a plain number is not an energy
  p.energy("number", { of: [x] }, () => 0);
}

export async function uncertain(lw: Engine): Promise<number> {
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 2, values: [1, 2] }), y = problem.variables("y", { shape: 1, values: [1, 2, 3] });
  const blocks = await problem.covariance(x);
  is<Same<typeof blocks, F64>>();
  await problem.covariance(x, [0], { variance: "estimated", deficient: "pseudo-inverse", rankTolerance: 1e-12, space: "values" });
  using marginals = await problem.marginals({ variance: 1 });
  is<Same<typeof marginals, Marginals>>();
  const errors: F64 = await marginals.standardErrors(y, new Uint8Array(3));
  await marginals.crossCovariance(x, undefined, y, [2], { space: "tangent" });
  await marginals.joint([x, [y, [0, 1]]], { correlation: true, space: "values" });
  const free: string = marginals.unseen.map(({ variable, rotations }) => `${variable} ${rotations}`).join();
  const still = problem.constants("c", { shape: 1, values: [1] });
  // @ts-expect-error constants do not vary
  await marginals.correlation(still);
  // @ts-expect-error a block says what it is with respect to elsewhere
  await problem.marginals({ space: "values" });
  // @ts-expect-error neither a number nor "estimated"
  await problem.marginals({ variance: "known" });
  const code: ErrorCode = "rank-deficient";
  return errors[0]! + free.length + code.length + marginals.variance;
}

export function errors(thrown: unknown): ErrorCode | undefined {
  if (!(thrown instanceof LeastwiseError)) return undefined;
  const where: [string | undefined, number | undefined, number | undefined] = [thrown.term, thrown.instance, thrown.slot];
  // @ts-expect-error no such code
  if (thrown.code === "bussy") return undefined;
  return where.length === 3 && thrown.code === "busy" ? "busy" : thrown.code;
}

export function types(lw: Engine, idx: Uint32Array, floats: F32, doubles: F64, bytes: Uint16Array) {
  const p = lw.problem();
  const s = p.variables("s", { shape: 1, values: floats }), v2 = p.variables("v2", { shape: 2, values: floats });
  const v3 = p.variables("v3", { shape: 3, values: floats }), v4 = p.variables("v4", { shape: 4, values: doubles }), v7 = p.variables("v7", { shape: 7, values: [1, 2, 3, 4, 5, 6, 7] });
  const k3 = p.constants("k3", { shape: 3, values: floats });
  is<Same<typeof v3, Variables<Vec3>>>(); is<Same<typeof k3, Constants<Vec3>>>();
  const term = p.residuals("t", { over: idx, of: [s, v2, v3, v4, v7, k3.at(0), v3.at(idx)],
    data: { rest: floats, gain: 2, up: [0, 1, 0], normal: column(floats, 3), tint: column([1, 2], 2) } },
    ([a, b, c, d, e, f, g], data) => {
      is<Same<typeof a, Scalar>>(); is<Same<typeof b, Vec2>>(); is<Same<typeof c, Vec3>>(); is<Same<typeof d, Vec4>>();
      is<Same<typeof e, Vec<7>>>(); is<Same<typeof f, Vec3>>(); is<Same<typeof g, Vec3>>();
      is<Same<typeof data.rest, Scalar>>(); is<Same<typeof data.gain, Scalar>>(); is<Same<typeof data.up, Vec3>>();
      is<Same<typeof data.normal, Vec3>>(); is<Same<typeof data.tint, Vec2>>();
      const scaled = c.mul(a), masked = c.mul(c), length = c.norm(), third = e.at(2), plane = c.xy, area = b.cross(b), up = c.cross(data.up);
      is<Same<typeof scaled, Vec3>>(); is<Same<typeof masked, Vec3>>(); is<Same<typeof length, Scalar>>(); is<Same<typeof third, Scalar>>();
      is<Same<typeof plane, Vec2>>(); is<Same<typeof area, Scalar>>(); is<Same<typeof up, Vec3>>();
      const two = vec(1, a), three = vec(a, 1, 2), four = vec(a, a, a, 1), rows = mat3(c, c, c), turned = rows.mul(c);
      is<Same<typeof two, Vec2>>(); is<Same<typeof three, Vec3>>(); is<Same<typeof four, Vec4>>(); is<Same<typeof rows, Mat3>>(); is<Same<typeof turned, Vec3>>();
      const all = sum([c, up]), total = sum([a, third]), when = a.gt(0).and(a.le(b.x).not()).or(a.lt(2)), either = select(when, c, up), number = select(a.ge(1), a, 0), other = select(a.ge(1), 0, a);
      is<Same<typeof all, Vec3>>(); is<Same<typeof total, Scalar>>(); is<Same<typeof when, Bool>>(); is<Same<typeof either, Vec3>>(); is<Same<typeof number, Scalar>>(); is<Same<typeof other, Scalar>>();
      const wave = sin(a).add(cos(1)).mul(sqrt(a.square())).div(2).neg();
      is<Same<typeof wave, Scalar>>();
      // @ts-expect-error a misspelt data column
      data.weihgt;
      // @ts-expect-error vector + scalar
      c.add(a);
      // @ts-expect-error scalar − vector
      a.sub(c);
      // @ts-expect-error 3-vector with 2-vector
      c.dot(b);
      // @ts-expect-error 7-vector with 3-vector
      e.add(c);
      // @ts-expect-error no z on a 2-vector
      b.z;
      // @ts-expect-error JavaScript operators do not trace
      a * 2;
      // @ts-expect-error nor does Math
      Math.sin(a);
      // @ts-expect-error a number has no place for a vector
      sin(c);
      // @ts-expect-error a select with branches of different kinds
      select(a.gt(0), c, a);
      // @ts-expect-error a condition is an expression
      select(true, a, a);
      // @ts-expect-error nor is a condition a number
      a.add(when);
      // @ts-expect-error a matrix of three rows
      mat3(c, c);
      // @ts-expect-error expressions are immutable
      c.length = 3;
      return [c.norm().sub(data.rest), b.mul(data.gain)];
    });
  is<Same<typeof term.count, number>>();
  // @ts-expect-error not numbers
  p.variables("map", { shape: 3, values: new Map() });
  // @ts-expect-error no shape
  p.variables("none", { values: floats });
  const list: number[] = [...floats];
  // @ts-expect-error a plain array is a shared vector, never a column: scalar − vector
  p.residuals("list", { over: idx, of: [v3, v3], data: { rest: list } }, ([a, b], { rest }) => a.sub(b).norm().sub(rest));
  // @ts-expect-error one scalar and one vector variable
  p.residuals("kinds", { over: idx, of: [v3, s] }, ([a, b]) => a.sub(b));
  term.set({ rest: floats, gain: 3, up: [1, 0, 0], normal: floats, tint: column(floats, 2), weight: 2 });
  term.set({ rest: doubles, weight: floats });
  void term.evaluate({ hessian: "psd" }).then(({ hessian, jacobian }) => [is<Same<typeof hessian, F64>>(), is<Same<typeof jacobian, F64>>()]);
  // @ts-expect-error only when it is asked for
  void term.evaluate().then(({ hessian }) => hessian);
  // @ts-expect-error no such form
  void term.evaluate({ hessian: "gauss" });
  // @ts-expect-error a Hessian has a form
  void term.evaluate({ hessian: true });
  // @ts-expect-error no such column
  term.set({ retsu: floats });
  // @ts-expect-error a shared number cannot become a column (it would be another kernel)
  term.set({ gain: floats });
  // @ts-expect-error nor a column a shared number
  term.set({ rest: 1 });
  // @ts-expect-error nor a column of two one of three
  term.set({ tint: column(floats, 3) });
  // @ts-expect-error a residual must return an expression
  p.residuals("void", { of: [v3] }, ([a]) => { a.norm(); });
  // @ts-expect-error a plain number is not a residual
  p.residuals("number", { of: [v3] }, () => 0);
  // @ts-expect-error a condition is not a residual
  p.residuals("bool", { of: [v3] }, ([a]) => a.x.gt(0));
  // @ts-expect-error a residual function is synchronous
  p.residuals("async", { of: [v3] }, async ([a]) => a);
  // @ts-expect-error only two slots
  p.residuals("slots", { of: [v3, v3] }, ([a, b, c]) => a.sub(b).sub(c));
  // @ts-expect-error numbers are no slots
  p.residuals("numbers", { of: [[1, 2, 3]] }, ([a]) => a);
  // @ts-expect-error an asynchronous scope would free at the wrong time
  lw.scope(async () => 1);
  const scoped = lw.scope(() => lw.problem());
  is<Same<typeof scoped, typeof p>>();
  // @ts-expect-error no such backend
  void init({ backend: "metal" });
  void init({ backend: "cuda", precision: "f32", cudaDevice: 1 });
  void init({ backend: "cuda", world: { rank: 0, size: 2, id: new Uint8Array(128) } });
  void init({ backend: "cuda", devices: [0, 1] });
  void init({ backend: "cuda", devices: [0, 1], timeoutMs: 5000 });
  // @ts-expect-error milliseconds are a number
  void init({ backend: "cuda", devices: [0, 1], timeoutMs: "5 s" });
  // @ts-expect-error GPUs are named by their indices
  void init({ backend: "cuda", devices: ["0"] });
  // @ts-expect-error a world needs an id
  void init({ backend: "cuda", world: { rank: 0, size: 2 } });
  is<Same<typeof lw.backend, "webgpu" | "cuda" | "cpu">>();
  // @ts-expect-error a GPU is named by its index
  void init({ backend: "cuda", cudaDevice: "NVIDIA" });
  // @ts-expect-error no such method
  void p.solve({ method: "newtons" });
  // @ts-expect-error a misspelt option
  void p.solve({ maxIteration: 3 });
  // @ts-expect-error only "stop" stops
  void p.solve({ onIteration: () => "halt" });
  p.residuals("u16", { over: bytes, of: { a: v3, b: v3 } }, ({ a, b }) => a.sub(b));       // three's 16-bit index arrays, named slots
  const dim: number = floats[0]!; const any = p.variables("dynamic", { shape: dim, values: floats });
  p.residuals("dynamic", { of: [any, any.at(idx)] }, ([a, b]) => a.sub(b).norm());         // sizes known at run time only
  const { values, toWelded } = weld(floats);
  v3.write(values, { at: toWelded });
  edges(bytes, { map: toWelded });
  edges([0, 1, 2]);
}

export function sumsOverRows(lw: Engine, ring: { offsets: Uint32Array; indices: Uint32Array }, weights: F32): void {
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 3, values: positions });
  const u = problem.variables("u", { shape: 1, values: positions });
  const term = problem.residuals("anchor", { of: [x, x.each(ring), u.each(ring)], data: { w: perEntry(weights), strength: 0.5 } },
    ([c, around, others], { w, strength }) => {
      is<Same<typeof c, Vec3>>(); is<Same<typeof around, Each<Vec3>>>(); is<Same<typeof others, Each<Scalar>>>();
      is<Same<typeof w, Each<Scalar>>>(); is<Same<typeof strength, Scalar>>();
      const pull = sumOver(around, { w, u: others }, (q, { w, u }) => { is<Same<typeof q, Vec3>>(); is<Same<typeof w, Scalar>>(); return q.sub(c).mul(w).mul(u); });
      const total = sumOver(w, (each) => each), size = sumOver(around, () => 1), turned = sumOver(around, (q) => mat3(q, q, q));
      is<Same<typeof pull, Vec3>>(); is<Same<typeof total, Scalar>>(); is<Same<typeof size, Scalar>>(); is<Same<typeof turned, Mat3>>();
      // @ts-expect-error an entry has no place outside of a sum
      c.sub(around);
      // @ts-expect-error nor are there so many that they could be listed
      around.length;
      // @ts-expect-error the row's own slots need not be named
      sumOver(around, { c }, (q) => q);
      // @ts-expect-error a sum of conditions
      sumOver(around, (q) => q.x.gt(0));
      return pull.mul(strength).div(total.add(size)).add(turned.mul(c));
    });
  term.set({ w: weights, strength: 2 });
  term.set({ w: perEntry(weights) });
  problem.residuals("named", { of: { c: x, around: x.each(ring) }, data: { w: perEntry(weights) } },
    ({ c, around }, { w }) => { is<Same<typeof w, Each<Scalar>>>(); return sumOver(around, { w }, (q, { w }) => q.sub(c).norm().mul(w)); });
  problem.residuals("traced", { of: [x, x.rows(ring)], data: { w: perEntry(weights) } },
    ([c, around], { w }) => { is<Same<typeof w, readonly Scalar[]>>(); is<Same<typeof around, readonly Vec3[]>>(); return sum(around).sub(c).mul(sum(w)); });
}

export async function rowsAndNames(lw: Engine, mesh: { positions: number[][]; cells: [number, number, number][] }): Promise<void> {
  const problem = lw.problem();
  // Nested rows, as JSON and meshes on npm have them.
  const x = problem.variables("x", { shape: 3, values: mesh.positions });
  problem.residuals("edge", { over: edges(mesh.cells), of: [x, x], data: { rest: column(mesh.positions, 3) } }, ([a, b], { rest }) => { is<Same<typeof rest, Vec3>>(); return a.sub(b).sub(rest); });
  problem.residuals("corner", { over: mesh.cells, of: [x, x, x] }, ([a, b]) => a.sub(b));
  x.write(mesh.positions, { at: [0] });
  weld(mesh.positions);
  // @ts-expect-error text is no number
  problem.variables("t", { shape: 1, values: [["1"]] });
  // @ts-expect-error slots are listed, or named
  problem.residuals("of", { of: x }, ([a]) => a);
  // @ts-expect-error a misspelt option
  problem.variables("v", { shape: 1, values: [1], cuont: 1 });
  // @ts-expect-error constants have no count
  problem.constants("c", { shape: 1, values: [1], count: 1 });
  // @ts-expect-error a misspelt option
  problem.residuals("w", { of: [x], wieght: 2 }, ([a]) => a);
  // @ts-expect-error a misspelt name of data
  problem.residuals("d", { of: [x], data: { target: 1 } }, ([a], { tagret }) => a.mul(tagret));
  // @ts-expect-error a misspelt name of a slot
  problem.residuals("s", { of: { from: x } }, ({ form }) => form);
  // @ts-expect-error a misspelt option
  x.write([1, 2, 3], { att: [0] });
  // @ts-expect-error a misspelt option
  problem.solver().advance({ iteration: 5 });
  // @ts-expect-error a misspelt option
  void init({ backned: "cpu" });
  // @ts-expect-error a misspelt limit
  void init({ limits: { bindingByte: 65536 } });
  // @ts-expect-error a misspelt option
  lw.zeros([2], { dtpye: "f64" });
  // @ts-expect-error work is a function
  lw.scope(5);
  // @ts-expect-error only typed arrays of floats are read into
  await x.read([1, 2, 3]);
  const codes: readonly ErrorCode[] = ["load", "device-error", "engine-dead"];
  void codes;
}

export function timeStepping(lw: Engine) {
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 3, values: positions }), flat = problem.constants("flat", { shape: 2, values: [0, 0] });
  const last = problem.constants("last", { shape: 3, values: positions }), ahead = problem.constants("ahead", { shape: 3, values: positions });
  problem.residuals("springs", { over: edges(triangles), of: [x, x], curvature: "full" }, ([a, b]) => a.sub(b).norm().sub(1));
  problem.residuals("inertia", { of: [x, ahead], curvature: "gauss-newton" }, ([x, ahead]) => x.sub(ahead));
  // @ts-expect-error there is no such curvature
  problem.residuals("other", { of: [x], curvature: "half" }, ([p]) => p);
  // @ts-expect-error an energy has its Hessian always
  problem.energy("energy", { of: [x], curvature: "full" }, ([p]) => p.normSq());
  // @ts-expect-error a constraint has its exact Hessian always
  problem.constrain("floor", { of: [x], to: ">=0", curvature: "full" }, ([p]) => p.y);
  ahead.copyFrom([[2, x], [-1, last]]);
  last.copyFrom(x);
  x.copyFrom(ahead);
  // @ts-expect-error a table of another shape
  x.copyFrom(flat);
  // @ts-expect-error a factor without its table
  x.copyFrom([[2]]);
  const solver = problem.solver({ method: "newton" });
  solver.reset();
}

export async function sketches(lw: Engine) {
  const s: Sketch = sketch(lw), a = s.point(0, 0), b = s.point(1, 0), arc = s.arc(a, b, s.point(0, 1)), spline = s.spline([a, b, a, b], { construction: true });
  const { degreesOfFreedom, partly, counts } = await s.solve(), placed = await s.solve({ diagnose: false });
  is<Same<typeof degreesOfFreedom, number>>(); is<Same<typeof placed, SketchPlacement>>();
  // @ts-expect-error nothing was diagnosed
  console.log(placed.degreesOfFreedom, partly, counts.steps);
  // @ts-expect-error points are moved by move and drag
  a.x = 7;
  // @ts-expect-error a spline has no radius
  s.radius(spline, 2);
  s.tangent(arc, s.circle(a, 2));
  const { points } = sketchFromJSON(lw, s.toJSON());
  return points[0]!.x + s.addSVG("M0 0H1").lines.length;
}
