// What the tests of functions share: r and J of a traced function against plain JavaScript, at many points.
import assert from "node:assert/strict";
import { open } from "./support.mjs";

/** Every backend in every precision that it has, with the errors that values and derivatives may have, relative to 1 + their size. */
export const PRECISIONS = [
  { backend: "cpu", precision: "f64", values: 1e-12, derivatives: 1e-8 },
  { backend: "cpu", precision: "f32", values: 1e-5, derivatives: 1e-4 },
  { backend: "webgpu", precision: "f32", values: 1e-4, derivatives: 1e-3 },
];

/** The arguments of plain JavaScript: numbers, and arrays of them. */
function split(of, point) {
  let end = 0;
  return of.map((width) => {
    const start = end;
    end += width;
    return width === 1 ? point[start] : point.slice(start, end);
  });
}

/** r and J at every point; a variable (or constant) for each argument (of so many scalars), an instance for each point. */
export async function evaluate(lw, { of = [1], traced }, points, moves = true) {
  const problem = lw.problem();
  const slots = of.map((width, k) => problem[moves ? "variables" : "constants"](`x${k}`, { shape: width, values: points.flatMap((point) => [split(of, point)[k]].flat()) }));
  const zero = problem.variables("zero", { shape: 1, values: points.map(() => 0) });
  const { rows, columns, residuals, jacobian } = await problem.residuals("f", { of: moves ? slots : [...slots, zero] }, (given) => traced(...given)).evaluate();
  problem.dispose();
  assert.equal(columns, moves ? points[0].length : 1);
  return points.map((_, i) => ({ values: [...residuals.subarray(i * rows, (i + 1) * rows)], derivatives: [...jacobian.subarray(i * rows * columns, (i + 1) * rows * columns)] }));
}

const valuesOf = ({ of = [1], plain }, point) => [plain(...split(of, point))].flat(3);

/** J of plain JavaScript by central differences of fourth order, row after row. */
function differences(it, point) {
  const h = 2 ** -12;
  const columns = point.map((_, k) => {
    const at = (steps) => valuesOf(it, point.map((value, i) => (i === k ? value + steps * h : value)));
    const [a, b, c, d] = [at(-2), at(-1), at(1), at(2)];
    return a.map((_, row) => (8 * (c[row] - b[row]) - (d[row] - a[row])) / (12 * h));
  });
  return columns[0].flatMap((_, row) => columns.map((column) => column[row]));
}

/** Asserts that numbers are close, relative to 1 + the size of all. */
export function near(found, expected, tolerance, what) {
  assert.equal(found.length, expected.length, `${what}: how many`);
  const bound = tolerance * (1 + Math.max(...expected.map(Math.abs)));
  // Written so that a NaN fails, too.
  found.forEach((value, k) => assert.ok(Math.abs(value - expected[k]) <= bound, `${what}: entry ${k} is ${value}, not ${expected[k]}`));
}

/**
 * For each of the tests (by name): values and derivatives in every precision. Derivatives are not compared at kinks. What
 * is `large` takes software adapters a minute to compile: there it is done without derivatives, or (`"cpu"`) not at all.
 */
export function testAll(test, tests) {
  for (const { backend, precision, ...bounds } of PRECISIONS) {
    for (const [name, it] of Object.entries(tests)) {
      if (backend === "webgpu" && it.large === "cpu") continue;
      const moves = !(backend === "webgpu" && it.large);
      test(`${name} on ${backend} in ${precision}`, async (t) => {
        const lw = await open(t, { backend, precision });
        const found = await evaluate(lw, it, it.points, moves);
        it.points.forEach((point, i) => {
          near(found[i].values, valuesOf(it, point), bounds.values, `value at ${point}`);
          if (!moves || it.kinks?.some((kink) => String(kink) === String(point))) return;
          near(found[i].derivatives, differences(it, point), bounds.derivatives, `derivative at ${point}`);
        });
      });
    }
  }
}
