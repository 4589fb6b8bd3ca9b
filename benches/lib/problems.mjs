// The problems that are measured: each makes one of an engine and a mesh, and gives how many instances its terms have
// and how long they took — `problem.residuals` alone: tracing, differentiating, writing kernels, and the structure.
import { column, rotateXYZ, vec } from "leastwise";
import { edges } from "leastwise/mesh";
import { bothWays, normalised } from "./meshes.mjs";

function timer() {
  let ms = 0;
  return {
    get ms() { return ms; },
    time: (work) => {
      const started = performance.now();
      work();
      ms += performance.now() - started;
    },
  };
}

/** |xᵢ − xⱼ| − rest for every edge: one row, 1×6. The rest lengths are wrong by up to a fifth, so there is something to do. */
export function springs(lw, { positions, triangles, ends }) {
  const table = ends ?? edges(triangles);
  const rest = new Float64Array(table.length / 2);
  for (let e = 0; e < rest.length; e++) {
    const [i, j] = [3 * table[2 * e], 3 * table[2 * e + 1]];
    const length = Math.hypot(positions[i] - positions[j], positions[i + 1] - positions[j + 1], positions[i + 2] - positions[j + 2]);
    rest[e] = length * (1 + 0.2 * Math.sin(e));
  }
  const problem = lw.problem();
  const x = problem.variables("position", { shape: 3, values: positions });
  const trace = timer();
  trace.time(() => problem.residuals("springs", { over: table, of: [x, x], data: { rest: column(rest, 1) } },
    ([a, b], data) => a.sub(b).norm().sub(data.rest)));
  return { problem, traceMs: trace.ms, instances: [rest.length] };
}

/** As-rigid-as-possible: the mesh's foot pinned, its top moved to the side. */
export function arap(lw, mesh) {
  const { rest, table, handles, targets } = arapData(mesh);
  const problem = lw.problem();
  const x = problem.variables("position", { shape: 3, values: rest });
  const turn = problem.variables("rotation", { shape: 3, values: new Float64Array(rest.length) });
  const constants = problem.constants("rest", { shape: 3, values: rest });
  const trace = timer();
  trace.time(() => problem.residuals("arap", { over: table, of: [x, x, turn.at(0), constants.at(0), constants.at(1)] },
    ([a, b, w, a0, b0]) => a.sub(b).sub(rotateXYZ(w, a0.sub(b0)))));
  trace.time(() => problem.residuals("handles", { of: [x.at(handles)], data: { target: column(targets, 3) }, weight: 5 },
    ([p], { target }) => p.sub(target)));
  return { problem, x, turn, traceMs: trace.ms, instances: [table.length / 2, handles.length] };
}

/** A grid of n × n squares, cut into triangles and bent a little. */
function grid(n) {
  const at = (i, j) => i * (n + 1) + j;
  const positions = Float64Array.from({ length: 2 * (n + 1) ** 2 }, (_, k) => {
    const [i, j] = [Math.floor((k >> 1) / (n + 1)), (k >> 1) % (n + 1)];
    return (k % 2 ? i : j) / n + 0.2 / n * Math.sin(12.9898 * k);
  });
  const triangles = [];
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) triangles.push(at(i, j), at(i, j + 1), at(i + 1, j), at(i + 1, j + 1), at(i + 1, j), at(i, j + 1));
  return { positions, triangles: Uint32Array.from(triangles) };
}

/** The symmetric Dirichlet energy of such a grid: what is evaluated is its value and its gradient. */
export function dirichlet(lw, side) {
  const { positions, triangles } = grid(side);
  const problem = lw.problem();
  const x = problem.variables("x", { shape: 2, values: positions });
  const count = triangles.length / 3;
  // The rest shape of every triangle is half of a square, turned by half a turn for every second one.
  const inverse = Float64Array.from({ length: 4 * count }, (_, k) => (k % 4 === 0 || k % 4 === 3 ? (k >> 2) % 2 ? -side : side : 0));
  problem.residuals("dirichlet", { over: triangles, of: [x, x, x], data: { rest: column(inverse, 4), area: 0.5 / side ** 2 } },
    ([a, b, c], { rest, area }) => {
      const u = b.sub(a), v = c.sub(a);
      const j = [u.x.mul(rest.x).add(v.x.mul(rest.z)), u.x.mul(rest.y).add(v.x.mul(rest.w)), u.y.mul(rest.x).add(v.y.mul(rest.z)), u.y.mul(rest.y).add(v.y.mul(rest.w))];
      const determinant = j[0].mul(j[3]).sub(j[1].mul(j[2]));
      const squared = vec(j[0], j[1], j[2], j[3]).normSq();
      return squared.mul(determinant.square().add(1)).div(determinant.square()).mul(area);
    });
  return { problem, instances: [count] };
}

export function arapData(mesh) {
  const { positions: rest, triangles } = mesh.ends ? mesh : normalised(mesh);
  const all = Array.from({ length: rest.length / 3 }, (_, i) => i);
  const isTop = (i) => rest[3 * i + 1] > 0.95;
  const handles = Uint32Array.from(all.filter((i) => rest[3 * i + 1] < 0.05 || isTop(i)));
  const targets = new Float64Array(3 * handles.length);
  handles.forEach((i, n) => targets.set([rest[3 * i] + (isTop(i) ? 0.3 : 0), rest[3 * i + 1], rest[3 * i + 2]], 3 * n));
  return { rest, table: mesh.ends ? bothWays(mesh.ends, rest.length / 3) : edges(triangles, { directed: true }), handles, targets };
}

/** ½Σr² of ARAP in plain double precision, sharing nothing with the engine. */
export function arapCost({ rest, table, handles, targets }, x, angles) {
  let sum = 0;
  for (let e = 0; e < table.length; e += 2) {
    const [i, j] = [3 * table[e], 3 * table[e + 1]];
    const [a, b, c] = [0, 1, 2].map((k) => rest[i + k] - rest[j + k]);
    const [cx, cy, cz] = [0, 1, 2].map((k) => Math.cos(angles[i + k]));
    const [sx, sy, sz] = [0, 1, 2].map((k) => Math.sin(angles[i + k]));
    const [y, z] = [cx * b - sx * c, sx * b + cx * c];                // Rx
    const [u, w] = [cy * a + sy * z, -sy * a + cy * z];               // Ry
    const turned = [cz * u - sz * y, sz * u + cz * y, w];             // Rz
    for (let k = 0; k < 3; k++) sum += (x[i + k] - x[j + k] - turned[k]) ** 2;
  }
  handles.forEach((vertex, n) => {
    for (let k = 0; k < 3; k++) sum += 5 * (x[3 * vertex + k] - targets[3 * n + k]) ** 2;
  });
  return sum / 2;
}
