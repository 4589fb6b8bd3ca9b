// # A manifold of your own: mixtures
//
// The shares of a mixture are positive and sum to 1. A retraction keeps them so: x ⊕ δ multiplies each share by e^δ and divides
// by the sum, with δ = 0 for the last one.
//
// - `manifold({ ambient, tangent, retract })`: three stored numbers, two degrees of freedom. The retraction is traced once,
//   like a residual, and differentiated at δ = 0.
// - x ⊕ 0 must be x; that is checked where values are given.
// - A share comes as near to 0 as it has to, and never below.
import assert from "node:assert/strict";
import { column, exp, init, manifold, vec } from "leastwise";

const shares = manifold({
  ambient: 3, tangent: 2,
  retract: (x, d) => {
    const moved = vec(x.x.mul(exp(d.x)), x.y.mul(exp(d.y)), x.z);
    return moved.div(moved.x.add(moved.y).add(moved.z));
  },
});

let state = 83144;
const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

// Colours of 40 paints, each mixed of three.
const base = [[0.9, 0.1, 0.15], [0.95, 0.8, 0.1], [0.1, 0.25, 0.7]];
const truth = Array.from({ length: 40 }, () => {
  const parts = [random(), random(), random()].map((v) => v ** 2), sum = parts[0] + parts[1] + parts[2];
  return parts.map((v) => v / sum);
});
const colours = truth.map((mix) => [0, 1, 2].map((channel) => mix.reduce((sum, share, k) => sum + share * base[k][channel], 0) + 0.005 * normal()));

const lw = await init({ backend: "cpu" });
const problem = lw.problem();
const mix = problem.variables("mix", { shape: shares, values: truth.map(() => [1 / 3, 1 / 3, 1 / 3]).flat() });
problem.residuals("colour", { of: [mix], data: { colour: column(colours, 3) } }, ([mix], { colour }) => {
  const blend = (channel) => mix.x.mul(base[0][channel]).add(mix.y.mul(base[1][channel])).add(mix.z.mul(base[2][channel]));
  return vec(blend(0), blend(1), blend(2)).sub(colour);
});
const report = await problem.solve();
const values = await mix.read();
lw.dispose();

const found = truth.map((_, k) => [...values.slice(3 * k, 3 * k + 3)]);
assert.ok(report.converged, report.reason);
for (const [k, mix] of found.entries()) {
  assert.ok(mix.every((share) => share >= 0) && Math.abs(mix[0] + mix[1] + mix[2] - 1) < 1e-12, `${mix}`);
  assert.ok(mix.every((share, i) => Math.abs(share - truth[k][i]) < 0.06), `${mix} is not ${truth[k]}`);
}

export { base, found, truth };
