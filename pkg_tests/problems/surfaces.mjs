// Problems on triangle meshes as { positions: flat numbers, triangles: flat indices }.
import { column, cotangent, eigenSymmetric, mat3, max, mean, sqrt, triangleNormal } from "leastwise";
import { edges, stars } from "leastwise/mesh";
import { icosphere } from "../problems.mjs";
import { Random } from "./random.mjs";

/** An icosphere whose vertices are moved by `noise` in every direction. */
export function roughSphere(level, seed, noise = 0.05) {
  const random = new Random(seed);
  const { positions, cells } = icosphere(level);
  const smooth = Float64Array.from(positions.flat());
  return { smooth, positions: smooth.map((value) => value + noise * random.normal()), triangles: Uint32Array.from(cells.flat()) };
}

/** Springs: |a − b| as long as on the smooth sphere, three vertices held. */
export function springs(lw, { smooth, positions, triangles }) {
  const table = edges(triangles);
  const at = (values, i) => values.subarray(3 * i, 3 * i + 3);
  const rest = Float64Array.from({ length: table.length / 2 }, (_, e) => Math.hypot(...at(smooth, table[2 * e]).map((value, k) => value - at(smooth, table[2 * e + 1])[k])));
  const problem = lw.problem();
  const x = problem.variables("position", { shape: 3, values: positions });
  problem.residuals("springs", { over: table, of: [x, x], data: { rest } }, ([a, b], data) => a.sub(b).norm().sub(data.rest));
  problem.residuals("held", { of: [x.at([0, 1, 2])], data: { to: column(smooth.slice(0, 9), 3) }, weight: 10 }, ([a], { to }) => a.sub(to));
  return { problem, tables: [x] };
}

/** Both triangles of every inner edge: its ends, and the corners that face it. */
function diamonds(triangles) {
  const facing = new Map(), found = [];
  for (let t = 0; t < triangles.length; t += 3) {
    for (let k = 0; k < 3; k++) {
      const [a, b, c] = [0, 1, 2].map((j) => triangles[t + (k + j) % 3]);
      const other = facing.get(`${b},${a}`);
      if (other !== undefined) found.push(a, b, c, other);
      else facing.set(`${a},${b}`, c);
    }
  }
  return Uint32Array.from(found);
}

/** Smoothing: every edge pulls with the root of its cotangent weight on the rough surface, every vertex wants to stay. */
export function cotangentSmoothing(lw, { positions, triangles }, pull = 0.5) {
  const problem = lw.problem();
  const x = problem.variables("position", { shape: 3, values: positions });
  const rough = problem.constants("rough", { shape: 3, values: positions });
  const corners = [0, 1, 2, 3].map((k) => rough.at(k));
  problem.residuals("smooth", { over: diamonds(triangles), of: [x, x, ...corners], weight: pull }, ([a, b, a0, b0, c0, d0]) =>
    // A negative weight (obtuse on both sides) would push: such edges hardly pull.
    a.sub(b).mul(sqrt(max(cotangent(c0, a0, b0).add(cotangent(d0, a0, b0)).div(2), 1e-3))));
  problem.residuals("stay", { of: [x, rough] }, ([a, b]) => a.sub(b));
  return { problem, tables: [x] };
}

/** Fairing: the uniform Laplacian of every vertex is to vanish; every sixteenth vertex is held. */
export function fairing(lw, { positions, triangles }) {
  const problem = lw.problem();
  const count = positions.length / 3;
  const x = problem.variables("position", { shape: 3, values: positions });
  problem.residuals("fair", { of: [x, x.rows(stars(triangles, count))] }, ([centre, around]) => mean(around).sub(centre));
  const held = Uint32Array.from({ length: Math.ceil(count / 16) }, (_, k) => 16 * k);
  const to = Float64Array.from({ length: 3 * held.length }, (_, k) => positions[3 * held[Math.floor(k / 3)] + k % 3]);
  problem.residuals("held", { of: [x.at(held)], data: { to: column(to, 3) }, weight: 10 }, ([a], data) => a.sub(data.to));
  return { problem, tables: [x] };
}

/** For every vertex the two other corners of each of its triangles, in the triangles' order. */
function fans(triangles, count) {
  const rows = Array.from({ length: count }, () => []);
  for (let t = 0; t < triangles.length; t += 3) {
    for (let k = 0; k < 3; k++) rows[triangles[t + k]].push([triangles[t + (k + 1) % 3], triangles[t + (k + 2) % 3]]);
  }
  const offsets = new Uint32Array(count + 1);
  rows.forEach((row, i) => { offsets[i + 1] = offsets[i] + row.length; });
  return [0, 1].map((k) => ({ offsets, indices: Uint32Array.from(rows.flat().map((pair) => pair[k])) }));
}

/**
 * Developability (Stein, Grinspun & Crane, "Developability of triangle meshes", 2018): the normals around every vertex come
 * to lie in a plane, so the least eigenvalue of Σ n nᵀ vanishes; every vertex wants to stay.
 */
export function developability(lw, { positions, triangles }) {
  const problem = lw.problem();
  const x = problem.variables("position", { shape: 3, values: positions });
  const start = problem.constants("start", { shape: 3, values: positions });
  const [second, third] = fans(triangles, positions.length / 3);
  problem.residuals("developable", { of: [x, x.rows(second), x.rows(third)] }, ([a, b, c]) => {
    const outer = b.map((_, k) => {
      const n = triangleNormal(a, b[k], c[k]);
      return mat3(n.mul(n.x), n.mul(n.y), n.mul(n.z));
    });
    return eigenSymmetric(outer.reduce((m, each) => m.add(each))).values.x;
  });
  problem.residuals("stay", { of: [x, start] }, ([a, b]) => a.sub(b));
  return { problem, tables: [x] };
}
