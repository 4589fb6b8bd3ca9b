// Problems of many kinds, as plain descriptions from which any engine can make them. A model says which tables and terms there are;
// a definition is all that can be edited of one: values, data, weights, losses, what is fixed, bounded and disabled.
import { abs, barron, cauchy, column, cos, exp, gemanMcClure, huber, log, manifold, rotateXYZ, scaled, sin, softL1, sqrt, sumOver, tukey, vec } from "leastwise";
import { formOf, instances, weights } from "./values.mjs";

const chain = (n) => Uint32Array.from({ length: 2 * (n - 1) }, (_, k) => (k >> 1) + (k & 1));
const bothWays = (n) => Uint32Array.from({ length: 4 * (n - 1) }, (_, k) => (k >> 2) + [0, 1, 1, 0][k & 3]);
const zeros = (n) => new Uint32Array(n);
/** Each instance's neighbours in a band; the last has one. */
const neighbours = (n) => {
  const rows = Array.from({ length: n }, (_, i) => [i - 1, i + 1, i + 5].filter((j) => j >= 0 && j < n));
  const offsets = new Uint32Array(n + 1);
  rows.forEach((row, i) => { offsets[i + 1] = offsets[i] + row.length; });
  return { offsets, indices: Uint32Array.from(rows.flat()) };
};
const positive = manifold({ ambient: 1, tangent: 1, retract: (x, d) => x.mul(exp(d)) });

/** Losses by name, with their parameters. */
export const LOSSES = { huber, softL1, cauchy, tukey, gemanMcClure, barron, scaledHuber: (factor, delta) => scaled(huber(delta), factor) };
export const LOSS_NAMES = Object.keys(LOSSES);
export const parametersOf = (name, random) => (name === "barron" ? [[-2, 0, 1, 2][random.below(4)], random.between(0.3, 2)] : name === "scaledHuber" ? [random.between(0.5, 2), random.between(0.3, 2)] : [random.between(0.3, 3)]);

/** A term: how many instances, its columns (of so many scalars each), and how it is made with what is common to all terms. */
const residual = (instances, columns, make, more = {}) => ({ kind: "residual", instances, columns, make, ...more });
const toTarget = (table, width) => residual((n) => n, { target: width }, (problem, name, T, given) => problem.residuals(name, { ...given, of: [T[table]] }, ([a], { target }) => a.sub(target)));

/** Models by name. `tables`: form, number of instances, scale of values; a `constant` is never solved for. */
const MODELS = {
  line: () => ({
    tables: { x: { form: 1 } },
    terms: {
      smooth: residual((n) => n - 1, {}, (problem, name, T, given, n) => problem.residuals(name, { ...given, over: chain(n), of: [T.x, T.x] }, ([a, b]) => a.sub(b))),
      data: toTarget("x", 1),
    },
  }),
  grid: () => ({
    tables: { x: { form: 3 } },
    terms: {
      smooth: residual((n) => n - 1, {}, (problem, name, T, given, n) => problem.residuals(name, { ...given, over: chain(n), of: [T.x, T.x] }, ([a, b]) => a.sub(b))),
      data: toTarget("x", 3),
    },
  }),
  fit: () => ({
    tables: { p: { form: 3, count: () => 1, scale: 0.3 } },
    terms: {
      curve: residual((n) => n, { t: 1, y: 1 }, (problem, name, T, given, n) => problem.residuals(name, { ...given, over: n, of: [T.p.at(zeros(n))] }, ([p], { t, y }) => p.x.mul(exp(p.y.mul(sin(t)))).add(p.z).sub(y))),
      prior: residual(() => 1, {}, (problem, name, T, given) => problem.residuals(name, { ...given, of: [T.p] }, ([p]) => p)),
    },
  }),
  pixels: () => ({
    tables: { g: { form: 5, scale: 0.5 } },
    terms: {
      pixel: residual((n) => 6 * n, { at: 2, seen: 1 }, (problem, name, T, given, n) => problem.residuals(name, { ...given, of: [T.g.at(Uint32Array.from({ length: 6 * n }, (_, k) => Math.floor(k / 6)))] }, ([g], { at, seen }) => {
        const square = at.x.sub(g.at(1)).square().add(at.y.sub(g.at(2)).square());
        return g.at(0).mul(exp(square.div(g.at(3).square().add(0.5)).neg())).add(g.at(4)).sub(seen);
      })),
      near: residual((n) => n, {}, (problem, name, T, given) => problem.residuals(name, { ...given, of: [T.g] }, ([g]) => g.mul(0.1))),
    },
  }),
  arap: () => ({
    tables: { x: { form: 3 }, turn: { form: 3, scale: 0.01 }, rest: { form: 3, constant: true } },
    terms: {
      rigid: residual((n) => 2 * (n - 1), {}, (problem, name, T, given, n) => problem.residuals(name, { ...given, over: bothWays(n), of: [T.x, T.x, T.turn.at(0), T.rest.at(0), T.rest.at(1)] },
        ([a, b, w, a0, b0]) => a.sub(b).sub(rotateXYZ(w, a0.sub(b0))))),
      hold: toTarget("x", 3),
    },
  }),
  springs: () => ({
    tables: { x: { form: 2, scale: 3 } },
    terms: {
      spring: { kind: "energy", instances: (n) => n - 1, columns: {}, make: (problem, name, T, given, n) => problem.energy(name, { ...given, over: chain(n), of: [T.x, T.x] }, ([a, b]) => {
        const d = a.sub(b);
        return sqrt(d.dot(d).add(0.01)).sub(1).square();
      }) },
      anchor: toTarget("x", 2),
    },
  }),
  barrier: () => ({
    tables: { s: { form: 1, scale: 0 } },
    terms: {
      // Defined for s > −1 only: steps that lead elsewhere are rejected.
      barrier: { kind: "energy", instances: (n) => n, columns: {}, make: (problem, name, T, given) => problem.energy(name, { ...given, of: [T.s] }, ([s]) => log(s.add(1)).neg().mul(0.1)) },
      data: toTarget("s", 1),
    },
    mayLeave: true,
  }),
  disk: () => ({
    tables: { x: { form: 2 } },
    terms: {
      data: toTarget("x", 2),
      inside: { kind: "constraint", instances: (n) => n, columns: {}, make: (problem, name, T, given) => problem.constrain(name, { ...given, of: [T.x], to: "<=0" }, ([p]) => p.dot(p).sub(1)) },
      level: { kind: "constraint", instances: () => 1, columns: {}, make: (problem, name, T, given) => problem.constrain(name, { ...given, of: [T.x.at([0])], to: "=0" }, ([p]) => p.x.sub(p.y)) },
    },
    mostInstances: 60,
  }),
  rotations: () => ({
    tables: { q: { form: "quaternion" } },
    terms: {
      seen: residual((n) => n, { a: 3, b: 3 }, (problem, name, T, given) => problem.residuals(name, { ...given, of: [T.q] }, ([q], { a, b }) => q.rotate(a).sub(b))),
      smooth: residual((n) => n - 1, {}, (problem, name, T, given, n) => problem.residuals(name, { ...given, over: chain(n), of: [T.q, T.q] }, ([a, b]) => a.conjugate().mul(b).toAngleAxis())),
    },
  }),
  poses: () => ({
    tables: { pose: { form: "se3" } },
    terms: {
      motion: residual((n) => n - 1, { m: 3 }, (problem, name, T, given, n) => problem.residuals(name, { ...given, over: chain(n), of: [T.pose, T.pose] }, ([a, b], { m }) => {
        const back = a.q.conjugate();
        return [back.mul(b.q).toAngleAxis(), back.rotate(b.t.sub(a.t)).sub(m)];
      })),
      first: residual(() => 1, {}, (problem, name, T, given) => problem.residuals(name, { ...given, of: [T.pose.at([0])] }, ([p]) => p.t)),
    },
  }),
  records: () => ({
    tables: { camera: { form: "pose", count: (n) => Math.min(n, 4) }, point: { form: 3 } },
    terms: {
      view: residual((n) => n, { seen: 3 }, (problem, name, T, given, n) => problem.residuals(name, { ...given, of: { cam: T.camera.at(Uint32Array.from({ length: n }, (_, k) => k % Math.min(n, 4))), X: T.point.at(Uint32Array.from({ length: n }, (_, k) => k)) } },
        ({ cam, X }, { seen }) => cam.q.rotate(X).add(cam.t).sub(seen))),
      prior: residual((n) => n, {}, (problem, name, T, given) => problem.residuals(name, { ...given, of: [T.point] }, ([X]) => X.mul(0.1))),
    },
  }),
  directions: () => ({
    tables: { x: { form: "direction" } },
    terms: {
      edges: residual((n) => n - 1, {}, (problem, name, T, given, n) => problem.residuals(name, { ...given, over: chain(n), of: [T.x, T.x] }, ([a, b]) => a.sub(b))),
      data: toTarget("x", 3),
    },
  }),
  planar: () => ({
    tables: { place: { form: "se2" }, turn: { form: "so2" }, shape: { form: "subset" } },
    terms: {
      seen: residual((n) => n, { a: 2, b: 2 }, (problem, name, T, given) => problem.residuals(name, { ...given, of: [T.place, T.turn] }, ([p, r], { a, b }) => p.transform(r.rotate(a)).sub(b))),
      shape: toTarget("shape", 3),
    },
  }),
  rows: () => ({
    tables: { x: { form: 1 } },
    terms: {
      laplace: residual((n) => n, {}, (problem, name, T, given, n) => problem.residuals(name, { ...given, of: [T.x, T.x.rows(neighbours(n))] }, ([a, row]) => row.reduce((sum, b) => sum.sub(b.mul(0.3)), a))),
      data: toTarget("x", 1),
    },
  }),
  sums: () => ({
    tables: { x: { form: 2 } },
    terms: {
      laplace: residual((n) => n, {}, (problem, name, T, given, n) => problem.residuals(name, { ...given, of: [T.x, T.x.each(neighbours(n))] }, ([a, row]) => a.sub(sumOver(row, (b) => b.mul(0.3))))),
      data: toTarget("x", 2),
    },
  }),
  bundle: () => ({
    tables: { camera: { form: 3, count: (n) => Math.min(n, 4), scale: 0.1 }, point: { form: 2 } },
    terms: {
      seen: residual((n) => n, { y: 2 }, (problem, name, T, given, n) => problem.residuals(name, { ...given, of: [T.camera.at(Uint32Array.from({ length: n }, (_, k) => k % Math.min(n, 4))), T.point.at(Uint32Array.from({ length: n }, (_, k) => k))] },
        ([c, p], { y }) => vec(cos(c.x).mul(p.x).sub(sin(c.x).mul(p.y)).add(c.y), sin(c.x).mul(p.x).add(cos(c.x).mul(p.y)).add(c.z)).sub(y))),
      prior: residual((n) => Math.min(n, 4), {}, (problem, name, T, given) => problem.residuals(name, { ...given, of: [T.camera] }, ([c]) => c)),
    },
  }),
  factors: () => ({
    tables: { f: { form: 1, shape: positive, values: (n) => new Float64Array(n).fill(1) } },
    terms: {
      data: residual((n) => n, { y: 1 }, (problem, name, T, given) => problem.residuals(name, { ...given, of: [T.f] }, ([f], { y }) => log(f).sub(y))),
      kink: residual((n) => n - 1, {}, (problem, name, T, given, n) => problem.residuals(name, { ...given, over: chain(n), of: [T.f, T.f] }, ([a, b]) => sqrt(abs(a.sub(b)).add(0.1)))),
    },
  }),
};

export const MODEL_NAMES = Object.keys(MODELS);

/** What there is of a model with `n` instances: tables and terms with their sizes. */
export function modelOf(name, n) {
  const { tables, terms, ...more } = MODELS[name]();
  return {
    name, n, ...more,
    tables: Object.fromEntries(Object.entries(tables).map(([table, { form, count = (all) => all, shape, values, scale = 1, constant = false }]) => {
      const { width, isPlain, shape: own } = formOf(form);
      return [table, { form, width, isPlain: isPlain && !shape, shape: shape ?? own, count: count(n), scale, constant, values }];
    })),
    terms: Object.fromEntries(Object.entries(terms).map(([term, { instances: of, ...rest }]) => [term, { ...rest, count: of(n) }])),
  };
}

/** A definition: `losses` by term as [name, ...parameters]. */
export function definitionOf({ model: name, n, seed, losses = {}, each = [] }) {
  const model = modelOf(name, n);
  const tables = Object.fromEntries(Object.entries(model.tables).map(([table, { form, count, scale, values }], k) => [table, values ? values(count) : instances(seed + k, form, count, scale)]));
  const columns = Object.fromEntries(Object.entries(model.terms).map(([term, of], k) => [term, Object.fromEntries(Object.entries(of.columns).map(([column, width], j) => [column, instances(seed + 100 * (k + 1) + j, width, of.count)]))]));
  const weight = Object.fromEntries(Object.entries(model.terms).map(([term, { count }], k) => [term, each.includes(term) ? weights(seed + 50 + k, count) : 1]));
  return { model: name, n, tables, columns, weights: weight, losses, order: Object.keys(model.terms), fixed: {}, bounds: {}, disabled: [] };
}

/** The problem of a definition on an engine. */
export function build(lw, definition) {
  const model = modelOf(definition.model, definition.n);
  const problem = lw.problem();
  try {
    const tables = {};
    for (const [name, { shape, constant }] of Object.entries(model.tables)) {
      tables[name] = problem[constant ? "constants" : "variables"](name, { shape, values: definition.tables[name] });
    }
    const made = { lw, model, problem, tables, terms: {} };
    for (const name of definition.order) addTerm(made, definition, name);
    for (const [name, marks] of Object.entries(definition.fixed)) fixAll(tables[name], model.tables[name], marks);
    for (const [name, limits] of Object.entries(definition.bounds)) tables[name].bound(limits);
    return made;
  } catch (thrown) {
    problem.dispose();
    throw thrown;
  }
}

/** One of the definition's terms, as it is now. */
export function addTerm({ model, problem, tables, terms }, definition, name) {
  const { columns, make, kind } = model.terms[name];
  const data = Object.fromEntries(Object.entries(columns).map(([key, width]) => [key, width === 1 ? definition.columns[name][key] : column(definition.columns[name][key], width)]));
  const loss = definition.losses[name];
  const given = { data, weight: definition.weights[name], ...(loss && kind === "residual" && { loss: lossOf(loss) }) };
  terms[name] = make(problem, name, tables, given, model.n);
  if (definition.disabled.includes(name)) terms[name].enabled = false;
}

export const lossOf = ([name, ...parameters]) => LOSSES[name](...parameters);

/** Fixes by marks, one for each scalar. */
function fixAll(table, { width }, marks) {
  const whole = [], parts = new Map();
  for (let i = 0; i < table.count; i++) {
    const components = Array.from({ length: width }, (_, k) => k).filter((k) => marks[i * width + k]);
    if (components.length === width) whole.push(i);
    else if (components.length) parts.set(String(components), [...(parts.get(String(components)) ?? []), i]);
  }
  if (whole.length) table.fix(whole);
  for (const [components, which] of parts) table.fix(which, components.split(",").map(Number));
}
