// Every function of scalars: values in every precision, derivatives, kinks, and where it is not defined.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  abs, acos, acosh, and, asin, asinh, atan, atan2, atanh, cbrt, ceil, clamp, cos, cosh, cube, erf, exp, exp2, expm1, floor, fract, gelu, hypot, leakyRelu, log, log10, log1p, log2, logsumexp, max, mean, min, mix, mod,
  not, or, pow, reciprocal, relu, round, rsqrt, select, sigmoid, sign, sin, sinh, smoothstep, softplus, sqrt, step, sum, tan, tanh, vec,
} from "leastwise";
import { evaluate, near, PRECISIONS, testAll } from "./functions.mjs";
import { closeTo, open, rejects } from "./support.mjs";

// All of them are exact in f32.
const at = (...points) => points.map((point) => [point].flat());
const ANY = at(-2.5, -0.75, 0.125, 1, 3.25);
const POSITIVE = at(0.125, 0.75, 1, 2.5, 100);

/** The error function by its Taylor series, good for small arguments. */
function plainErf(x) {
  let [term, total] = [x, x];
  for (let n = 1; n < 80; n++) {
    term *= (-x * x) / n;
    total += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * total;
}
const even = (x) => { const below = Math.floor(x); return x - below < 0.5 || (x - below === 0.5 && below % 2 === 0) ? below : below + 1; };
const plainMod = (a, b) => a - b * Math.floor(a / b);
const plainSigmoid = (x) => 1 / (1 + Math.exp(-x));

testAll(test, {
  reciprocal: { traced: reciprocal, plain: (x) => 1 / x, points: at(-4, -0.5, 0.25, 3) },
  cube: { traced: cube, plain: (x) => x ** 3, points: ANY },
  square: { traced: (x) => x.square(), plain: (x) => x * x, points: ANY },
  sqrt: { traced: sqrt, plain: Math.sqrt, points: [...POSITIVE, [0]], kinks: [[0]] },
  rsqrt: { traced: rsqrt, plain: (x) => 1 / Math.sqrt(x), points: POSITIVE },
  cbrt: { traced: cbrt, plain: Math.cbrt, points: [...ANY, [0], [-27]], kinks: [[0]] },
  "pow of whole numbers": { traced: (x) => [pow(x, 0), pow(x, 1), pow(x, 5), pow(x, -3), pow(x, 2)], plain: (x) => [1, x, x ** 5, x ** -3, x * x], points: at(-1.5, 0.5, 2) },
  "pow of a number": { traced: (x) => [pow(x, 2.5), pow(x, -0.5), pow(2, x), pow(0.5, 3)], plain: (x) => [x ** 2.5, x ** -0.5, 2 ** x, 0.125], points: at(0.25, 1, 3) },
  "pow of scalars": { of: [1, 1], traced: (x, y) => pow(x, y), plain: (x, y) => x ** y, points: at([2, 3], [0.5, -1.5], [3, 0], [0, 2]), kinks: [[0, 2]] },
  exp: { traced: exp, plain: Math.exp, points: ANY },
  exp2: { traced: exp2, plain: (x) => 2 ** x, points: ANY },
  expm1: { traced: (x) => expm1(x), plain: Math.expm1, points: [...ANY, [2 ** -20], [0]] },
  log: { traced: log, plain: Math.log, points: POSITIVE },
  log2: { traced: log2, plain: Math.log2, points: POSITIVE },
  log10: { traced: log10, plain: Math.log10, points: POSITIVE },
  log1p: { traced: log1p, plain: Math.log1p, points: [...POSITIVE, [-0.5], [2 ** -20], [0]] },
  sin: { traced: sin, plain: Math.sin, points: ANY },
  cos: { traced: cos, plain: Math.cos, points: ANY },
  tan: { traced: tan, plain: Math.tan, points: at(-1, 0, 0.5, 2.5) },
  asin: { traced: asin, plain: Math.asin, points: at(-1, -0.5, 0, 0.75, 1), kinks: at(-1, 1) },
  acos: { traced: acos, plain: Math.acos, points: at(-1, -0.5, 0, 0.75, 1), kinks: at(-1, 1) },
  atan: { traced: atan, plain: Math.atan, points: ANY },
  atan2: { of: [1, 1], traced: atan2, plain: Math.atan2, points: at([1, 2], [1, -2], [-1, -2], [-1, 2], [2, 0], [-2, 0], [0, 1], [0, 0]), kinks: [[0, 0]] },
  sinh: { traced: sinh, plain: Math.sinh, points: ANY },
  cosh: { traced: cosh, plain: Math.cosh, points: ANY },
  tanh: { traced: tanh, plain: Math.tanh, points: [...ANY, [30]] },
  asinh: { traced: asinh, plain: Math.asinh, points: ANY },
  acosh: { traced: acosh, plain: Math.acosh, points: at(1, 1.5, 20), kinks: [[1]] },
  atanh: { traced: atanh, plain: Math.atanh, points: at(-0.75, 0, 0.5) },
  erf: { traced: erf, plain: plainErf, points: at(-2, -0.5, 0, 0.125, 1, 2.5) },
  hypot: { of: [1, 1, 1], traced: hypot, plain: Math.hypot, points: at([3, 4, 12], [-1, 0, 0], [0.5, -0.25, 2]) },
  sigmoid: { traced: sigmoid, plain: plainSigmoid, points: [...ANY, [-50], [50]] },
  relu: { traced: relu, plain: (x) => Math.max(x, 0), points: ANY },
  leakyRelu: { traced: (x) => [leakyRelu(x), leakyRelu(x, 0.25)], plain: (x) => (x > 0 ? [x, x] : [0.01 * x, 0.25 * x]), points: ANY },
  "leakyRelu with a slope that moves": { of: [1, 1], traced: leakyRelu, plain: (x, slope) => (x > 0 ? x : slope * x), points: at([-2, 0.5], [3, 0.5]) },
  softplus: { traced: softplus, plain: (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))), points: [...ANY, [-50], [50]] },
  gelu: { traced: gelu, plain: (x) => (x * (1 + plainErf(x / Math.SQRT2))) / 2, points: ANY },
  abs: { traced: abs, plain: Math.abs, points: [...ANY, [0]], kinks: [[0]] },
  sign: { traced: sign, plain: Math.sign, points: [...ANY, [0]], kinks: [[0]] },
  floor: { traced: floor, plain: Math.floor, points: [...ANY, [2]], kinks: at(1, 2) },
  ceil: { traced: ceil, plain: Math.ceil, points: [...ANY, [2]], kinks: at(1, 2) },
  round: { traced: round, plain: even, points: [...ANY, [0.5], [1.5], [-0.5]], kinks: at(-2.5, 0.5, 1.5, -0.5) },
  fract: { traced: fract, plain: (x) => x - Math.floor(x), points: ANY, kinks: [[1]] },
  mod: { of: [1, 1], traced: mod, plain: plainMod, points: at([7, 3], [-7, 3], [7.5, -2], [-7.5, -2], [6, 3]), kinks: [[6, 3]] },
  min: { of: [1, 1, 1], traced: (x, y, z) => min(x, y, z, 3), plain: (x, y, z) => Math.min(x, y, z, 3), points: at([1, 2, 3], [2, -1, 5], [4, 5, 6], [2, 2.5, 1]) },
  max: { of: [1, 1, 1], traced: (x, y, z) => max(-3, x, y, z), plain: (x, y, z) => Math.max(x, y, z, -3), points: at([1, 2, 2.5], [2, -1, 5], [-4, -5, -6]) },
  clamp: { traced: (x) => clamp(x, -1, 2), plain: (x) => Math.min(Math.max(x, -1), 2), points: [...ANY, [2]], kinks: [[2]] },
  "clamp with bounds that move": { of: [1, 1, 1], traced: clamp, plain: (x, low, high) => Math.min(Math.max(x, low), high), points: at([0, 1, 2], [3, 1, 2], [1.5, 1, 2]) },
  mix: { of: [1, 1, 1], traced: mix, plain: (a, b, t) => a * (1 - t) + b * t, points: at([1, 3, 0.25], [1, 3, 0], [1, 3, 1], [-1, 2, 1.5]) },
  step: { of: [1, 1], traced: step, plain: (edge, x) => (edge <= x ? 1 : 0), points: at([1, 0.5], [1, 1], [1, 1.5]), kinks: [[1, 1]] },
  smoothstep: {
    of: [1, 1, 1], traced: smoothstep, plain: (low, high, x) => { const t = Math.min(Math.max((x - low) / (high - low), 0), 1); return t * t * (3 - 2 * t); },
    points: at([0, 1, 0.25], [-1, 3, 2], [0, 1, -1], [0, 1, 2]),
  },
  logsumexp: { of: [1, 1], traced: (x, y) => logsumexp([x, y, 1]), plain: (x, y) => Math.log(Math.exp(x) + Math.exp(y) + Math.E), points: at([0, 0.5], [-3, 2], [1, 1.5]) },
  "logsumexp of large numbers": { of: [1, 1], traced: (x, y) => logsumexp([x, y]), plain: (x) => x + Math.LN2, points: at([1000, 1000], [-1000, -1000]), kinks: at([1000, 1000], [-1000, -1000]) },
  "sum, mean": { of: [1, 1], traced: (x, y) => [sum([x, y, 2]), mean([x, y, 2, x]), sum([x])], plain: (x, y) => [x + y + 2, (2 * x + y + 2) / 4, x], points: at([1, 2], [-0.5, 3]) },
  "comparisons": {
    of: [1, 1], points: at([1, 2], [2, 1], [1.5, 1.5]), kinks: [[1.5, 1.5]],
    traced: (x, y) => [x.lt(y), x.le(y), x.gt(y), x.ge(y), x.eq(y), x.ne(y), x.lt(1.25), x.ne(2)].map((when, k) => select(when, k + 1, -1)),
    plain: (x, y) => [x < y, x <= y, x > y, x >= y, x === y, x !== y, x < 1.25, x !== 2].map((when, k) => (when ? k + 1 : -1)),
  },
  "and, or, not": {
    of: [1, 1], points: at([1, 1], [1, -1], [-1, 1], [-1, -1]),
    traced: (x, y) => {
      const [p, q] = [x.gt(0), y.gt(0)];
      return [p.and(q), p.or(q), p.not(), and(p, q, x.lt(5)), or(p, q, x.lt(-5)), not(q), and(p), or(q)].map((when) => select(when, x, y.mul(3)));
    },
    plain: (x, y) => {
      const [p, q] = [x > 0, y > 0];
      return [p && q, p || q, !p, p && q, p || q, !q, p, q].map((when) => (when ? x : 3 * y));
    },
  },
  "select takes the branch that is defined": { traced: (x) => select(x.gt(0), log(x), x.neg()), plain: (x) => (x > 0 ? Math.log(x) : -x), points: at(-2, 0.5, 3) },
});

// The derivative at kinks and at the edges of domains: [function, point, value there, derivative].
const KINKS = {
  "sqrt at 0": [sqrt, 0, 0, 0],
  "cbrt at 0": [cbrt, 0, 0, 0],
  "abs at 0": [abs, 0, 0, 0],
  "asin at 1": [asin, 1, Math.PI / 2, 0],
  "acos at −1": [acos, -1, Math.PI, 0],
  "acosh at 1": [acosh, 1, 0, 0],
  "relu at 0": [relu, 0, 0, 0],
  "leakyRelu at 0": [(x) => leakyRelu(x, 0.25), 0, 0, 0.25],
  "floor at 2": [floor, 2, 2, 0],
  "round at 0.5": [round, 0.5, 0, 0],
  "fract at 2": [fract, 2, 0, 1],
  "mod at a multiple": [(x) => mod(x, 3), 6, 0, 1],
  "clamp at its bound": [(x) => clamp(x, -1, 2).mul(3), 2, 6, 3],
  "min of equal ones": [(x) => min(x.mul(2), x.mul(3)), 0, 0, 2],
  "max of equal ones": [(x) => max(x.mul(2), x.mul(3)), 0, 0, 2],
  "atan2 at the origin": [(x) => atan2(x, x), 0, 0, 0],
  "pow(x, 2.5) at 0": [(x) => pow(x, 2.5), 0, 0, 0],
  "pow(x, y) with y = 1 at 0": [(x) => pow(x, x.add(1)), 0, 0, 1],
  "hypot at 0": [(x) => hypot(x, x), 0, 0, 0],
  "norm at 0": [(x) => vec(x, x).norm(), 0, 0, 0],
  "normalize at 0": [(x) => vec(x, x).normalize().x, 0, 0, 0],
  "step at its edge": [(x) => step(x, 1), 1, 1, 0],
};

test("derivatives at kinks and at the edges of domains are those of the table", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const [name, [traced, point, value, slope]] of Object.entries(KINKS)) {
    const [{ values, derivatives }] = await evaluate(lw, { traced }, [[point]]);
    near(values, [value], 1e-15, name);
    near(derivatives, [slope], 1e-15, `${name}: derivative`);
  }
});

// Where they are not defined: [function, point].
const UNDEFINED = {
  reciprocal: [reciprocal, 0], div: [(x) => x.div(x), 0], sqrt: [sqrt, -1], rsqrt: [rsqrt, 0], log: [log, 0], log2: [log2, -1], log10: [log10, 0], log1p: [log1p, -1], asin: [asin, 1.5], acos: [acos, -1.5], acosh: [acosh, 0.5],
  atanh: [atanh, 1], "pow(x, -1)": [(x) => pow(x, -1), 0], "pow(x, 0.5)": [(x) => pow(x, 0.5), -1], mod: [(x) => mod(1, x), 0], smoothstep: [(x) => smoothstep(x, x, 0.5), 1], "exp, too large": [exp, 1000],
};

for (const { backend, precision } of PRECISIONS) {
  test(`outside of their domain functions are not finite, on ${backend} in ${precision}: the error names term and instance`, async (t) => {
    const lw = await open(t, { backend, precision });
    for (const [name, [traced, point]] of Object.entries(UNDEFINED)) {
      const problem = lw.problem();
      const x = problem.variables("x", { shape: 1, values: [0.5, point] });
      problem.residuals(name, { of: [x.at([1])] }, ([x]) => traced(x));
      await rejects(problem.solve(), "non-finite",
        `term "${name}": the residual of instance 0 is not finite at the current values; change them, or guard the expression with select()`, { term: name, instance: 0 });
      problem.dispose();
    }
  });

  test(`a step out of the domain is refused, on ${backend} in ${precision}, and a shorter one is found`, async (t) => {
    const lw = await open(t, { backend, precision });
    const problem = lw.problem();
    const x = problem.variables("x", { shape: 1, values: [1] });
    problem.residuals("log", { of: [x] }, ([x]) => log(x).add(3));     // a Gauss-Newton step leads to −2
    const report = await problem.solve();
    assert.ok(report.iterations.some(({ accepted }) => !accepted), String(report));
    closeTo((await x.read())[0], Math.exp(-3), 1e-3, "x");
  });
}

test("lists of more operands than an instruction has", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const many = 70_000;
  const filled = (x, filler) => [...Array.from({ length: many - 1 }, () => filler), x];
  const cases = {
    sum: [(x) => sum(filled(x, 0)), (x) => x],
    mean: [(x) => mean(filled(x, 0)), (x) => x / many],
    hypot: [(x) => hypot(...filled(x, 0)), (x) => Math.abs(x)],
    max: [(x) => max(...filled(x, 0)), (x) => Math.max(x, 0)],
    min: [(x) => min(...filled(x, 0)), (x) => Math.min(x, 0)],
  };
  for (const [name, [traced, plain]] of Object.entries(cases)) {
    const found = await evaluate(lw, { traced }, at(2.5, -3));
    near(found.flatMap(({ values }) => values), [plain(2.5), plain(-3)], 1e-15, name);
  }
});
