// The 35 functions of J. J. Moré, B. S. Garbow & K. E. Hillstrom, "Testing unconstrained optimization software", ACM Trans.
// Math. Softw. 7 (1981) 17–41, in the paper's order. f = Σ fᵢ² (twice our cost); starts, dimensions and minima are the paper's.
// Bounds, and minima under them, are those of D. M. Gay, "A trust-region approach to linearly constrained optimization" (1984).
import { abs, atan, cos, cube, exp, pow, reciprocal, select, sin, sqrt, sum } from "leastwise";

/** value − e */
const minus = (value, e) => e.neg().add(value);
const range = (n, of) => Array.from({ length: n }, (_, k) => of(k + 1));
const filled = (n, value) => new Array(n).fill(value);
const repeated = (n, values) => range(n / values.length, () => values).flat();
/** Rows of `of` over consecutive groups of `size` unknowns. */
const grouped = (x, size, of) => range(x.length / size, (k) => of(...x.slice(size * (k - 1), size * k))).flat();

const BARD = [0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.1, 4.39];
const GAUSSIAN = [0.0009, 0.0044, 0.0175, 0.054, 0.1295, 0.242, 0.3521, 0.3989, 0.3521, 0.242, 0.1295, 0.054, 0.0175, 0.0044, 0.0009];
const MEYER = [34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147, 4427, 3820, 3307, 2872];
const KOWALIK = [[0.1957, 4], [0.1947, 2], [0.1735, 1], [0.16, 0.5], [0.0844, 0.25], [0.0627, 0.167], [0.0456, 0.125], [0.0342, 0.1], [0.0323, 0.0833], [0.0235, 0.0714], [0.0246, 0.0625]];
const OSBORNE_1 = [0.844, 0.908, 0.932, 0.936, 0.925, 0.908, 0.881, 0.85, 0.818, 0.784, 0.751, 0.718, 0.685, 0.658, 0.628, 0.603, 0.58,
  0.558, 0.538, 0.522, 0.506, 0.49, 0.478, 0.467, 0.457, 0.448, 0.438, 0.431, 0.424, 0.42, 0.414, 0.411, 0.406];
const OSBORNE_2 = [1.366, 1.191, 1.112, 1.013, 0.991, 0.885, 0.831, 0.847, 0.786, 0.725, 0.746, 0.679, 0.608, 0.655, 0.616, 0.606, 0.602,
  0.626, 0.651, 0.724, 0.649, 0.649, 0.694, 0.644, 0.624, 0.661, 0.612, 0.558, 0.533, 0.495, 0.5, 0.423, 0.395, 0.375, 0.372, 0.391,
  0.396, 0.405, 0.428, 0.429, 0.523, 0.562, 0.607, 0.653, 0.672, 0.708, 0.633, 0.668, 0.645, 0.632, 0.591, 0.559, 0.597, 0.625, 0.739,
  0.71, 0.729, 0.72, 0.636, 0.581, 0.428, 0.292, 0.162, 0.098, 0.054];

const rosenbrock = (x, y) => [y.sub(x.square()).mul(10), minus(1, x)];
const powellSingular = (a, b, c, d) => [a.add(b.mul(10)), c.sub(d).mul(Math.sqrt(5)), b.sub(c.mul(2)).square(), a.sub(d).square().mul(Math.sqrt(10))];
/** Σ j xⱼ with j from `first`. */
const weighted = (x, first = 1) => sum(x.map((xj, j) => xj.mul(first + j)));
/** (xⱼ + tⱼ + 1)³ of the discretised equations 28 and 29. */
const cubed = (x, h) => x.map((xj, j) => cube(xj.add((j + 1) * h + 1)));
const parabola = (n) => range(n, (j) => (j / (n + 1)) * (j / (n + 1) - 1));

/** T*ᵢ, Chebyshev's polynomial moved to [0, 1], for i = 1 … count. */
function chebyshev(x, count) {
  const t = x.mul(2).sub(1);
  const all = [t];
  for (let i = 1; i < count; i++) all.push(i === 1 ? t.square().mul(2).sub(1) : t.mul(2).mul(all[i - 1]).sub(all[i - 2]));
  return all;
}

function helicalValley([x1, x2, x3]) {
  const turns = atan(x2.div(x1)).mul(0.5 / Math.PI).add(select(x1.gt(0), 0, 0.5));
  return [x3.sub(turns.mul(10)).mul(10), sqrt(x1.square().add(x2.square())).sub(1).mul(10), x3];
}

const gulf = ([x1, x2, x3]) => range(99, (i) => {
  const t = i / 100, y = 25 + (-50 * Math.log(t)) ** (2 / 3);
  return exp(pow(abs(minus(y, x2)), x3).div(x1).neg()).sub(t);
});
/** The same with the paper's misprint, |y m i x₂| for |y − x₂|: what Ceres' tests solve, and what the bounded minimum belongs to. */
const gulfAsPrinted = ([x1, x2, x3]) => range(100, (i) => {
  const t = i / 100, y = 25 + (-50 * Math.log(t)) ** (2 / 3);
  return exp(pow(abs(x2.mul(y * 100 * i)), x3).div(x1).neg()).sub(t);
});
const box = (m) => ([x1, x2, x3]) => range(m, (i) => {
  const t = i / 10;
  return exp(x1.mul(-t)).sub(exp(x2.mul(-t))).sub(x3.mul(Math.exp(-t) - Math.exp(-10 * t)));
});
const jennrich = ([x, y]) => range(10, (i) => minus(2 + 2 * i, exp(x.mul(i)).add(exp(y.mul(i)))));
const biggs = ([x1, x2, x3, x4, x5, x6]) => range(13, (i) => {
  const t = i / 10, decay = (rate) => exp(rate.mul(-t));
  return x3.mul(decay(x1)).sub(x4.mul(decay(x2))).add(x6.mul(decay(x5))).sub(Math.exp(-t) - 5 * Math.exp(-10 * t) + 3 * Math.exp(-4 * t));
});
const osborne2 = ([x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11]) => OSBORNE_2.map((value, i) => {
  const t = i / 10, peak = (height, width, centre) => height.mul(exp(minus(t, centre).square().mul(width).neg()));
  return minus(value, x1.mul(exp(x5.mul(-t))).add(peak(x2, x6, x9)).add(peak(x3, x7, x10)).add(peak(x4, x8, x11)));
});

function watson(x) {
  const rows = range(29, (i) => {
    const t = i / 29;
    const slope = sum(x.slice(1).map((xj, j) => xj.mul((j + 1) * t ** j)));
    return slope.sub(sum(x.map((xj, j) => xj.mul(t ** j))).square()).sub(1);
  });
  return [...rows, x[0], x[1].sub(x[0].square()).sub(1)];
}

function penalty2(x) {
  const n = x.length, a = Math.sqrt(1e-5);
  const tenth = x.map((xj) => exp(xj.mul(0.1)));
  const pairs = range(n - 1, (i) => tenth[i].add(tenth[i - 1]).sub(Math.exp((i + 1) / 10) + Math.exp(i / 10)).mul(a));
  const singles = range(n - 1, (i) => tenth[i].sub(Math.exp(-0.1)).mul(a));
  return [x[0].sub(0.2), ...pairs, ...singles, sum(x.map((xj, j) => xj.square().mul(n - j))).sub(1)];
}

function penalty1(x) {
  return [...x.map((xi) => xi.sub(1).mul(Math.sqrt(1e-5))), sum(x.map((xi) => xi.square())).sub(0.25)];
}

function integralEquation(x) {
  const n = x.length, h = 1 / (n + 1), all = cubed(x, h);
  return x.map((xi, i) => {
    const t = (i + 1) * h;
    return xi.add(sum(all.map((c, j) => c.mul(j <= i ? (1 - t) * (j + 1) * h : t * (1 - (j + 1) * h)))).mul(h / 2));
  });
}

/** The mean of T*ᵢ over the unknowns, less its integral over [0, 1]. */
const chebyquad = (x, m) => {
  const values = x.map((xj) => chebyshev(xj, m));
  return range(m, (i) => sum(values.map((t) => t[i - 1])).div(x.length).sub(i % 2 ? 0 : -1 / (i * i - 1)));
};

function brownAlmostLinear(x) {
  const total = sum(x);
  return [...x.slice(0, -1).map((xi) => xi.add(total).sub(x.length + 1)), x.reduce((a, b) => a.mul(b)).sub(1)];
}

function broydenBanded(x) {
  const near = (i) => x.filter((_, j) => j !== i && j >= i - 5 && j <= i + 1);
  return x.map((xi, i) => xi.mul(xi.square().mul(5).add(2)).add(1).sub(sum(near(i).map((xj) => xj.mul(xj.add(1))))));
}

/** The neighbours of unknown i in a chain, 0 beyond its ends. */
const before = (x, i) => x[i - 1] ?? 0;
const after = (x, i) => x[i + 1] ?? 0;

/**
 * `minima`: f at the local minima that the paper lists (those of finite x), the global one first. `bounded`: limits, and
 * the minimum within them. 20 to 35 have the dimensions of the paper's runs, or small ones.
 */
export const MORE_GARBOW_HILLSTROM = [
  { name: "1 Rosenbrock", start: [-1.2, 1], minima: [0], of: ([x, y]) => rosenbrock(x, y) },
  { name: "2 Freudenstein and Roth", start: [0.5, -2], minima: [0, 48.98425],
    of: ([x, y]) => [x.sub(13).add(minus(5, y).mul(y).sub(2).mul(y)), x.sub(29).add(y.add(1).mul(y).sub(14).mul(y))] },
  { name: "3 Powell badly scaled", start: [0, 1], minima: [0], bounded: { lower: [0, 1], upper: [1, 9], minimum: 0.151259e-9 },
    of: ([x, y]) => [x.mul(y).mul(1e4).sub(1), exp(x.neg()).add(exp(y.neg())).sub(1.0001)] },
  { name: "4 Brown badly scaled", start: [1, 1], minima: [0], bounded: { lower: [0, 3e-5], upper: [1e6, 100], minimum: 784 },
    of: ([x, y]) => [x.sub(1e6), y.sub(2e-6), x.mul(y).sub(2)] },
  { name: "5 Beale", start: [1, 1], minima: [0], bounded: { lower: [0.6, 0.5], upper: [10, 100], minimum: 0 },
    of: ([x, y]) => [1.5, 2.25, 2.625].map((value, i) => minus(value, x.mul(minus(1, pow(y, i + 1))))) },
  { name: "6 Jennrich and Sampson", start: [0.3, 0.4], minima: [124.362], of: jennrich },
  { name: "7 helical valley", start: [-1, 0, 0], minima: [0], bounded: { lower: [-100, -1, -1], upper: [0.8, 1, 1], minimum: 0.99042212 }, of: helicalValley },
  { name: "8 Bard", start: [1, 1, 1], minima: [8.21487e-3],
    of: ([x, y, z]) => BARD.map((value, k) => minus(value, x.add(reciprocal(y.mul(15 - k).add(z.mul(Math.min(k + 1, 15 - k)))).mul(k + 1)))) },
  { name: "9 Gaussian", start: [0.4, 1, 0], minima: [1.12793e-8], bounded: { lower: [0.398, 1, -0.5], upper: [4.2, 2, 0.1], minimum: 1.12793e-8 },
    of: ([x, y, z]) => GAUSSIAN.map((value, k) => x.mul(exp(minus((7 - k) / 2, z).square().mul(y).div(-2))).sub(value)) },
  { name: "10 Meyer", start: [0.02, 4000, 250], minima: [87.9458], of: ([x, y, z]) => MEYER.map((value, k) => x.mul(exp(y.div(z.add(50 + 5 * k)))).sub(value)) },
  { name: "11 Gulf research and development", start: [5, 2.5, 0.15], minima: [0], of: gulf },
  { name: "12 Box three-dimensional", start: [0, 10, 20], minima: [0], of: box(10) },
  { name: "13 Powell singular", start: [3, -1, 0, 1], minima: [0], of: (x) => powellSingular(...x) },
  { name: "14 Wood", start: [-3, -1, -3, -1], minima: [0], bounded: { lower: [-100, -100, -100, -100], upper: [0, 10, 100, 100], minimum: 1.5567008 },
    of: ([a, b, c, d]) => [...rosenbrock(a, b), d.sub(c.square()).mul(Math.sqrt(90)), minus(1, c), b.add(d).sub(2).mul(Math.sqrt(10)), b.sub(d).div(Math.sqrt(10))] },
  { name: "15 Kowalik and Osborne", start: [0.25, 0.39, 0.415, 0.39], minima: [3.07505e-4],
    of: ([a, b, c, d]) => KOWALIK.map(([value, u]) => minus(value, a.mul(b.mul(u).add(u * u)).div(c.mul(u).add(d).add(u * u)))) },
  { name: "16 Brown and Dennis", start: [25, 5, -5, -1], minima: [85822.2], bounded: { lower: [-10, 0, -100, -20], upper: [100, 15, 0, 0.2], minimum: 0.88860479e5 },
    of: ([a, b, c, d]) => range(20, (i) => a.add(b.mul(i / 5)).sub(Math.exp(i / 5)).square().add(c.add(d.mul(Math.sin(i / 5))).sub(Math.cos(i / 5)).square())) },
  { name: "17 Osborne 1", start: [0.5, 1.5, -1, 0.01, 0.02], minima: [5.46489e-5],
    of: ([a, b, c, d, e]) => OSBORNE_1.map((value, k) => minus(value, a.add(b.mul(exp(d.mul(-10 * k)))).add(c.mul(exp(e.mul(-10 * k)))))) },
  { name: "18 Biggs EXP6", start: [1, 2, 1, 1, 1, 1], minima: [0, 5.65565e-3], bounded: { lower: [0, 0, 0, 1, 0, 0], upper: [2, 8, 1, 7, 5, 5], minimum: 0.53209865e-3 }, of: biggs },
  { name: "19 Osborne 2", start: [1.3, 0.65, 0.65, 0.7, 0.6, 3, 5, 7, 2, 4.5, 5.5], minima: [4.01377e-2], of: osborne2 },
  { name: "20 Watson, 6", start: filled(6, 0), minima: [2.28767e-3], of: watson },
  { name: "20 Watson, 9", start: filled(9, 0), minima: [1.39976e-6], of: watson },
  { name: "20 Watson, 12", start: filled(12, 0), minima: [4.72238e-10], of: watson },
  { name: "21 extended Rosenbrock", start: repeated(10, [-1.2, 1]), minima: [0], of: (x) => grouped(x, 2, rosenbrock) },
  { name: "22 extended Powell singular", start: repeated(12, [3, -1, 0, 1]), minima: [0], of: (x) => grouped(x, 4, powellSingular) },
  { name: "23 penalty I, 4", start: range(4, (j) => j), minima: [2.24997e-5], of: penalty1 },
  { name: "23 penalty I, 10", start: range(10, (j) => j), minima: [7.08765e-5], of: penalty1 },
  { name: "24 penalty II, 4", start: filled(4, 0.5), minima: [9.37629e-6], of: penalty2 },
  { name: "24 penalty II, 10", start: filled(10, 0.5), minima: [2.9366e-4], of: penalty2 },
  { name: "25 variably dimensioned", start: range(10, (j) => 1 - j / 10), minima: [0],
    of: (x) => { const s = weighted(x).sub(55); return [...x.map((xi) => xi.sub(1)), s, s.square()]; } },
  { name: "26 trigonometric", start: filled(10, 0.1), minima: [0, 2.79506e-5],
    of: (x) => { const total = minus(x.length, sum(x.map(cos))); return x.map((xi, k) => total.add(minus(1, cos(xi)).mul(k + 1)).sub(sin(xi))); } },
  { name: "27 Brown almost-linear", start: filled(10, 0.5), minima: [0, 1], of: brownAlmostLinear },
  { name: "28 discrete boundary value", start: parabola(10), minima: [0],
    of: (x) => cubed(x, 1 / 11).map((c, i) => x[i].mul(2).sub(before(x, i)).sub(after(x, i)).add(c.mul(1 / 242))) },
  { name: "29 discrete integral equation", start: parabola(10), minima: [0], of: integralEquation },
  { name: "30 Broyden tridiagonal", start: filled(10, -1), minima: [0],
    of: (x) => x.map((xi, i) => minus(3, xi.mul(2)).mul(xi).sub(before(x, i)).add(1).sub(i + 1 < x.length ? x[i + 1].mul(2) : 0)) },
  { name: "31 Broyden banded", start: filled(10, -1), minima: [0], of: broydenBanded },
  { name: "32 linear, full rank", start: filled(10, 1), minima: [10],
    of: (x) => { const mean = sum(x).mul(2 / 20).add(1); return range(20, (i) => (i <= 10 ? x[i - 1].sub(mean) : mean.neg())); } },
  { name: "33 linear, rank 1", start: filled(10, 1), minima: [20 * 19 / (2 * 41)], of: (x) => range(20, (i) => weighted(x).mul(i).sub(1)) },
  { name: "34 linear, rank 1, with zeros", start: filled(10, 1), minima: [(400 + 60 - 6) / (2 * 37)],
    of: (x) => range(20, (i) => (i === 1 || i === 20 ? x[0].mul(0).sub(1) : weighted(x.slice(1, -1), 2).mul(i - 1).sub(1))) },
  { name: "35 Chebyquad, 8", start: range(8, (j) => j / 9), minima: [3.51687e-3], of: (x) => chebyquad(x, 8) },
  { name: "35 Chebyquad, 9", start: range(9, (j) => j / 10), minima: [0], of: (x) => chebyquad(x, 9) },
  { name: "35 Chebyquad, 10", start: range(10, (j) => j / 11), minima: [6.50395e-3, 4.77271e-3], of: (x) => chebyquad(x, 10) },
];

const byNumber = (number) => MORE_GARBOW_HILLSTROM.find(({ name }) => name.startsWith(`${number} `));

/**
 * The 19 functions, and ten of them with bounds, exactly as `examples/more_garbow_hillstrom.cc` of Ceres Solver poses them, so
 * that counts can be compared: another start of 6, the misprinted 11, three rows of 12, and the global minimum alone counts.
 */
export const AS_CERES = Array.from({ length: 19 }, (_, k) => {
  const problem = { ...byNumber(k + 1) };
  problem.minima = problem.minima.slice(0, 1);
  if (k + 1 === 6) problem.start = [1, 1];
  if (k + 1 === 11) Object.assign(problem, { of: gulfAsPrinted, bounded: { lower: [1e-16, 0, 0], upper: [10, 10, 10], minimum: 0.58281431e-4 } });
  if (k + 1 === 12) Object.assign(problem, { of: box(3), bounded: { lower: [0, 5, 0], upper: [2, 9.5, 20], minimum: 0.30998153e-5 } });
  return problem;
});

/** One variable, one instance of one residual with all rows; within the function's bounds, where it is to be. */
export function moreGarbowHillstrom(lw, { of, start, bounded }, scale = 1, within = false) {
  const problem = lw.problem();
  const x = problem.variables("x", { shape: start.length, values: start.map((value) => scale * value) });
  if (within) x.bound({ lower: bounded.lower, upper: bounded.upper });
  const term = problem.residuals("f", { of: [x] }, ([all]) => of(Array.from({ length: start.length }, (_, k) => all.at(k))));
  return { problem, x, term };
}

/** Whether f is that minimum to four digits, or to 10⁻⁴ where it is 0: the criterion of Ceres' tests. */
export const reaches = (f, minimum) => Math.abs(f - minimum) <= 1e-4 * (minimum > 0 ? minimum : 1);
