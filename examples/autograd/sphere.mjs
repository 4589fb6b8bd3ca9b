// An icosphere and its stars: the faces around every vertex, from the lowest on, each next to the one before.

/** Vertices as [x, y, z] on the unit sphere, and faces as [i, j, k]. */
export function icosphere(subdivisions) {
  const phi = (1 + Math.sqrt(5)) / 2;
  let vertices = [[-1, phi, 0], [1, phi, 0], [-1, -phi, 0], [1, -phi, 0], [0, -1, phi], [0, 1, phi], [0, -1, -phi], [0, 1, -phi], [phi, 0, -1], [phi, 0, 1], [-phi, 0, -1], [-phi, 0, 1]];
  let faces = [
    [0, 11, 5], [0, 5, 1], [0, 1, 7], [0, 7, 10], [0, 10, 11], [1, 5, 9], [5, 11, 4], [11, 10, 2], [10, 7, 6], [7, 1, 8],
    [3, 9, 4], [3, 4, 2], [3, 2, 6], [3, 6, 8], [3, 8, 9], [4, 9, 5], [2, 4, 11], [6, 2, 10], [8, 6, 7], [9, 8, 1],
  ];
  for (let level = 0; level < subdivisions; level++) {
    const middles = new Map();
    const middle = (u, v) => {
      const key = u < v ? `${u} ${v}` : `${v} ${u}`;
      if (!middles.has(key)) middles.set(key, vertices.push(vertices[u].map((part, k) => (part + vertices[v][k]) / 2)) - 1);
      return middles.get(key);
    };
    faces = faces.flatMap(([u, v, w]) => {
      const [a, b, c] = [middle(u, v), middle(v, w), middle(w, u)];
      return [[u, a, c], [v, b, a], [w, c, b], [a, b, c]];
    });
  }
  vertices = vertices.map((vertex) => { const length = Math.hypot(...vertex); return vertex.map((part) => part / length); });
  return { vertices, faces };
}

/** Edges as [i, j], each once. */
export function edgesOf(faces) {
  const found = new Map();
  for (const [a, b, c] of faces) for (const [i, j] of [[a, b], [b, c], [c, a]]) found.set(Math.min(i, j) * 0x1000000 + Math.max(i, j), [i, j]);
  return [...found.values()];
}

/** Faces around every vertex, in their cyclic order. */
export function starsOf({ vertices, faces }) {
  const around = vertices.map(() => []);
  faces.forEach((face, f) => face.forEach((vertex) => around[vertex].push(f)));
  const touches = (f, g) => faces[f].filter((vertex) => faces[g].includes(vertex)).length === 2;
  return around.map((all) => {
    const star = [all[0]], rest = all.slice(1);
    while (rest.length > 0) {
      const next = rest.findIndex((face) => touches(star[star.length - 1], face));
      if (next < 0) break;
      star.push(...rest.splice(next, 1));
    }
    return star;
  });
}
