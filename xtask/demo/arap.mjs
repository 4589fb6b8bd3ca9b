// The as-rigid-as-possible problem: its mesh and handles, and its cost in plain double-precision JavaScript.
// The evaluator shares nothing with Leastwise, so it can judge both of its results.

/** The mesh scaled to height 1, with its pinned base and its lifted top. */
export function arapProblem({ positions: vertices, cells }) {
  const low = [0, 1, 2].map((axis) => Math.min(...vertices.map((v) => v[axis])));
  const height = Math.max(...vertices.map((v) => v[1])) - low[1];
  const rest = Float32Array.from(vertices.flatMap((v) => v.map((value, axis) => (value - low[axis]) / height)));
  const handles = [...vertices.keys()].filter((i) => rest[3 * i + 1] < 0.05 || rest[3 * i + 1] > 0.95);
  const targets = new Float32Array(handles.flatMap((i) => [rest[3 * i] + (isTop(rest, i) ? 0.3 : 0), rest[3 * i + 1], rest[3 * i + 2]]));
  return { rest, triangles: Uint32Array.from(cells.flat()), handles: Uint32Array.from(handles), targets };
}

export const isTop = (rest, vertex) => rest[3 * vertex + 1] > 0.95;

/** ½Σr²: three rows for every directed edge, three with the factor √5 for every handle. */
export function arapCost({ rest, triangles, handles, targets }, x, angles) {
  const directed = new Map();                          // an edge of two triangles counts once in each direction
  const count = rest.length / 3;
  for (let t = 0; t < triangles.length; t += 3) {
    for (const [p, q] of [[0, 1], [1, 2], [2, 0]]) {
      const i = triangles[t + p], j = triangles[t + q];
      directed.set(i * count + j, [i, j]).set(j * count + i, [j, i]);
    }
  }
  let sum = 0;
  for (const [i, j] of directed.values()) {
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
