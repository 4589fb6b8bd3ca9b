// What the tests of functions share: a traced function against plain JavaScript at many points, its gradient, its edges.
import assert from "node:assert/strict";
import { column } from "leastwise";
import { open } from "./support.mjs";

/** Every backend in every precision that it has, with the error that a function may have, relative to 1 + |value|. */
export const PRECISIONS = [
  { backend: "cpu", precision: "f64", tolerance: 1e-12 },
  { backend: "cpu", precision: "f32", tolerance: 1e-5 },
  { backend: "webgpu", precision: "f32", tolerance: 1e-4 },
];

/** The scalars of what a residual function computed. */
export function scalars(result) {
  if (Array.isArray(result)) return result.flatMap(scalars);
  if (result.rotate) return scalars(result.xyzw());
  if (result.size) return Array.from({ length: result.size ** 2 }, (_, k) => result.at(Math.floor(k / result.size), k % result.size));
  return result.at ? Array.from({ length: result.length }, (_, i) => result.at(i)) : [result];
}

/** A variable or constant for each argument (of so many scalars), an instance for each point (the arguments, one after the other). */
function tables(problem, of, points, kind = "variables") {
  let end = 0;
  return of.map((width, k) => {
    const start = end;
    end += width;
    return problem[kind](`x${k}`, { shape: width, values: points.flatMap((point) => point.slice(start, start + width)) });
  });
}

/** The arguments of plain JavaScript: numbers, and arrays of them. */
function plainArguments(of, point) {
  let end = 0;
  return of.map((width) => {
    const start = end;
    end += width;
    return width === 1 ? point[start] : point.slice(start, end);
  });
}

/** ‖f − expected‖ at every point, relative to 1 + ‖expected‖. What is `large` has its derivatives compiled on the CPU only. */
export async function errors(lw, { of = [1], traced, plain, points, offset = 0, large = false }) {
  const problem = lw.problem();
  const expected = points.map((point) => [plain(...plainArguments(of, point))].flat(3));
  const width = expected[0].length;
  const slots = tables(problem, of, points, large && lw.backend === "webgpu" ? "constants" : "variables");
  const added = problem.variables("added", { shape: 1, values: points.map(() => offset) });
  const term = problem.residuals("f", { of: [added, ...slots], data: { e: column(expected.flat(), width) } }, ([offset, ...given], { e }) => {
    const found = scalars(traced(...given));
    assert.equal(found.length, width, "scalars of the result");
    return found.map((r, i) => r.sub(width === 1 ? e : e.at(i)).add(offset));
  });
  const costs = await term.worst(points.length);
  problem.dispose();
  const found = [];
  for (const { instance, cost } of costs) found[instance] = Math.sqrt(2 * cost) / (1 + Math.hypot(...expected[instance]));
  return found;
}

/** Asserts that a function is what plain JavaScript says at every point. */
export async function agrees(lw, tolerance, what, test) {
  const found = await errors(lw, test);
  assert.equal(found.length, test.points.length);
  // Written so that a NaN fails, too.
  found.forEach((error, i) => assert.ok(error <= (test.tolerance?.[lw.backend] ?? tolerance), `${what} at ${test.points[i]}: the error is ${error}`));
}

/** The largest entry of the gradient of ½‖f + 0.75‖² at a point. */
export async function gradient(lw, { of = [1], traced }, point) {
  const problem = lw.problem();
  problem.residuals("f", { of: tables(problem, of, [point]) }, (given) => scalars(traced(...given)).map((r) => r.add(0.75)));
  const report = await problem.solve({ maxIterations: 1, gradientTolerance: 0 });
  problem.dispose();
  return report.iterations[0]?.gradientNorm ?? 0;
}

/** The same of plain JavaScript, by central differences. */
export function steepest({ of = [1], plain }, point) {
  const energy = (at) => [plain(...plainArguments(of, at))].flat(3).reduce((sum, r) => sum + (r + 0.75) ** 2 / 2, 0);
  return Math.max(...point.map((_, i) => {
    const h = 1e-4;
    const moved = (steps) => energy(point.map((value, k) => (k === i ? value + steps * h : value)));
    return Math.abs((8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * h));
  }));
}

/** For each of the tests (by name): values in every precision, and gradients in f64. */
export function testAll(test, tests) {
  for (const { backend, precision, tolerance } of PRECISIONS) {
    for (const [name, it] of Object.entries(tests)) {
      test(`${name} on ${backend} in ${precision}`, async (t) => {
        const lw = await open(t, { backend, precision });
        await agrees(lw, tolerance, name, it);
        if (precision !== "f64") return;
        for (const point of it.points) {
          if (it.kinks?.some((kink) => String(kink) === String(point))) continue;
          const [found, expected] = [await gradient(lw, it, point), steepest(it, point)];
          assert.ok(Math.abs(found - expected) <= 1e-8 * (1 + Math.abs(expected)), `${name} at ${point}: the gradient is ${found}, not ${expected}`);
        }
      });
    }
  }
}
