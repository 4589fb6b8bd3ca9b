// `leastwise/mesh`: tables, measures, generators and repairs, against closed forms and slower ways to the same.
import assert from "node:assert/strict";
import { test } from "node:test";
import bunny from "bunny";
import * as mesh from "leastwise/mesh";
import { closeTo, FULL, refuses } from "./support.mjs";

const { boundaryLoops, clean, components, cutAlong, disk, edges, faceAdjacency, faceNeighbors, fans, grid, hinges, icosphere, inspect, orient, subdivide, vertexFaces } = mesh;
const total = (values) => values.reduce((sum, value) => sum + value, 0);
const rows = (table, width) => Array.from({ length: table.length / width }, (_, k) => [...table.subarray(width * k, width * k + width)]);
const row = ({ offsets, indices }, k) => [...indices.subarray(offsets[k], offsets[k + 1])];

/** A torus of n × m quads, each of two triangles. */
function torus(n, m, R = 2, r = 0.7) {
  const positions = [], triangles = [], at = (i, j) => (i % n) * m + (j % m);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < m; j++) {
      const [u, v] = [(2 * Math.PI * i) / n, (2 * Math.PI * j) / m];
      positions.push((R + r * Math.cos(v)) * Math.cos(u), (R + r * Math.cos(v)) * Math.sin(u), r * Math.sin(v));
      triangles.push(at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j), at(i + 1, j + 1), at(i, j + 1));
    }
  }
  return { positions: Float64Array.from(positions), triangles: Uint32Array.from(triangles) };
}

/** Two meshes beside each other, as one. */
const both = (a, b) => ({ positions: Float64Array.of(...a.positions, ...b.positions), triangles: Uint32Array.of(...a.triangles, ...b.triangles.map((v) => v + a.positions.length / 3)) });
const real = { positions: Float64Array.from(bunny.positions.flat()), triangles: Uint32Array.from(bunny.cells.flat()) };
const SURFACES = { "a grid": grid({ columns: 5, rows: 3 }), "a disk": disk({ rings: 4 }), "an icosphere": icosphere({ subdivisions: 2 }), "a torus": torus(9, 7), "two components": both(torus(5, 4), disk({ rings: 2 })) };

// ── tables ──

for (const [name, { positions, triangles }] of Object.entries(SURFACES)) {
  const faces = rows(triangles, 3), count = positions.length / 3, sharing = (a, b) => faces.filter((face) => face.includes(a) && face.includes(b));

  test(`${name}: hinges are the inner edges with both of their faces`, () => {
    const table = rows(hinges(triangles), 4), inner = rows(edges(triangles), 2).filter(([a, b]) => sharing(a, b).length === 2);
    assert.deepEqual(table.map(([, b, c]) => [b, c]), inner);
    const turned = (face, [p, q, r]) => [0, 1, 2].some((k) => face[k] === p && face[(k + 1) % 3] === q && face[(k + 2) % 3] === r);
    for (const [a, b, c, d] of table) assert.ok(faces.some((face) => turned(face, [a, b, c])) && faces.some((face) => turned(face, [d, c, b])), `${[a, b, c, d]}`);
  });

  test(`${name}: fans go around every vertex, face by face`, () => {
    const { offsets, faces: around, next, previous, closed } = fans(triangles, count), plain = vertexFaces(triangles, count);
    assert.deepEqual(offsets, plain.offsets);
    for (let v = 0; v < count; v++) {
      assert.deepEqual([...around.subarray(offsets[v], offsets[v + 1])].sort((a, b) => a - b), row(plain, v));
      assert.deepEqual(row(plain, v), [...faces.keys()].filter((f) => faces[f].includes(v)));
      for (let k = offsets[v]; k < offsets[v + 1]; k++) {
        const face = faces[around[k]], corner = face.indexOf(v);
        assert.deepEqual([next[k], previous[k]], [face[(corner + 1) % 3], face[(corner + 2) % 3]]);
        if (k + 1 < offsets[v + 1]) assert.equal(next[k + 1], previous[k], "the next face begins where this one ends");
      }
      const goesAround = previous[offsets[v + 1] - 1] === next[offsets[v]];
      assert.equal(closed[v], Number(goesAround));
      if (goesAround) assert.equal(around[offsets[v]], row(plain, v)[0], "the lowest face is first");
    }
  });

  test(`${name}: adjacency, boundary, components and counts`, () => {
    const adjacent = faceAdjacency(triangles), neighbors = faceNeighbors(triangles);
    for (const [f, face] of faces.entries()) {
      const common = faces.map((other, g) => (g !== f && other.filter((v) => face.includes(v)).length === 2 ? g : -1)).filter((g) => g >= 0);
      assert.deepEqual(row(adjacent, f), common);
      assert.deepEqual([...neighbors.subarray(3 * f, 3 * f + 3)].filter((g) => g >= 0).sort((a, b) => a - b), common);
      for (let k = 0; k < 3; k++) {
        const other = neighbors[3 * f + k];
        assert.deepEqual(sharing(face[k], face[(k + 1) % 3]).length, other < 0 ? 1 : 2);
        if (other >= 0) assert.ok(faces[other].includes(face[k]) && faces[other].includes(face[(k + 1) % 3]));
      }
    }
    const loops = boundaryLoops(triangles), open = rows(edges(triangles), 2).filter(([a, b]) => sharing(a, b).length === 1);
    assert.equal(total(loops.map((loop) => loop.length)), open.length);
    for (const loop of loops) {
      assert.equal(loop[0], Math.min(...loop));
      loop.forEach((v, k) => assert.ok(faces.some((face) => face.some((w, j) => w === v && face[(j + 1) % 3] === loop[(k + 1) % loop.length])), "along the faces"));
    }
    const { eulerCharacteristic, ...counts } = inspect(triangles, count);
    assert.deepEqual(counts, { vertices: count, edges: edges(triangles).length / 2, faces: faces.length, unused: 0, degenerate: 0, boundaryEdges: open.length, nonManifoldEdges: 0, misorientedEdges: 0, components: name === "two components" ? 2 : 1 });
    assert.equal(eulerCharacteristic, { "a grid": 1, "a disk": 1, "an icosphere": 2, "a torus": 0, "two components": 1 }[name]);
    const defects = total(mesh.angleDefects({ positions, triangles }));
    assert.ok(Math.abs(defects - 2 * Math.PI * eulerCharacteristic) < 1e-12, `Gauss and Bonnet: ${defects}`);
  });
}

test("components: numbered by their smallest vertices; one without faces is its own", () => {
  const { count, ofVertex, ofFace } = components([4, 5, 6, 0, 2, 3], 8);
  assert.equal(count, 4);
  assert.deepEqual([...ofVertex], [0, 1, 0, 0, 2, 2, 2, 3]);
  assert.deepEqual([...ofFace], [2, 0]);
});

test("rows are as good as flat arrays, and nothing is written to what is given", () => {
  const { positions, triangles } = disk({ rings: 2 }), nested = { positions: rows(positions, 3), triangles: rows(triangles, 3) }, before = [positions.slice(), triangles.slice()];
  for (const name of ["hinges", "fans", "vertexFaces", "faceAdjacency", "faceNeighbors", "boundaryLoops", "components", "orient", "inspect"]) assert.deepEqual(mesh[name](nested.triangles), mesh[name](triangles), name);
  for (const name of ["faceAreas", "faceNormals", "cornerAngles", "vertexNormals", "vertexAreas", "cotangentWeights", "edgeLengths", "meanCurvature", "angleDefects", "volume", "triangleFrames", "boundingBox", "subdivide", "clean"]) assert.deepEqual(mesh[name](nested), mesh[name]({ positions, triangles }), name);
  assert.deepEqual(cutAlong(nested, [[0, 1]]), cutAlong({ positions, triangles }, [0, 1]));
  assert.deepEqual(mesh.decimate(nested, { faces: 8 }), mesh.decimate({ positions, triangles }, { faces: 8 }));
  assert.deepEqual([positions, triangles], before);
});

test("orient: neighbours go along their edge in opposite directions; one-sided surfaces are refused", () => {
  const { triangles } = icosphere({ subdivisions: 1 }), mixed = triangles.slice();
  for (let k = 9; k < mixed.length; k += 12) [mixed[k + 1], mixed[k + 2]] = [mixed[k + 2], mixed[k + 1]];
  assert.ok(inspect(mixed).misorientedEdges > 10);
  refuses(() => hinges(mixed), "shape", /^hinges\(triangles\): the faces \d+ and \d+ both go from vertex \d+ to \d+, so one of them is turned over: orient\(triangles\) turns faces alike$/);
  assert.deepEqual(orient(mixed), triangles);
  // A Möbius strip of five triangles (and, with one side more, a band).
  const strip = [0, 1, 2, 1, 3, 2, 2, 3, 4, 3, 0, 4, 4, 0, 1];
  refuses(() => orient(strip), "shape", /one side only/);
});

// ── what is no surface ──

test("edges of three faces, pinched vertices and broken faces: refused by name, or separated", () => {
  const book = [0, 1, 2, 1, 0, 3, 0, 1, 4];
  for (const name of ["hinges", "fans", "faceNeighbors", "boundaryLoops"]) refuses(() => mesh[name](book), "shape", /the edge 0–1 belongs to 3 faces \(0, 1, 2\): this needs a surface/);
  assert.equal(inspect(book).nonManifoldEdges, 1);
  assert.deepEqual(rows(edges(book), 2).length, 7);
  assert.deepEqual(row(faceAdjacency(book), 0), [1, 2]);
  assert.equal(components(book).count, 1);
  const bow = { positions: new Float64Array(15).map((_, k) => Math.sin(k)), triangles: Uint32Array.of(0, 1, 2, 0, 3, 4) };
  refuses(() => fans(bow.triangles), "shape", /vertex 0 has 2 faces, of which only 1 follow each other/);
  assert.deepEqual(boundaryLoops(bow.triangles).map((loop) => [...loop]), [[0, 1, 2], [0, 3, 4]]);
  const parted = cutAlong(bow, []);
  assert.deepEqual([[...parted.triangles], [...parted.toOriginal]], [[0, 1, 2, 5, 3, 4], [0, 1, 2, 3, 4, 0]]);
  assert.equal(components(parted.triangles).count, 2);
  fans(parted.triangles);
  for (const name of ["hinges", "fans", "faceAdjacency", "boundaryLoops", "orient"]) refuses(() => mesh[name]([0, 1, 2, 2, 3, 2]), "shape", `${name}(triangles${name === "fans" ? ", vertices" : ""}): face 1 names the vertex 2 twice (2, 3, 2): clean(mesh) leaves such faces out`);
});

test("meshes that are none: the vertex or the face is named", () => {
  const points = [0, 0, 0, 1, 0, 0, 0, 1, 0];
  refuses(() => mesh.faceAreas({ positions: points, triangles: [0, 1, 3] }), "index-out-of-range", "faceAreas(mesh): face 0 has the vertex 3, but there are 3 vertices (0 to 2)");
  refuses(() => mesh.faceAreas({ positions: points, triangles: [0, 1, 1.5] }), "index-out-of-range", "faceAreas(mesh): face 0 has the vertex 1.5, but there are 3 vertices (0 to 2)");
  refuses(() => mesh.faceAreas({ positions: [0, 0, 0, 1, NaN, 0], triangles: [] }), "non-finite", "faceAreas(mesh): positions: vertex 1 has the coordinate NaN");
  refuses(() => mesh.faceAreas({ positions: [0, 0], triangles: [] }), "data-length", "faceAreas(mesh): positions has 2 numbers, which is not a multiple of 3");
  refuses(() => mesh.faceAreas({ positions: points, triangles: [0, 1] }), "data-length", "faceAreas(mesh): triangles has 2 indices, which is not a multiple of 3");
  refuses(() => mesh.faceAreas(points), "invalid-option", /^faceAreas\(mesh\): a mesh is \{ positions, triangles \}, not /);
  refuses(() => mesh.faceAreas(undefined), "invalid-option", /a mesh is \{ positions, triangles \}, not undefined/);
  refuses(() => fans([0, 1, 2], 2), "index-out-of-range", "fans(triangles, vertices): face 0 has the vertex 2, but there are 2 vertices (0 to 1)");
  refuses(() => hinges([0, 1, 67108864]), "index-out-of-range", /indices are integers from 0 to 67108863/);
  refuses(() => mesh.edgeLengths({ positions: points, triangles: [0, 1, 2] }, [0, 1, 1, 3]), "index-out-of-range", "edgeLengths(mesh, table): row 1 of the table has the vertex 3, but there are 3 vertices (0 to 2)");
  refuses(() => cutAlong({ positions: points, triangles: [0, 1, 2] }, [0, 1, 0, 0]), "shape", "cutAlong(mesh, seams): row 1 of the seams is 0, 0, which is no edge of the mesh");
  refuses(() => mesh.triangleFrames({ positions: [0, 0, 0, 1, 1, 1, 2, 2, 2], triangles: [0, 1, 2] }), "shape", /face 0 \(0, 1, 2\) has no area/);
  refuses(() => mesh.triangleFrames({ positions: points, triangles: [0, 1, 2] }, [0, 0, 0, 1, 1, 0]), "shape", /face 0 \(0, 1, 2\) has material coordinates that are turned over/);
  refuses(() => subdivide(grid({ columns: 64 }), { times: 12 }), "limits", /faces would become/);
  refuses(() => grid({ colums: 3 }), "invalid-option", /did you mean "columns"/);
});

test("empty meshes have nothing, and nothing is thrown", () => {
  const none = { positions: [], triangles: [] };
  for (const name of ["hinges", "faceNeighbors", "boundaryLoops", "orient"]) assert.equal(mesh[name]([]).length, 0, name);
  for (const name of ["faceAreas", "faceNormals", "cornerAngles", "vertexNormals", "vertexAreas", "edgeLengths", "angleDefects"]) assert.equal(mesh[name](none).length, 0, name);
  assert.deepEqual(fans([]).offsets, Uint32Array.of(0));
  assert.equal(components([]).count, 0);
  assert.equal(mesh.volume(none), 0);
  assert.deepEqual(inspect([], 2), { vertices: 2, edges: 0, faces: 0, unused: 2, degenerate: 0, boundaryEdges: 0, nonManifoldEdges: 0, misorientedEdges: 0, components: 0, eulerCharacteristic: 0 });
  for (const made of [subdivide(none), clean(none), cutAlong(none, []), mesh.decimate(none, { faces: 0 })]) assert.deepEqual([made.positions.length, made.triangles.length], [0, 0]);
  assert.equal(mesh.boundingBox(none).diagonal, 0);
});

// ── measures ──

test("a right-angled triangle: area, normal, angles, cotangents, frame", () => {
  const one = { positions: [1, 1, 1, 4, 1, 1, 1, 5, 1], triangles: [0, 1, 2] };
  assert.deepEqual([...mesh.faceAreas(one)], [6]);
  assert.deepEqual([...mesh.faceNormals(one)], [0, 0, 1]);
  mesh.cornerAngles(one).forEach((angle, k) => closeTo(angle, [Math.PI / 2, Math.atan(4 / 3), Math.atan(3 / 4)][k], 1e-15, `angle ${k}`));
  const { edges: table, weights } = mesh.cotangentWeights(one);
  assert.deepEqual([...table], [0, 1, 0, 2, 1, 2]);
  [2 / 3, 3 / 8, 0].forEach((weight, k) => assert.ok(Math.abs(weights[k] - weight) < 1e-15, `weight ${k}: ${weights[k]}`));
  assert.deepEqual([...mesh.edgeLengths(one)], [3, 4, 5]);
  assert.deepEqual([...mesh.vertexAreas(one)], [2, 2, 2]);
  assert.deepEqual([...mesh.vertexAreas(one, { kind: "mixed" })], [3, 1.5, 1.5]);
  const { inverses, areas } = mesh.triangleFrames(one);
  assert.deepEqual([[...areas], [...inverses]], [[6], [1 / 3, -0, -0, 1 / 4]]);
});

test("spheres, tori and grids: areas, volumes, normals and curvatures come near to those of the surfaces", () => {
  const ball = icosphere({ subdivisions: 4, radius: 2 });
  closeTo(total(mesh.faceAreas(ball)), 16 * Math.PI, 0.005, "area");
  closeTo(mesh.volume(ball), (32 / 3) * Math.PI, 0.005, "volume");
  for (const kind of ["barycentric", "mixed"]) closeTo(total(mesh.vertexAreas(ball, { kind })), total(mesh.faceAreas(ball)), 1e-12, `${kind} areas`);
  const { values, vectors } = mesh.meanCurvature(ball);
  assert.ok(values.every((value) => Math.abs(value - 0.5) < 0.01), `H from ${Math.min(...values)} to ${Math.max(...values)}`);
  vectors.forEach((value, k) => assert.ok(Math.abs(value - ball.positions[k] / 2) < 0.02, `2Hn is 2x/r² (${value})`));
  const gauss = mesh.angleDefects(ball).map((defect, v) => defect / mesh.vertexAreas(ball, { kind: "mixed" })[v]);
  assert.ok(gauss.every((value) => Math.abs(value - 0.25) < 0.01), "K");
  for (const weight of ["angle", "area", "uniform"]) mesh.vertexNormals(ball, { weight }).forEach((value, k) => assert.ok(Math.abs(value - ball.positions[k] / 2) < 0.01, `${weight}: ${value}`));
  closeTo(mesh.volume(torus(120, 60)), 2 * Math.PI ** 2 * 2 * 0.7 ** 2, 0.01, "a torus' volume");
  const plane = grid({ columns: 4, rows: 2, width: 2, height: 3 });
  closeTo(total(mesh.faceAreas(plane)), 6, 1e-14, "a grid's area");
  assert.ok(mesh.meanCurvature(plane).values.every((value) => value === 0));
  assert.deepEqual(mesh.boundingBox(plane), { min: Float64Array.of(0, 0, 0), max: Float64Array.of(2, 3, 0), center: Float64Array.of(1, 1.5, 0), diagonal: Math.sqrt(13) });
  // The Dirichlet energy of a linear function is half its squared slope times the area.
  const { edges: pairs, weights } = mesh.cotangentWeights(plane), height = (v) => 3 * plane.positions[3 * v] - plane.positions[3 * v + 1];
  closeTo(total(weights.map((weight, e) => (weight * (height(pairs[2 * e]) - height(pairs[2 * e + 1])) ** 2) / 2)), (6 * 10) / 2, 1e-13, "Dirichlet");
});

test("faces without area count with 0", () => {
  const thin = { positions: [0, 0, 0, 1, 0, 0, 2, 0, 0], triangles: [0, 1, 2] };
  assert.deepEqual([...mesh.faceNormals(thin), ...mesh.cornerAngles(thin), ...mesh.cotangentWeights(thin).weights, ...mesh.vertexNormals(thin), ...mesh.meanCurvature(thin).values], new Array(21).fill(0));
});

// ── generators and subdivision ──

test("generators: counts, sizes and orientation", () => {
  const ball = icosphere({ subdivisions: 3, radius: 3 }), flat = disk({ rings: 5, radius: 2 });
  assert.deepEqual([ball.positions.length / 3, ball.triangles.length / 3], [642, 1280]);
  for (let k = 0; k < ball.positions.length; k += 3) closeTo(Math.hypot(...ball.positions.subarray(k, k + 3)), 3, 1e-15, "radius");
  assert.ok(mesh.volume(ball) > 0);
  assert.deepEqual([flat.positions.length / 3, boundaryLoops(flat.triangles)[0].length], [91, 30]);
  assert.ok(rows(mesh.faceNormals(flat), 3).every(([, , z]) => z === 1));
  assert.ok(Math.max(...mesh.faceAreas(flat)) < 1.6 * Math.min(...mesh.faceAreas(flat)));
  assert.deepEqual(grid({ columns: 1 }), { positions: Float64Array.of(0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0), triangles: Uint32Array.of(0, 1, 3, 0, 3, 2) });
});

test("midpoint subdivision keeps the surface; Loop's has its limits", () => {
  for (const [name, surface] of Object.entries(SURFACES)) {
    const once = subdivide(surface), smooth = subdivide(surface, { scheme: "loop" });
    closeTo(total(mesh.faceAreas(once)), total(mesh.faceAreas(surface)), 1e-12, `${name}: area`);
    assert.deepEqual(once.positions.subarray(0, surface.positions.length), surface.positions);
    assert.deepEqual(smooth.triangles, once.triangles);
    const [before, after] = [inspect(surface.triangles), inspect(once.triangles)];
    assert.deepEqual([after.faces, after.edges, after.vertices, after.boundaryEdges, after.eulerCharacteristic], [4 * before.faces, 2 * before.edges + 3 * before.faces, before.vertices + before.edges, 2 * before.boundaryEdges, before.eulerCharacteristic]);
  }
  assert.deepEqual(subdivide(SURFACES["a disk"], { times: 2 }), subdivide(subdivide(SURFACES["a disk"])));
  assert.deepEqual(subdivide(real, { times: 0 }), real);
  // Loop's rule of an octahedron, by hand: valence 4 has β = (5/8 − (3/8)²)/4 = 31/256, and neighbours that sum up to 0.
  const octahedron = { positions: [1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1], triangles: [0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5] };
  const { positions } = subdivide(octahedron, { scheme: "loop" });
  assert.deepEqual([...positions.subarray(0, 3)], [1 - 31 / 64, 0, 0]);
  assert.deepEqual([...positions.subarray(18, 21)], [3 / 8, 3 / 8, 0], "an edge: (3, 3, 0)/8 and both opposite corners, which cancel");
  // A boundary becomes a cubic B-spline, whatever is inside.
  const square = subdivide(grid({ columns: 2 }), { scheme: "loop" });
  assert.deepEqual([...square.positions.subarray(3, 6)], [0.5, 0, 0]);
  assert.deepEqual([...square.positions.subarray(0, 3)], [1 / 16, 1 / 16, 0]);
});

// ── repairs ──

test("clean: merges, and leaves out what is broken, repeated or unused", () => {
  const made = clean({ positions: [9, 9, 9, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, -0, 0, 1, 1, 0, 2, 0, 0], triangles: [1, 2, 3, 2, 5, 3, 4, 3, 2, 4, 1, 2, 1, 2, 6, 3, 2, 5] });
  assert.deepEqual([[...made.positions], [...made.triangles], [...made.toCleaned]], [[0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0], [0, 1, 2, 1, 3, 2], [4294967295, 0, 1, 2, 0, 3, 4294967295]]);
  const split = { positions: Float64Array.from(real.triangles, () => 0), triangles: Uint32Array.from(real.triangles, (_, k) => k) };
  split.positions = Float64Array.from({ length: 3 * real.triangles.length }, (_, k) => real.positions[3 * real.triangles[Math.floor(k / 3)] + (k % 3)]);
  const whole = clean(split), moved = clean({ ...split, positions: split.positions.map((value, k) => value + 1e-7 * Math.sin(k)) }, { tolerance: 1e-6 });
  assert.equal(whole.positions.length, clean(real).positions.length);
  assert.equal(moved.positions.length, whole.positions.length);
  assert.deepEqual(moved.triangles, whole.triangles);
  for (let k = 0; k < split.triangles.length; k++) assert.deepEqual(whole.positions.slice(3 * whole.toCleaned[k], 3 * whole.toCleaned[k] + 3), split.positions.slice(3 * k, 3 * k + 3));
});

test("cutAlong: a sphere cut along a path stays one, along a ring it falls apart, a torus becomes a disk", () => {
  const ball = icosphere({ subdivisions: 2 }), area = total(mesh.faceAreas(ball));
  // A path of three edges from vertex to vertex.
  const path = [0];
  while (path.length < 4) path.push(row(mesh.stars(ball.triangles, 162), path.at(-1)).filter((v) => !path.includes(v)).at(-1));
  const slit = cutAlong(ball, path.slice(1).flatMap((v, k) => [path[k], v]));
  assert.deepEqual([slit.positions.length / 3, boundaryLoops(slit.triangles).map((loop) => loop.length), inspect(slit.triangles).eulerCharacteristic], [164, [6], 1]);
  slit.toOriginal.forEach((from, v) => assert.deepEqual(slit.positions.slice(3 * v, 3 * v + 3), ball.positions.slice(3 * from, 3 * from + 3)));
  const ring = fans(ball.triangles), star = [...ring.next.subarray(ring.offsets[20], ring.offsets[21])];
  const apart = cutAlong(ball, star.map((v, k) => [v, star[(k + 1) % star.length]]));
  assert.equal(components(apart.triangles).count, 2);
  closeTo(total(mesh.faceAreas(apart)), area, 1e-13, "area");
  const [n, m] = [9, 7], seams = [...Array(m).keys()].map((j) => [j, (j + 1) % m]).concat([...Array(n).keys()].map((i) => [i * m, ((i + 1) % n) * m]));
  const open = cutAlong(torus(n, m), seams);
  assert.deepEqual([inspect(open.triangles).eulerCharacteristic, boundaryLoops(open.triangles).length], [1, 1]);
});

test("decimate: closed, open and real meshes keep their shape, topology and orientation", () => {
  const hills = grid({ columns: 40, rows: 40 });
  for (let k = 0; k < hills.positions.length; k += 3) hills.positions[k + 2] = 0.1 * Math.sin(4 * hills.positions[k]) * Math.cos(5 * hills.positions[k + 1]);
  for (const [name, surface, faces, worst] of [["sphere", icosphere({ subdivisions: 4 }), 500, 0.01], ["torus", torus(60, 30), 600, 0.02], ["hills", hills, 300, 0.02], ["two", both(torus(40, 20), disk({ rings: 12 })), 300, 0.05]]) {
    const made = mesh.decimate(surface, { faces }), [before, after] = [inspect(surface.triangles), inspect(made.triangles)];
    assert.ok(after.faces <= faces && after.faces > faces - 3, `${name}: ${after.faces} faces`);
    assert.deepEqual([after.eulerCharacteristic, after.components, after.nonManifoldEdges, after.misorientedEdges, after.degenerate, after.unused], [before.eulerCharacteristic, before.components, 0, 0, 0, 0], name);
    assert.equal(boundaryLoops(made.triangles).length, boundaryLoops(surface.triangles).length);
    closeTo(total(mesh.faceAreas(made)), total(mesh.faceAreas(surface)), 0.03, `${name}: area`);
    assert.ok(made.error < worst, `${name}: ${made.error}`);
    assert.deepEqual(made, mesh.decimate(surface, { faces }), "the same each time");
    assert.deepEqual(new Set(made.toDecimated).size, after.vertices, "every vertex came from one or more");
    if (name === "sphere") {
      made.toDecimated.forEach((to, from) => {
        const away = Math.hypot(...[0, 1, 2].map((k) => made.positions[3 * to + k] - surface.positions[3 * from + k]));
        assert.ok(away < 0.3, `vertex ${from} went ${away} far`);
      });
    }
  }
  const flat = mesh.decimate(grid({ columns: 30 }), { faces: 2 });
  assert.equal(flat.triangles.length, 6, "a square is two triangles");
  assert.deepEqual(rows(flat.positions, 3).map((p) => p.map((value) => Math.round(value * 1e9) / 1e9 + 0).join()).sort(), ["0,0,0", "0,1,0", "1,0,0", "1,1,0"]);
  assert.ok(flat.error < 1e-6);
  const stopped = mesh.decimate(icosphere({ subdivisions: 3 }), { faces: 0, maximumError: 0.01 });
  assert.ok(stopped.error <= 0.01 && stopped.triangles.length / 3 > 50);
  assert.deepEqual(inspect(mesh.decimate(icosphere({ subdivisions: 1 }), { faces: 0 }).triangles).eulerCharacteristic, 2, "it never vanishes");
  // Edges of three faces, and what is on them, stay.
  const book = { positions: [0, 0, 0, 0, 1, 0, 1, 0, 0, -1, 0, 0, 0, 0, 1], triangles: [0, 1, 2, 1, 0, 3, 0, 1, 4] };
  assert.deepEqual([...mesh.decimate(book, { faces: 0 }).triangles], book.triangles);
  const small = mesh.decimate(real, { faces: 1000 });
  assert.ok(small.triangles.length / 3 <= 1000 && inspect(small.triangles).nonManifoldEdges === 0);
});

test("tables of 80,000 faces are made in time that grows as their number", () => {
  const [small, large] = [5, FULL ? 7 : 6].map((subdivisions) => icosphere({ subdivisions })), times = 4 ** (FULL ? 2 : 1);
  const seconds = (work) => { const began = performance.now(); work(); return (performance.now() - began) / 1000; };
  for (const name of ["hinges", "fans", "faceAdjacency", "boundaryLoops", "components", "inspect", "orient"]) {
    mesh[name](small.triangles);
    // Generous: a machine may have other work. What is quadratic takes four times as long as that.
    const [a, b] = [seconds(() => mesh[name](small.triangles)), seconds(() => mesh[name](large.triangles))];
    assert.ok(b < Math.max(1, 4 * times * a), `${name}: ${a} s and ${b} s`);
  }
  for (const name of ["vertexNormals", "cotangentWeights", "meanCurvature", "subdivide", "clean"]) {
    const took = seconds(() => mesh[name](large));
    assert.ok(took < (FULL ? 16 : 4), `${name}: ${took} s`);
  }
});

// ── hostile input ──

const OF_TRIANGLES = ["hinges", "faceAdjacency", "faceNeighbors", "boundaryLoops", "orient"], OF_TRIANGLES_AND_COUNT = ["fans", "vertexFaces", "components", "inspect"];
const OF_MESH = ["faceAreas", "faceNormals", "cornerAngles", "cotangentWeights", "meanCurvature", "angleDefects", "volume", "boundingBox"], OF_MESH_AND_OPTIONS = ["vertexNormals", "vertexAreas", "subdivide", "clean", "decimate"];

test("whatever is given, the answer is a result or an error of ours", () => {
  const moved = new Float64Array(9);
  structuredClone(moved, { transfer: [moved.buffer] });
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const thrower = { get length() { throw new Error("no"); }, get positions() { throw new Error("no"); }, get triangles() { throw new Error("no"); } };
  const values = [undefined, null, 0, NaN, "012", Symbol("s"), () => 1, new Map(), {}, [], [[]], [[0, 1]], [0, 1, -1], [0, 1, 2 ** 40], [0, 1, NaN], ["0", "1", "2"], [0n, 1n, 2n], new BigInt64Array(3), moved, proxy, thrower, { length: -1 }, { length: 1e300 }, { length: 3, 0: 0, 1: 1, 2: 2 }];
  let refused = 0;
  const attempt = (name, work) => {
    try {
      work();
    } catch (error) {
      assert.equal(error?.name, "LeastwiseError", `${name}: ${error?.stack}`);
      refused++;
    }
  };
  for (const value of values) {
    for (const name of [...OF_TRIANGLES, ...OF_TRIANGLES_AND_COUNT]) attempt(name, () => mesh[name](value));
    for (const name of OF_TRIANGLES_AND_COUNT) attempt(name, () => mesh[name]([0, 1, 2], value));
    for (const name of [...OF_MESH, ...OF_MESH_AND_OPTIONS]) {
      attempt(name, () => mesh[name](value, {}));
      attempt(name, () => mesh[name]({ positions: value, triangles: [0, 1, 2] }));
      attempt(name, () => mesh[name]({ positions: [0, 0, 0, 1, 0, 0, 0, 1, 0], triangles: value }));
    }
    for (const name of OF_MESH_AND_OPTIONS) attempt(name, () => mesh[name]({ positions: [0, 0, 0, 1, 0, 0, 0, 1, 0], triangles: [0, 1, 2] }, value));
    for (const name of ["cutAlong", "edgeLengths", "triangleFrames"]) attempt(name, () => mesh[name]({ positions: [0, 0, 0, 1, 0, 0, 0, 1, 0], triangles: [0, 1, 2] }, value));
    for (const name of ["grid", "disk", "icosphere"]) attempt(name, () => mesh[name](value));
  }
  assert.ok(refused > 1000, `${refused} calls were refused`);
});

test("an argument too many is refused, and an option that there is none of", () => {
  const flat = { positions: [0, 0, 0, 1, 0, 0, 0, 1, 0], triangles: [0, 1, 2] };
  const calls = [...OF_TRIANGLES.map((name) => [name, flat.triangles]), ...OF_TRIANGLES_AND_COUNT.map((name) => [name, flat.triangles, 3]), ...OF_MESH.map((name) => [name, flat]), ...OF_MESH_AND_OPTIONS.map((name) => [name, flat, {}]), ["cutAlong", flat, []], ["edgeLengths", flat, [0, 1]], ["grid", { columns: 1 }], ["disk", { rings: 1 }], ["icosphere", { subdivisions: 0 }]];
  for (const [name, ...takes] of calls) refuses(() => mesh[name](...takes, { foo: 1 }), "invalid-option", / takes (one|2) arguments?, but argument \d is an Object/);
  for (const name of OF_MESH_AND_OPTIONS) refuses(() => mesh[name](flat, { fooo: 1 }), "invalid-option", new RegExp(`^${name}\\(mesh, options\\): options have no "fooo"`));
});
