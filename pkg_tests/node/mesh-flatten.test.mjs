// Starts for parametrisation, and what is made of them: seams, Tutte's embedding, least squares conformal maps, and the energies from there.
import assert from "node:assert/strict";
import { test } from "node:test";
import { symmetricDirichlet } from "leastwise/energies";
import { cutAlong, disk, fans, faceAreas, grid, icosphere, lscm, tutte } from "leastwise/mesh";
import { closeTo, open, refuses, rejects } from "./support.mjs";

/** Twice the signed areas of the faces in the plane. */
const sides = (triangles, uv) => Array.from({ length: triangles.length / 3 }, (_, f) => {
  const [a, b, c] = [0, 1, 2].map((k) => uv.subarray(2 * triangles[3 * f + k]));
  return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
});
const flipped = (triangles, uv) => sides(triangles, uv).filter((side) => !(side > 0)).length;
const total = (values) => values.reduce((sum, value) => sum + value, 0);

/** A disk bulged to a cap that is deeper than wide. */
function cap() {
  const mesh = disk({ rings: 7 });
  for (let k = 0; k < mesh.positions.length; k += 3) mesh.positions[k + 2] = 1.5 * (1 - mesh.positions[k] ** 2 - mesh.positions[k + 1] ** 2);
  return mesh;
}

for (const weights of ["uniform", "cotangent"]) {
  test(`tutte, ${weights}: every vertex is the mean of its neighbours, the boundary is on the circle, and nothing is turned over`, async (t) => {
    const lw = await open(t, { backend: "cpu" });
    const mesh = cap(), uv = await tutte(lw, mesh, { weights }), { offsets, next, closed } = fans(mesh.triangles);
    assert.equal(flipped(mesh.triangles, uv), 0);
    const radius = Math.sqrt(total(faceAreas(mesh)) / Math.PI);
    for (let v = 0; v < closed.length; v++) {
      if (!closed[v]) closeTo(Math.hypot(uv[2 * v], uv[2 * v + 1]), radius, 1e-12, "radius");
      else if (weights === "uniform") {
        const around = [...next.subarray(offsets[v], offsets[v + 1])];
        for (const k of [0, 1]) assert.ok(Math.abs(uv[2 * v + k] - total(around.map((w) => uv[2 * w + k])) / around.length) < 1e-7 * radius, `vertex ${v}`);
      }
    }
  });
}

test("lscm: a patch that can be laid flat keeps its angles and lengths; a cap its angles, nearly", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const roll = grid({ columns: 8, rows: 5, width: 2 });
  for (let k = 0; k < roll.positions.length; k += 3) roll.positions.set([Math.sin(roll.positions[k]), roll.positions[k + 1], 1 - Math.cos(roll.positions[k])], k);
  const uv = await lscm(lw, roll), areas = faceAreas(roll);
  // The two that are held are at their distance through space, which is less than along the roll: all is smaller by one factor.
  const [first, ...others] = sides(roll.triangles, uv).map((side, f) => side / 2 / areas[f]);
  for (const scale of others) closeTo(scale, first, 0.01, "scale");
  const bulge = cap(), flat = await lscm(lw, bulge), { offsets, next, previous, closed } = fans(bulge.triangles);
  let worst = 0;
  const angle = (at, width, a, b, c) => { const d = (q) => Array.from({ length: width }, (_, k) => at[width * q + k] - at[width * a + k]), [p, q] = [d(b), d(c)]; return Math.acos(p.reduce((sum, value, k) => sum + value * q[k], 0) / Math.hypot(...p) / Math.hypot(...q)); };
  for (let v = 0; v < closed.length; v++) {
    if (!closed[v]) continue;
    // Angles in the plane are those in space, scaled to 2π around the vertex.
    const all = [...Array(offsets[v + 1] - offsets[v]).keys()].map((k) => angle(bulge.positions, 3, v, next[offsets[v] + k], previous[offsets[v] + k])), factor = (2 * Math.PI) / total(all);
    all.forEach((given, k) => { worst = Math.max(worst, Math.abs(given * factor - angle(flat, 2, v, next[offsets[v] + k], previous[offsets[v] + k]))); });
  }
  assert.ok(worst < 0.35, `angles differ by ${worst}`);
});

test("a sphere, cut open, goes from Tutte's embedding to the least distortion without turning a triangle over", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const ball = icosphere({ subdivisions: 2 }), path = [0], { offsets, next } = fans(ball.triangles);
  // From pole to pole, always to the neighbour furthest from the start.
  const away = (v) => Math.hypot(...[0, 1, 2].map((k) => ball.positions[3 * v + k] - ball.positions[k]));
  for (;;) {
    const v = path.at(-1), best = [...next.subarray(offsets[v], offsets[v + 1])].reduce((a, b) => (away(b) > away(a) ? b : a));
    if (away(best) <= away(v)) break;
    path.push(best);
  }
  const open2 = cutAlong(ball, path.slice(1).flatMap((v, k) => [path[k], v])), start = await tutte(lw, open2), area = total(faceAreas(open2));
  assert.equal(flipped(open2.triangles, start), 0);
  const problem = lw.problem(), uv = problem.variables("uv", { shape: 2, values: start });
  symmetricDirichlet(problem, open2, { x: uv });
  const report = await problem.solve({ method: "newton", maxIterations: 200 });
  assert.ok(report.converged && report.cost < 0.75 * report.initialCost && report.cost > 4 * area, `${report.cost} of ${report.initialCost}, ${4 * area} being the least`);
  assert.equal(flipped(open2.triangles, await uv.read({ as: "f64" })), 0);
});

test("what has no flat map is refused, and says what to do", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  for (const [name, flatten] of [["tutte(lw, mesh, options)", tutte], ["lscm(lw, mesh)", lscm]]) {
    await rejects(flatten(lw, icosphere({ subdivisions: 1 })), "shape", `${name}: the mesh has no boundary, so it can't be laid into the plane: cut it with cutAlong(mesh, seams)`);
    const one = disk({ rings: 1 }), two = { positions: [...one.positions, ...one.positions], triangles: [...one.triangles, ...one.triangles.map((v) => v + 7)] };
    await rejects(flatten(lw, two), "shape", `${name}: the mesh has 2 components (vertices without faces among them): flatten each by itself`);
    await rejects(flatten(lw, { positions: [], triangles: [] }), "shape", `${name}: the mesh has no faces`);
    await rejects(flatten(lw, { positions: new Float64Array(15), triangles: [0, 1, 2, 1, 0, 3, 0, 1, 4] }), "shape", /belongs to 3 faces/);
  }
  refuses(() => fans([0, 1, 2], 1), "index-out-of-range", /face 0 has the vertex 1/);
  await rejects(lscm(lw, { positions: [0, 0, 0, 1, 0, 0, 2, 0, 0], triangles: [0, 1, 2] }), "shape", /face 0 \(0, 1, 2\) has no area/);
});
