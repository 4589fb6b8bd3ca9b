// Meshes to measure on, as flat arrays.

/**
 * A sheet of `vertices` vertices at least, in a square, whose cells are cut along one diagonal: three edges a vertex, made
 * without looking for any, so that there can be tens of millions. Vertices are numbered row by row, as a mesh that was put in
 * order for its caches.
 */
export function sheet(vertices) {
  const side = Math.ceil(Math.sqrt(vertices)), count = side * side;
  const positions = new Float64Array(3 * count);
  for (let i = 0; i < count; i++) {
    const [u, v] = [(i % side) / (side - 1), Math.floor(i / side) / (side - 1)];
    positions.set([u, v, 0.1 * Math.sin(7 * u) * Math.cos(5 * v)], 3 * i);
  }
  const last = side - 1;
  const ends = new Uint32Array(2 * (2 * side * last + last * last));
  let at = 0;
  for (let i = 0; i < count; i++) {
    const [right, up] = [i % side < last, i < count - side];
    if (right) ends.set([i, i + 1], at), at += 2;
    if (up) ends.set([i, i + side], at), at += 2;
    if (right && up) ends.set([i, i + side + 1], at), at += 2;
  }
  return { positions, ends };
}

/** Every edge in both directions, those of a vertex next to each other. */
export function bothWays(ends, vertices) {
  const starts = new Uint32Array(vertices + 1);
  for (const end of ends) starts[end + 1] += 1;
  for (let i = 0; i < vertices; i++) starts[i + 1] += starts[i];
  const next = starts.slice(), table = new Uint32Array(2 * ends.length);
  for (let e = 0; e < ends.length; e += 2) {
    for (const [a, b] of [[ends[e], ends[e + 1]], [ends[e + 1], ends[e]]]) {
      const place = 2 * next[a]++;
      table[place] = a;
      table[place + 1] = b;
    }
  }
  return table;
}

/** An icosahedron subdivided `level` times, on the unit sphere: 10·4^level + 2 vertices. */
export function icosphere(level) {
  const count = 10 * 4 ** level + 2;
  const positions = new Float64Array(3 * count);
  const t = (1 + Math.sqrt(5)) / 2;
  const corners = [[-1, t, 0], [1, t, 0], [-1, -t, 0], [1, -t, 0], [0, -1, t], [0, 1, t], [0, -1, -t], [0, 1, -t], [t, 0, -1], [t, 0, 1], [-t, 0, -1], [-t, 0, 1]];
  let used = 0;
  const add = (x, y, z) => {
    const length = Math.hypot(x, y, z);
    positions.set([x / length, y / length, z / length], 3 * used);
    return used++;
  };
  for (const corner of corners) add(...corner);
  let triangles = Uint32Array.from([
    0, 11, 5, 0, 5, 1, 0, 1, 7, 0, 7, 10, 0, 10, 11, 1, 5, 9, 5, 11, 4, 11, 10, 2, 10, 7, 6, 7, 1, 8,
    3, 9, 4, 3, 4, 2, 3, 2, 6, 3, 6, 8, 3, 8, 9, 4, 9, 5, 2, 4, 11, 6, 2, 10, 8, 6, 7, 9, 8, 1]);
  for (let step = 0; step < level; step++) {
    const middles = new Map();
    const middle = (a, b) => {
      const key = Math.min(a, b) * count + Math.max(a, b);
      let found = middles.get(key);
      if (found === undefined) {
        found = add(...[0, 1, 2].map((k) => positions[3 * a + k] + positions[3 * b + k]));
        middles.set(key, found);
      }
      return found;
    };
    const finer = new Uint32Array(4 * triangles.length);
    for (let at = 0; at < triangles.length; at += 3) {
      const [a, b, c] = triangles.subarray(at, at + 3);
      const [ab, bc, ca] = [middle(a, b), middle(b, c), middle(c, a)];
      finer.set([a, ab, ca, b, bc, ab, c, ca, bc, ab, bc, ca], 4 * at);
    }
    triangles = finer;
  }
  return { positions, triangles };
}

/** Moved so that every axis begins at 0, and divided by the height (the extent in y). */
export function normalised({ positions, triangles }) {
  const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  positions.forEach((value, i) => {
    low[i % 3] = Math.min(low[i % 3], value);
    high[i % 3] = Math.max(high[i % 3], value);
  });
  const height = high[1] - low[1];
  return { positions: positions.map((value, i) => (value - low[i % 3]) / height), triangles };
}
