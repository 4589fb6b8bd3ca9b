// Plots and meshes of the module "playground".
import { cos, exp, init } from "leastwise";
import { edges } from "leastwise/mesh";
import { mesh, plot } from "playground";

const lw = await init({ backend: "cpu" });

// A damped oscillation through 80 observations.
const t = Float64Array.from({ length: 80 }, (_, k) => 0.1 * k);
const y = t.map((t, k) => 1.5 * Math.exp(-0.3 * t) * Math.cos(2.2 * t) + 0.08 * Math.sin(97 * k));
const fit = lw.problem();
const p = fit.variables("p", { shape: { size: 1, damping: 1, rate: 1 }, values: [1, 0.1, 2] });
fit.residuals("oscillation", { of: [p], data: { t, y } }, ([{ size, damping, rate }], { t, y }) =>
  size.mul(exp(damping.mul(t).neg())).mul(cos(rate.mul(t))).sub(y));
await fit.solve();
const [size, damping, rate] = await p.read();
plot({
  observed: { dots: Array.from(t, (t, k) => [t, y[k]]) },
  fitted: Array.from(t, (t) => [t, size * Math.exp(-damping * t) * Math.cos(rate * t)]),
}, { title: "A damped oscillation", x: "t", y: "y" });

// A square of springs, hung from two of its corners.
const n = 14;
const rest = Float64Array.from({ length: 3 * n * n }, (_, k) => [Math.floor(k / 3) % n, 0, Math.floor(k / 3 / n)][k % 3] / (n - 1));
const triangles = Array.from({ length: (n - 1) ** 2 }, (_, k) => {
  const i = k % (n - 1) + n * Math.floor(k / (n - 1));
  return [i, i + 1, i + n, i + n + 1, i + n, i + 1];
}).flat();
const cloth = lw.problem();
const x = cloth.variables("x", { shape: 3, values: rest });
const start = cloth.constants("rest", { shape: 3, values: rest });
cloth.residuals("springs", { over: edges(Uint32Array.from(triangles)), of: [x.at(0), x.at(1), start.at(0), start.at(1)], weight: 60 },
  ([a, b, a0, b0]) => a.sub(b).norm().sub(a0.sub(b0).norm()));
cloth.residuals("weight", { of: [x] }, ([x]) => x.y.add(0.35).mul(0.25));
x.fix([0, n - 1]);
const report = await cloth.solve();
const positions = await x.read();
mesh(positions, triangles, { title: `A cloth after ${report.iterations.length} steps` });
lw.dispose();

export { size, damping, rate };
