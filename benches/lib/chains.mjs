// Problems of any number of instances whose steps are compared.
import { column } from "leastwise";

/** |xᵢ − xᵢ₊₁| − lengthᵢ: `count` links between points in the plane. */
export function chain(lw, count) {
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 2, values: Float64Array.from({ length: 2 * count + 2 }, (_, k) => (k % 2 ? Math.sin(k) : 0.45 * k)) });
  const ends = Uint32Array.from({ length: 2 * count }, (_, k) => (k + 1) >> 1);
  problem.residuals("links", { over: ends, of: [x, x], data: { length: Float64Array.from({ length: count }, (_, i) => 1 + 0.1 * Math.cos(3 * i)) } },
    ([a, b], { length }) => a.sub(b).norm().sub(length));
  return problem;
}

/** (s·aᵢ − bᵢ)(s² + 1): one parameter in `count` residuals. */
export function shared(lw, count) {
  const problem = lw.problem();
  const s = problem.variables("s", { shape: 1, values: [0.5] });
  const [a, b] = [1, 2].map((k) => Float64Array.from({ length: count }, (_, i) => 1 + Math.sin(k * i)));
  problem.residuals("lines", { of: [s], data: { a: column(a, 1), b: column(b, 1) } },
    ([s], { a, b }) => s.mul(a).sub(b).mul(s.square().add(1)));
  return problem;
}
