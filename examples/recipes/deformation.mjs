// # Deformation that keeps shape (ARAP)
//
// A bar of 5 × 5 × 17 vertices is twisted and bent by its ends: edges keep their rest vectors, up to a rotation for each vertex
// (as-rigid-as-possible; Sorkine & Alexa 2007).
//
// - Positions and rotations are unknowns of one problem, so Gauss–Newton's steps see both. (The original alternates.)
// - The targets of the handles are data: dragging edits them, and a solver goes on from where it was.
// - An edge counts in both directions, once with the rotation of each end.
import assert from "node:assert/strict";
import { column, init, rotateXYZ } from "leastwise";

const wide = 5, long = 17, at = (i, j, k) => (i * wide + j) * long + k;
const rest = [], edges = [];
for (let i = 0; i < wide; i++) {
  for (let j = 0; j < wide; j++) {
    for (let k = 0; k < long; k++) {
      rest.push([i / 4 - 0.5, j / 4 - 0.5, k / 4]);
      for (const [a, b, c] of [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1]]) {
        if (i + a < wide && j + b < wide && k + c < long) edges.push([at(i, j, k), at(i + a, j + b, k + c)], [at(i + a, j + b, k + c), at(i, j, k)]);
      }
    }
  }
}
const ends = rest.flatMap(([, , z], v) => (z === 0 || z === 4 ? [v] : []));

const lw = await init({ backend: "cpu" });
const problem = lw.problem();
const x = problem.variables("x", { shape: 3, values: rest.flat() });
const turn = problem.variables("turn", { shape: 3, values: new Float64Array(3 * rest.length) });
const restAt = problem.constants("rest", { shape: 3, values: rest.flat() });
problem.residuals("arap", { over: edges, of: [x, x, turn.at(0), restAt.at(0), restAt.at(1)] }, ([a, b, w, a0, b0]) => a.sub(b).sub(rotateXYZ(w, a0.sub(b0))));
const handles = problem.residuals("handles", { of: [x.at(ends)], data: { to: column(ends.map((v) => rest[v]), 3) }, weight: 100 }, ([p], { to }) => p.sub(to));
const solver = problem.solver({ linear: "pcg", costTolerance: 1e-5 });
const frames = [];
for (let frame = 1; frame <= 4; frame++) {
  // The far end turns by 90° about the bar's axis and moves sideways and down.
  const part = frame / 4, angle = (Math.PI / 2) * part;
  const targets = ends.map((v) => {
    const [p, q, r] = rest[v];
    return r === 0 ? [p, q, r] : [Math.cos(angle) * p - Math.sin(angle) * q + 1.2 * part, Math.sin(angle) * p + Math.cos(angle) * q, r - 0.8 * part];
  });
  handles.set({ to: column(targets, 3) });
  const report = await solver.solve();
  frames.push({ targets, report, positions: [...await x.read()] });
}
lw.dispose();

const { positions, targets, report } = frames.at(-1);
const distance = (p, v, w) => Math.hypot(...[0, 1, 2].map((k) => p[3 * v + k] - p[3 * w + k]));
const flat = rest.flat();
const strain = edges.map(([v, w]) => Math.abs(distance(positions, v, w) / distance(flat, v, w) - 1));
assert.ok(report.converged, report.reason);
ends.forEach((v, k) => assert.ok(Math.hypot(...targets[k].map((t, axis) => t - positions[3 * v + axis])) < 0.03, `handle ${v}`));
assert.ok(strain.reduce((sum, s) => sum + s, 0) / strain.length < 0.08, "edges keep their lengths, on average");

export { edges, ends, frames, long, rest, wide };
