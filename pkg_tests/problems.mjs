// What all tests solve: meshes, problems on them, and the same costs in plain double-precision JavaScript.
import { column, rotateXYZ } from "leastwise";
import { edges } from "leastwise/mesh";

// ── meshes ──

/** A sphere of 10 · 4ⁿ + 2 vertices. */
export function icosphere(subdivisions) {
  const g = (1 + Math.sqrt(5)) / 2;
  const unit = (v) => { const n = Math.hypot(...v); return v.map((c) => c / n); };
  const vertices = [[-1, g, 0], [1, g, 0], [-1, -g, 0], [1, -g, 0], [0, -1, g], [0, 1, g], [0, -1, -g], [0, 1, -g], [g, 0, -1], [g, 0, 1], [-g, 0, -1], [-g, 0, 1]].map(unit);
  let cells = [[0, 11, 5], [0, 5, 1], [0, 1, 7], [0, 7, 10], [0, 10, 11], [1, 5, 9], [5, 11, 4], [11, 10, 2], [10, 7, 6], [7, 1, 8],
    [3, 9, 4], [3, 4, 2], [3, 2, 6], [3, 6, 8], [3, 8, 9], [4, 9, 5], [2, 4, 11], [6, 2, 10], [8, 6, 7], [9, 8, 1]];
  for (let n = 0; n < subdivisions; n++) {
    const halves = new Map();
    const half = (a, b) => {
      const key = a < b ? `${a},${b}` : `${b},${a}`;
      if (!halves.has(key)) halves.set(key, vertices.push(unit(vertices[a].map((c, k) => c + vertices[b][k]))) - 1);
      return halves.get(key);
    };
    cells = cells.flatMap(([a, b, c]) => {
      const [ab, bc, ca] = [half(a, b), half(b, c), half(c, a)];
      return [[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]];
    });
  }
  return { positions: vertices, cells };
}

// ── as rigid as possible ──

/** The mesh scaled to height 1; everything near the ground is pinned, everything near the top is moved by 0.3 in x. */
export function arapMesh({ positions, cells }) {
  const low = [0, 1, 2].map((axis) => Math.min(...positions.map((v) => v[axis])));
  const height = Math.max(...positions.map((v) => v[1])) - low[1];
  const rest = Float32Array.from(positions.flatMap((v) => v.map((value, axis) => (value - low[axis]) / height)));
  const y = (i) => rest[3 * i + 1];
  const handles = Uint32Array.from([...positions.keys()].filter((i) => y(i) < 0.05 || y(i) > 0.95));
  const targets = Float32Array.from([...handles].flatMap((i) => [rest[3 * i] + (y(i) > 0.95 ? 0.3 : 0), y(i), rest[3 * i + 2]]));
  return { rest, triangles: Uint32Array.from(cells.flat()), handles, targets };
}

/** The problem as a user writes it. */
export function arap(lw, { rest: values, triangles, handles: pinned, targets }) {
  const problem = lw.problem();
  const x = problem.variables("position", { shape: 3, values });
  const turn = problem.variables("rotation", { shape: 3, values: new Float32Array(values.length) });
  const rest = problem.constants("rest", { shape: 3, values });
  const rigid = problem.residuals("arap", { over: edges(triangles, { directed: true }), of: [x, x, turn.at(0), rest.at(0), rest.at(1)] },
    ([a, b, w, a0, b0]) => a.sub(b).sub(rotateXYZ(w, a0.sub(b0))));
  const handles = problem.residuals("handles", { of: [x.at(pinned)], data: { target: column(targets, 3) }, weight: 5 },
    ([p], { target }) => p.sub(target));
  return { problem, x, turn, rigid, handles };
}

/** ½Σr² in double precision, without Leastwise. */
export function arapCost({ rest, triangles, handles, targets }, x, angles) {
  let sum = 0;
  for (const [i, j] of directedEdges(triangles)) {
    const [cx, cy, cz] = [0, 1, 2].map((k) => Math.cos(angles[3 * i + k]));
    const [sx, sy, sz] = [0, 1, 2].map((k) => Math.sin(angles[3 * i + k]));
    const [a, b, c] = [0, 1, 2].map((k) => rest[3 * i + k] - rest[3 * j + k]);
    const [y1, z1] = [cx * b - sx * c, sx * b + cx * c];              // Rx
    const [x2, z2] = [cy * a + sy * z1, -sy * a + cy * z1];           // Ry
    const turned = [cz * x2 - sz * y1, sz * x2 + cz * y1, z2];        // Rz
    for (let k = 0; k < 3; k++) sum += (x[3 * i + k] - x[3 * j + k] - turned[k]) ** 2;
  }
  handles.forEach((vertex, n) => {
    for (let k = 0; k < 3; k++) sum += 5 * (x[3 * vertex + k] - targets[3 * n + k]) ** 2;
  });
  return sum / 2;
}

/** Both directions of every edge, each once, found in another way than the package's. */
export function directedEdges(triangles) {
  const found = new Map();
  for (let t = 0; t < triangles.length; t += 3) {
    for (const [p, q] of [[0, 1], [1, 2], [2, 0]]) {
      const i = triangles[t + p], j = triangles[t + q];
      found.set(`${i},${j}`, [i, j]).set(`${j},${i}`, [j, i]);
    }
  }
  return [...found.values()];
}
