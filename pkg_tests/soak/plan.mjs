// Plans: what a session does, made up front from a seed, as JSON. Actions name what they are about, so that any of them can be left out.
import { Random } from "../problems/random.mjs";
import { JUNK_NAMES } from "./junk.mjs";
import { CALL_NAMES } from "./misuse-lane.mjs";
import { LOSS_NAMES, MODEL_NAMES, modelOf, parametersOf } from "./models.mjs";
import { tensorActions } from "./tensor-plan.mjs";

/** Draws; `seed` is for arrays. */
class Draw extends Random {
  pick(list) { return list[this.below(list.length)]; }
  chance(share) { return this.between(0, 1) < share; }
  get seed() { return this.below(1e9); }
}

/** How large things are: on a GPU's simulation in software, a thousandth of the work takes as long. */
const SIZES = {
  full: { instances: [2, 3, 8, 20, 60, 300, 700], actions: [3, 14], lanes: 4, verify: 0.5, vectors: 400, iterations: [0, 1, 3, 10, 40] },
  small: { instances: [2, 8, 20], actions: [2, 6], lanes: 2, verify: 0.4, vectors: 60, iterations: [1, 3] },
};

/** Kinds of lanes by how often they are drawn. */
const KINDS = { problem: 6, tensor: 2, cluster: 1, index: 2, misuse: 2, engine: 1 };

/** The plan of a seed. `only`: kinds of lanes; `size`: `"full"` or `"small"`. */
export function planOf(seed, { backend, size = "full", only }) {
  const draw = new Draw(seed), sizes = SIZES[size];
  const engines = Array.from({ length: 1 + draw.below(3) }, () => engineOptions(draw, backend));
  const kinds = Object.entries(KINDS).filter(([kind]) => !only || only.includes(kind)).flatMap(([kind, weight]) => Array(weight).fill(kind));
  const lanes = Array.from({ length: 1 + draw.below(sizes.lanes) }, () => laneOf(draw.pick(kinds), draw, { sizes, engines, backend }));
  if (draw.chance(0.15) && (!only || only.includes("engine"))) lanes.push({ kind: "engine", engine: draw.below(engines.length), actions: [{ do: "pause", turns: draw.below(60) }, { do: "end" }] });
  return { seed, backend, engines, lanes };
}

function engineOptions(draw, backend) {
  const precisions = { cpu: ["f64", "f64", "f32"], threads: ["f64", "f64", "f32"], cuda: ["f64", "f64", "f32"], webgpu: [undefined, undefined, "f32", "f32x2", "mixed"] }[backend];
  const precision = draw.pick(precisions);
  const tuning = draw.chance(0.2) ? { products: { "*": draw.pick(["two-pass", "recompute", "owner-computes", "owner-recomputes"]) } } : undefined;
  return { ...(precision && { precision }), ...(tuning && { tuning }), ...(backend === "threads" && { threads: 2 + draw.below(3) }) };
}

function laneOf(kind, draw, context) {
  const engine = draw.below(context.engines.length), [least, most] = context.sizes.actions;
  const count = least + draw.below(most - least + 1);
  return { kind, engine, ...LANES[kind](draw, count, context) };
}

const LANES = {
  problem: (draw, count, context) => {
    const name = draw.pick(MODEL_NAMES), { mostInstances = Infinity } = modelOf(name, 2);
    const n = Math.min(draw.pick(context.sizes.instances), mostInstances), model = modelOf(name, n);
    const terms = Object.keys(model.terms);
    const losses = Object.fromEntries(terms.filter((term) => model.terms[term].kind === "residual" && draw.chance(0.25)).map((term) => {
      const loss = draw.pick(LOSS_NAMES);
      return [term, [loss, ...parametersOf(loss, draw)]];
    }));
    const make = { model: name, n, seed: draw.seed, losses, each: terms.filter(() => draw.chance(0.3)) };
    return { make, actions: Array.from({ length: count }, () => problemAction(draw, model, losses, context)) };
  },
  tensor: (draw, count) => ({ actions: tensorActions(draw, 3 * count) }),
  cluster: (draw, count, { sizes }) => ({ actions: Array.from({ length: 1 + (count >> 2) }, () => clusterAction(draw, sizes)) }),
  index: (draw, count, { sizes, engines }) => ({
    make: { dim: 1 + draw.below(12), count: 8 + draw.below(sizes.vectors), seed: draw.seed, options: indexOptions(draw), ...(draw.chance(0.1) && { end: { by: "abort", turns: draw.below(6) } }), verify: draw.chance(sizes.verify) },
    actions: Array.from({ length: count }, () => indexAction(draw, engines)),
  }),
  misuse: (draw, count) => ({ actions: Array.from({ length: 2 * count }, () => ({ call: draw.pick(CALL_NAMES), args: [draw.pick(JUNK_NAMES), draw.pick(JUNK_NAMES), draw.pick(JUNK_NAMES)] })) }),
  engine: (draw, count, { backend }) => ({ actions: Array.from({ length: 2 + (count >> 1) }, () => draw.pick([
    () => ({ do: "pause", turns: draw.below(20) }), () => ({ do: "trim" }), () => ({ do: "ask" }), () => ({ do: "open", options: engineOptions(draw, backend) }),
  ])()) }),
};

/** How something is ended before its time. */
function end(draw) {
  return draw.pick([
    () => ({ by: "aborted before" }), () => ({ by: "abort", turns: draw.below(12) }), () => ({ by: "abort", ms: draw.below(12) }), () => ({ by: "limit", ms: draw.pick([0, 1, 5, 50]) }),
    () => ({ by: "stop", iteration: draw.below(4) }), () => ({ by: "stop", iteration: draw.below(4) }), () => ({ by: "throw", iteration: draw.below(4) }),
  ])();
}

function solveOptions(draw, model, sizes) {
  const kinds = Object.values(model.terms).map(({ kind }) => kind), isConstrained = kinds.includes("constraint");
  const method = draw.chance(0.5) ? draw.pick(["lm", "gauss-newton", "newton", "dogleg", ...(isConstrained ? [] : ["lbfgs", "nonlinear-cg", "gradient-descent", "adam"])]) : undefined;
  const hasSystem = !["lbfgs", "nonlinear-cg", "gradient-descent", "adam"].includes(method);
  const linear = hasSystem && draw.chance(0.5) ? draw.pick(["auto", ...(model.n <= 60 ? ["dense", "dense"] : []), "sparse-cholesky", "pcg", "assembled-pcg", "schur", "schur-pcg"]) : undefined;
  const preconditioner = hasSystem && !linear && draw.chance(0.3) ? draw.pick(["auto", "block-jacobi", "two-level", "frozen-factor"]) : undefined;
  const moving = Object.keys(model.tables).filter((name) => !model.tables[name].constant);
  return {
    ...(method && { method }), ...(linear && { linear }), ...(preconditioner && { preconditioner }),
    ...(method === "dogleg" && draw.chance(0.5) && { dogleg: "subspace" }),
    ...(linear?.startsWith("schur") && draw.chance(0.5) && { eliminate: [draw.pick(moving)] }),
    ...(method === "lbfgs" && draw.chance(0.5) && { memory: 1 + draw.below(20) }),
    ...(draw.chance(0.1) && hasSystem && { nonmonotone: 3 }), ...(draw.chance(0.1) && hasSystem && { forcing: draw.pick([0.5, 0.01]) }),
    ...((draw.chance(0.6) || !hasSystem || isConstrained) && { maxIterations: draw.pick(sizes.iterations) }),
  };
}

function editAction(draw, model, losses) {
  const table = draw.pick(Object.keys(model.tables)), term = draw.pick(Object.keys(model.terms));
  const moving = draw.pick(Object.keys(model.tables).filter((name) => !model.tables[name].constant));
  const { isPlain, width, scale } = model.tables[moving], { columns } = model.terms[term];
  const lossy = Object.keys(losses);
  return draw.pick([
    () => ({ do: "write", table, seed: draw.seed, scale: model.tables[table].scale }), () => ({ do: "writeAt", table, seed: draw.seed, scale: model.tables[table].scale }),
    () => (Object.keys(columns).length ? { do: "data", term, column: draw.pick(Object.keys(columns)), seed: draw.seed } : { do: "weight", term, seed: draw.seed }), () => ({ do: "weight", term, seed: draw.seed }),
    () => (lossy.length ? ((name) => ({ do: "loss", term: name, parameters: parametersOf(losses[name][0], draw) }))(draw.pick(lossy)) : { do: "write", table, seed: draw.seed, scale }),
    () => ({ do: "fix", table: moving, seed: draw.seed, ...(isPlain && width > 1 && draw.chance(0.4) && { components: [draw.below(width)] }) }), () => ({ do: "free", table: moving, ...(draw.chance(0.5) && { seed: draw.seed }) }),
    () => (isPlain ? { do: "bound", table: moving, lower: draw.pick([null, -0.5, -2]), upper: draw.pick([null, 0.5, 3]) } : { do: "fix", table: moving, seed: draw.seed }),
    () => ({ do: "enable", term, on: draw.chance(0.6) }),
  ])();
}

function problemAction(draw, model, losses, { sizes, engines }) {
  const term = draw.pick(Object.keys(model.terms)), table = draw.pick(Object.keys(model.tables).filter((name) => !model.tables[name].constant));
  const options = () => solveOptions(draw, model, sizes), verify = draw.chance(sizes.verify);
  const solve = () => ({ do: "solve", options: options(), verify, ...(draw.chance(0.3) && { end: end(draw) }) });
  const edit = () => editAction(draw, model, losses);
  return draw.pick([
    edit, edit, edit, edit, edit, edit, solve, solve, solve, solve,
    () => ({ do: "solve", options: options(), edits: Array.from({ length: 1 + draw.below(3) }, () => ({ turns: draw.below(4), ...edit() })) }),
    () => ({ do: "solve", options: options(), rival: true }),
    () => ({ do: "remake", term }),
    () => ({ do: "ask", what: draw.pick(["cost", "worst", "evaluate", "checkGradients"]), term, verify }),
    () => ({ do: "ask", what: "hessian", form: draw.pick(["exact", "psd"]), term, verify }),
    () => ({ do: "ask", what: draw.pick(["covariance", "backward"]), table, seed: draw.seed, deficient: draw.pick(["error", "pseudo-inverse"]), verify: verify && model.n <= 60 }),
    () => ({ do: "starts", seeds: Array.from({ length: 1 + draw.below(2) }, () => draw.seed), options: { ...options(), maxIterations: 3 }, verify }),
    () => ({ do: "graduated", term, threshold: draw.between(0.2, 2), cost: draw.pick(["tls", "gm"]), options: { maxIterations: 5 }, verify }),
    () => ({ do: "step", options: solverOptions(options()) }), () => ({ do: "step", options: solverOptions(options()) }),
    () => ({ do: "advance", options: solverOptions(options()), iterations: draw.below(4), budgetMs: draw.below(10), report: draw.chance(0.5) }),
    () => ({ do: "solve with it", options: options() }), () => ({ do: "save", options: solverOptions(options()) }),
    () => ({ do: "restore", options: solverOptions(options()) }), () => ({ do: "restore", options: solverOptions(options()), damage: draw.seed }),
    () => ({ do: "hop", options: solverOptions(options()), engine: draw.below(engines.length), steps: 1 + draw.below(3) }), () => ({ do: "drop solver" }),
    () => ({ do: "remake problem", during: draw.chance(0.6), options: options(), turns: draw.below(6) }),
  ])();
}

/** A solver that steps by hand is not to be at its end after few of them. */
const solverOptions = ({ maxIterations: _, ...options }) => options;

function clusterAction(draw, sizes) {
  const method = draw.pick([undefined, "anneal", "lloyd", "vlc"]);
  return {
    seed: draw.seed, count: 1 + draw.below(sizes.vectors), dim: 1 + draw.below(8), verify: draw.chance(sizes.verify), ...(draw.chance(0.25) && { end: { by: "abort", turns: draw.below(10) } }),
    options: { clusters: 1 + draw.below(12), seed: draw.below(100), ...(method && { method }), ...(draw.chance(0.5) && { maxIterations: 1 + draw.below(40) }), ...(method === "lloyd" && draw.chance(0.3) && { mean: { trim: 0.1 } }) },
  };
}

function indexOptions(draw) {
  const code = draw.pick(["bits", "int8", "int4", "none", "f32", "f16", undefined]);
  const clusters = draw.chance(0.5) && { clusters: 1 + draw.below(10) }, isFlat = !clusters && (code === "f32" || code === "f16");
  return { seed: draw.below(100), ...(code && { code }), ...(code === "bits" && draw.chance(0.5) && { bits: 1 + draw.below(8) }), ...clusters, ...(!isFlat && draw.chance(0.2) && { method: draw.pick(["anneal", "vlc"]) }) };
}

function indexAction(draw, engines) {
  const search = () => ({ do: "search", seed: draw.seed, queries: 1 + draw.below(20), k: 1 + draw.below(8), ...(draw.chance(0.5) && { probes: 1 + draw.below(10) }), ...(draw.chance(0.3) && { filter: draw.below(10) }) });
  return draw.pick([
    search, search, search,
    () => ({ do: "add", seed: draw.seed, count: draw.below(20), ...(draw.chance(0.3) && { end: { by: "abort", turns: draw.below(4) } }) }), () => ({ do: "add twice", seed: draw.seed, count: 1 + draw.below(6) }),
    () => ({ do: "remove", seed: draw.seed, count: 1 + draw.below(6) }), () => ({ do: "reopen", seed: draw.seed, engine: draw.below(engines.length), ...(draw.chance(0.3) && { damage: draw.seed }) }),
    () => ({ do: "set", sketches: draw.chance(0.5), searching: draw.pick(["auto", "cpu", "device"]) }), () => ({ do: "evaluate", seed: draw.seed }),
    () => ({ do: "graph", degree: 4 + draw.below(20), effort: 1 + draw.below(60), ...(draw.chance(0.3) && { end: { by: "abort", turns: draw.below(4) } }) }), () => ({ do: "pause", turns: draw.below(5) }),
  ])();
}
