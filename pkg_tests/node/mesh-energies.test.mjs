// `leastwise/energies`: each energy against a formula of its own in double precision, and its gradient against differences of that formula.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as energies from "leastwise/energies";
import { fans, grid, hinges, icosphere, subdivide, volume } from "leastwise/mesh";
import { BACKENDS, closeTo, engineOf, FULL, open, refuses } from "./support.mjs";

// ── vectors, and what references share ──

const sub = (a, b) => a.map((value, k) => value - b[k]);
const add = (a, b) => a.map((value, k) => value + b[k]);
const times = (a, s) => a.map((value) => value * s);
const dot = (a, b) => a.reduce((sum, value, k) => sum + value * b[k], 0);
const norm = (a) => Math.sqrt(dot(a, a));
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => times(a, 1 / norm(a));
const total = (values) => values.reduce((sum, value) => sum + value, 0);
const meanOf = (vectors) => times(vectors.reduce(add), 1 / vectors.length);
const at = (x, v, width = 3) => Array.from(x.subarray(width * v, width * v + width));
const facesOf = ({ triangles }) => Array.from({ length: triangles.length / 3 }, (_, f) => [...triangles.subarray(3 * f, 3 * f + 3)]);
const areaOf = (p, q, r) => norm(cross(sub(q, p), sub(r, p))) / 2;
const normalOf = (p, q, r) => unit(cross(sub(q, p), sub(r, p)));
const angleAt = (a, b, c) => Math.acos(dot(unit(sub(b, a)), unit(sub(c, a))));
const cotAt = (a, b, c) => 1 / Math.tan(angleAt(a, b, c));
const edgesOf = (mesh) => [...new Set(facesOf(mesh).flatMap(([a, b, c]) => [[a, b], [b, c], [c, a]].map((pair) => pair.sort((p, q) => p - q).join())))].map((key) => key.split(",").map(Number));
const cotWeight = (mesh, i, j) => total(facesOf(mesh).filter((face) => face.includes(i) && face.includes(j)).map((face) => {
  const k = face.find((v) => v !== i && v !== j);
  return cotAt(at(mesh.positions, k), at(mesh.positions, i), at(mesh.positions, j)) / 2;
}));

/** Numbers between −1 and 1 that look random. */
const noise = (length, seed = 1) => Float64Array.from({ length }, (_, k) => Math.sin(12.9898 * (k + 1) * seed + 78.233 * seed) % 1);
const shaken = (positions, by, seed) => positions.map((value, k) => value + by * noise(positions.length, seed)[k]);

// A rest shape that is nowhere flat, without obtuse angles; and one in the plane.
const ball = icosphere({ subdivisions: 1 });
const hilly = grid({ columns: 4, rows: 3, width: 1.2 });
hilly.positions.forEach((_, k) => { if (k % 3 === 2) hilly.positions[k] = 0.1 * Math.sin(5 * hilly.positions[k - 2]) * Math.cos(4 * hilly.positions[k - 1]); });
const patch = grid({ columns: 3 });

/** Singular values of the map of a face at rest to a face in the plane or in space. */
function singularValues(rest, now) {
  const e = norm(sub(rest[1], rest[0])), fx = dot(sub(rest[2], rest[0]), sub(rest[1], rest[0])) / e, fy = (2 * areaOf(...rest)) / e;
  const u = times(sub(now[1], now[0]), 1 / e), v = times(sub(sub(now[2], now[0]), times(u, fx)), 1 / fy);
  const [xx, xy, yy] = [dot(u, u), dot(u, v), dot(v, v)], mean = (xx + yy) / 2, root = Math.hypot((xx - yy) / 2, xy);
  return { u, v, first: Math.sqrt(mean + root), second: Math.sqrt(Math.max(0, mean - root)) };
}
const perFace = (mesh, x, width, each) => total(facesOf(mesh).map((face) => {
  const rest = face.map((v) => at(mesh.positions, v)), now = face.map((v) => at(x, v, width));
  return areaOf(...rest) * each(singularValues(rest, now), now);
}));

const corners = (mesh) => facesOf(mesh);
const inside = (mesh, least = 1) => {
  const { offsets, next, previous, closed } = fans(mesh.triangles, mesh.positions.length / 3);
  return [...closed.keys()].filter((v) => closed[v] && offsets[v + 1] - offsets[v] >= least).map((v) => ({ v, next: [...next.subarray(offsets[v], offsets[v + 1])], previous: [...previous.subarray(offsets[v], offsets[v + 1])] }));
};
const fanSlots = (mesh, least) => inside(mesh, least).map(({ v, next, previous }) => [v, ...next.flatMap((n, k) => [n, previous[k]])]);
const perFan = (mesh, x, each, least = 4) => total(inside(mesh, least).map(({ v, next, previous }) => each(at(x, v), next.map((n) => at(x, n)), previous.map((p) => at(x, p)))));
const fanNormals = (x, next, previous) => next.map((n, k) => normalOf(x, n, previous[k]));
const variance = (normals) => total(normals.map((n) => dot(sub(n, meanOf(normals)), sub(n, meanOf(normals)))));

/** Eigenvalues of a symmetric 2×2 matrix, the smaller first. */
const eigen2 = (a, b, c) => [(a + c) / 2 - Math.hypot((a - c) / 2, b), (a + c) / 2 + Math.hypot((a - c) / 2, b)];

/** The smaller eigenvalue in the tangent plane, in a basis of that plane. */
function covarianceOf(x, next, previous) {
  const axis = unit(next.map((n, k) => times(normalOf(x, n, previous[k]), areaOf(x, n, previous[k]))).reduce(add));
  const s = unit(cross(axis, Math.abs(axis[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0])), t = cross(axis, s);
  let [ss, st, tt] = [0, 0, 0];
  next.forEach((n, k) => {
    const normal = normalOf(x, n, previous[k]), flat = sub(normal, times(axis, dot(normal, axis)));
    const length = Math.acos(Math.min(1, dot(normal, axis))), along = norm(flat) > 1e-9 ? times(unit(flat), length) : [0, 0, 0], theta = angleAt(x, n, previous[k]);
    ss += theta * dot(along, s) ** 2; st += theta * dot(along, s) * dot(along, t); tt += theta * dot(along, t) ** 2;
  });
  return eigen2(ss, st, tt)[0];
}

function partitionOf(normals) {
  const n = normals.length;
  let best = Infinity;
  for (let size = 1; size < n; size++) {
    for (let first = 0; first < n; first++) {
      const part = Array.from({ length: size }, (_, k) => normals[(first + k) % n]);
      best = Math.min(best, variance(part) + variance(normals.filter((each) => !part.includes(each))));
    }
  }
  return best;
}
const halvesOf = (normals) => [normals.slice(0, Math.floor(normals.length / 2)), normals.slice(Math.floor(normals.length / 2))];
const varianceOf = (normals) => total(halvesOf(normals).map((part) => variance(part) / part.length));
const alignmentOf = (normals) => total(halvesOf(normals).map((part) => total(part.map((n) => 1 - dot(n, unit(meanOf(part))))) / part.length));
const hingeOf = (normals) => Math.min(...normals.flatMap((a, i) => normals.slice(i + 1).map((b) => Math.max(...normals.map((n) => dot(unit(cross(a, b)), n) ** 2)))));

const foldOf = (x, [a, b, c, d]) => {
  const [m, n] = [normalOf(at(x, a), at(x, b), at(x, c)), normalOf(at(x, d), at(x, c), at(x, b))];
  return Math.sign(dot(cross(m, n), sub(at(x, c), at(x, b)))) * Math.acos(Math.min(1, dot(m, n)));
};
const hingesOf = (mesh) => { const table = hinges(mesh.triangles); return Array.from({ length: table.length / 4 }, (_, h) => [...table.subarray(4 * h, 4 * h + 4)]); };

function leastEigenvalue(points) {
  const center = meanOf(points), m = [0, 1, 2].map((i) => [0, 1, 2].map((j) => total(points.map((p) => (p[i] - center[i]) * (p[j] - center[j])))));
  // Of a symmetric 3×3 matrix, by the roots of its characteristic polynomial.
  const q = (m[0][0] + m[1][1] + m[2][2]) / 3, b = m.map((row, i) => row.map((value, j) => value - (i === j ? q : 0)));
  const p = Math.sqrt(total(b.flat().map((value) => value * value)) / 6), det = dot(b[0], cross(b[1], b[2])) / p ** 3 / 2;
  return q + 2 * p * Math.cos(Math.acos(Math.max(-1, Math.min(1, det))) / 3 + (2 * Math.PI) / 3);
}
const QUADS = [[0, 1, 6, 5], [1, 2, 3, 8, 7, 6], [5, 6, 7, 12, 11]];
const barrier = (d, range) => (d < range ? -((d - range) ** 2) * Math.log(d / range) : 0);

// ── every energy: how it is made, where it is looked at, its reference, and the vertices of each instance's columns ──

const flat = Float64Array.from({ length: 32 }, (_, k) => patch.positions[3 * (k >> 1) + (k & 1)]);
const stretched = shaken(flat, 0.05).map((value, k) => value * (k % 2 ? 0.9 : 1.3));
const rough = shaken(hilly.positions, 0.05, 2), bumpy = shaken(ball.positions, 0.06, 3);
const pairs = energies.closePairs(bumpy, 0.7), couples = Array.from({ length: pairs.length / 2 }, (_, k) => [pairs[2 * k], pairs[2 * k + 1]]);
const each = (x) => Array.from({ length: x.length / 3 }, (_, v) => [v]);

const CASES = {
  edgeLengths: { mesh: hilly, x: rough, make: (problem, mesh, x) => energies.edgeLengths(problem, mesh, { x, weight: 3 }), slots: edgesInOrder, reference: (mesh, x) => 1.5 * total(edgesOf(mesh).map(([i, j]) => (norm(sub(at(x, i), at(x, j))) - norm(sub(at(mesh.positions, i), at(mesh.positions, j)))) ** 2)) },
  equalAreas: { mesh: hilly, x: rough, make: (problem, mesh, x) => energies.equalAreas(problem, mesh, { x, area: 0.04 }), slots: corners, reference: (mesh, x) => total(facesOf(mesh).map((face) => (areaOf(...face.map((v) => at(x, v))) - 0.04) ** 2)) / 2 },
  symmetricDirichlet: { mesh: patch, width: 2, x: stretched, make: (problem, mesh, x) => energies.symmetricDirichlet(problem, mesh, { x }), slots: corners, reference: (mesh, x) => perFace(mesh, x, 2, ({ first, second }) => first ** 2 + second ** 2 + first ** -2 + second ** -2) },
  mips: { mesh: patch, width: 2, x: stretched, make: (problem, mesh, x) => energies.mips(problem, mesh, { x, weight: 2 }), slots: corners, reference: (mesh, x) => 2 * perFace(mesh, x, 2, ({ first, second }) => first / second + second / first) },
  lscm: { mesh: patch, width: 2, x: stretched, make: (problem, mesh, x) => energies.lscm(problem, mesh, { x }), slots: corners, reference: (mesh, x) => perFace(mesh, x, 2, ({ first, second }) => (first - second) ** 2 / 2) },
  stretch: { mesh: hilly, x: rough, make: (problem, mesh, x) => energies.stretch(problem, mesh, { x, stretch: [1, 0.9] }), slots: corners, reference: (mesh, x) => perFace(mesh, x, 3, ({ u, v }) => ((norm(u) - 1) ** 2 + (norm(v) - 0.9) ** 2) / 2) },
  shear: { mesh: hilly, x: rough, make: (problem, mesh, x) => energies.shear(problem, mesh, { x }), slots: corners, reference: (mesh, x) => perFace(mesh, x, 3, ({ u, v }) => dot(u, v) ** 2 / 2) },
  stVenantKirchhoff: { mesh: hilly, x: rough, make: (problem, mesh, x) => energies.stVenantKirchhoff(problem, mesh, { x, lambda: 2, mu: 0.7 }), slots: corners, reference: (mesh, x) => perFace(mesh, x, 3, ({ first, second }) => { const [a, b] = [(first ** 2 - 1) / 2, (second ** 2 - 1) / 2]; return (a + b) ** 2 + 0.7 * (a * a + b * b); }) },
  neoHookean: { mesh: hilly, x: rough, make: (problem, mesh, x) => energies.neoHookean(problem, mesh, { x, lambda: 2, mu: 0.7 }), slots: corners, reference: (mesh, x) => perFace(mesh, x, 3, ({ first, second }) => { const log = Math.log(first * second); return 0.35 * (first ** 2 + second ** 2 - 2 - 2 * log) + log * log; }) },
  bending: { mesh: hilly, x: rough, make: (problem, mesh, x) => energies.bending(problem, mesh, { x }), slots: hingesOf, reference: (mesh, x) => total(hingesOf(mesh).map((hinge) => {
    const [a, b, c, d] = hinge.map((v) => at(mesh.positions, v)), heights = [(2 * areaOf(a, b, c)) / norm(sub(b, c)), (2 * areaOf(d, c, b)) / norm(sub(b, c))];
    return (foldOf(x, hinge) - foldOf(mesh.positions, hinge)) ** 2 * norm(sub(b, c)) / ((heights[0] + heights[1]) / 6);
  })) },
  dirichlet: { mesh: ball, x: bumpy, make: (problem, mesh, x) => energies.dirichlet(problem, mesh, { x }), slots: edgesInOrder, reference: (mesh, x) => total(edgesOf(mesh).map(([i, j]) => cotWeight(mesh, i, j) * norm(sub(at(x, i), at(x, j))) ** 2)) / 2 },
  biLaplacian: { mesh: ball, x: bumpy, make: (problem, mesh, x) => energies.biLaplacian(problem, mesh, { x }), slots: (mesh) => inside(mesh).map(({ v, next }) => [v, ...[...next].sort((a, b) => a - b)]), reference: (mesh, x) => total(inside(mesh).map(({ v, next, previous }) => {
    const area = total(next.map((n, k) => areaOf(at(mesh.positions, v), at(mesh.positions, n), at(mesh.positions, previous[k])) / 3));
    return norm(next.map((n) => times(sub(at(x, n), at(x, v)), cotWeight(mesh, v, n))).reduce(add)) ** 2 / area / 2;
  })) },
  willmore: { mesh: ball, x: bumpy, make: (problem, mesh, x) => energies.willmore(problem, mesh, { x }), slots: fanSlots, reference: (mesh, x) => perFan(mesh, x, (p, next, previous) => {
    const n = next.length, pull = next.map((b, k) => times(sub(p, b), cotAt(previous[k], p, b) + cotAt(next[(k + n - 1) % n], b, p))).reduce(add);
    return norm(pull) ** 2 / 16 / (total(next.map((b, k) => areaOf(p, b, previous[k]))) / 3);
  }, 1) },
  planarPolygons: { mesh: hilly, x: rough, make: (problem, mesh, x) => energies.planarPolygons(problem, QUADS, { x, weight: 2 }), slots: () => QUADS, reference: (mesh, x) => 2 * total(QUADS.map((list) => leastEigenvalue(list.map((v) => at(x, v))))) },
  regularPolygons: { mesh: hilly, x: rough, make: (problem, mesh, x) => energies.regularPolygons(problem, QUADS, { x }), slots: () => QUADS, reference: (mesh, x) => total(QUADS.map((list) => {
    const points = list.map((v) => at(x, v)), n = points.length, center = meanOf(points), spread = (lengths) => total(lengths.map((length) => (length - total(lengths) / n) ** 2));
    const affine = points.map((p, k) => norm(sub(add(sub(points[(k + 1) % n], center), sub(points[(k + n - 1) % n], center)), times(sub(p, center), 2 * Math.cos((2 * Math.PI) / n)))) ** 2);
    return (total(affine) + spread(points.map((p, k) => norm(sub(p, points[(k + 1) % n])))) + spread(points.map((p) => norm(sub(p, center))))) / 2;
  })) },
  inertia: { mesh: hilly, x: rough, make: (problem, mesh, x) => energies.inertia(problem, { x, predicted: mesh.positions, mass: 2, step: 0.1 }), slots: (mesh) => each(mesh.positions), reference: (mesh, x) => 100 * total([...sub(x, mesh.positions)].map((value) => value * value)) },
  planeContact: { mesh: hilly, x: rough, make: (problem, mesh, x) => energies.planeContact(problem, { x, normal: [0, 3, 4], offset: -0.5, range: 0.8 }), slots: (mesh) => each(mesh.positions), reference: (mesh, x) => total(each(x).map(([v]) => barrier(dot(at(x, v), [0, 0.6, 0.8]) + 0.5, 0.8))) },
  sphereContact: { mesh: hilly, x: rough, make: (problem, mesh, x) => energies.sphereContact(problem, { x, center: [0.5, 0.5, -1], radius: 0.8, range: 0.4 }), slots: (mesh) => each(mesh.positions), reference: (mesh, x) => total(each(x).map(([v]) => barrier(norm(sub(at(x, v), [0.5, 0.5, -1])) - 0.8, 0.4))) },
  vertexContact: { mesh: ball, x: bumpy, make: (problem, mesh, x) => energies.vertexContact(problem, { x, pairs, thickness: 0.1, range: 0.6 }), slots: () => couples, reference: (mesh, x) => total(couples.map(([i, j]) => barrier(norm(sub(at(x, i), at(x, j))) - 0.1, 0.6))) },
  developableCovariance: { mesh: ball, x: bumpy, make: (problem, mesh, x) => energies.developableCovariance(problem, mesh, { x }), slots: (mesh) => fanSlots(mesh, 4), reference: (mesh, x) => perFan(mesh, x, covarianceOf) },
  developablePartition: { mesh: ball, x: bumpy, make: (problem, mesh, x) => energies.developablePartition(problem, mesh, { x }), slots: (mesh) => fanSlots(mesh, 4), reference: (mesh, x) => perFan(mesh, x, (...fan) => partitionOf(fanNormals(...fan))) },
  bimodalVariance: { mesh: ball, x: bumpy, make: (problem, mesh, x) => energies.bimodalVariance(problem, mesh, { x }), slots: (mesh) => fanSlots(mesh, 4), reference: (mesh, x) => perFan(mesh, x, (...fan) => varianceOf(fanNormals(...fan))) },
  bimodalAlignment: { mesh: ball, x: bumpy, make: (problem, mesh, x) => energies.bimodalAlignment(problem, mesh, { x }), slots: (mesh) => fanSlots(mesh, 4), reference: (mesh, x) => perFan(mesh, x, (...fan) => alignmentOf(fanNormals(...fan))) },
  hinge: { mesh: ball, x: bumpy, make: (problem, mesh, x) => energies.hinge(problem, mesh, { x }), slots: (mesh) => fanSlots(mesh, 4), reference: (mesh, x) => perFan(mesh, x, (...fan) => hingeOf(fanNormals(...fan))) },
};

function edgesInOrder(mesh) {
  return edgesOf(mesh).sort(([a, b], [c, d]) => a - c || b - d);
}

/** Terms whose r is a residual: cost ½w‖r‖², gradient w Jᵀr. The others are energies. */
const SQUARES = ["edgeLengths", "equalAreas", "lscm", "stretch", "shear", "bending", "dirichlet", "biLaplacian", "willmore", "regularPolygons", "inertia"];

for (const [name, { mesh, x: values, width = 3, make, slots, reference }] of Object.entries(CASES)) {
  test(`${name}: cost and gradient are those of a formula in double precision`, async (t) => {
    const lw = await open(t, { backend: "cpu" });
    const problem = lw.problem();
    const x = problem.variables("x", { shape: width, values });
    const term = make(problem, mesh, x), expected = reference(mesh, values);
    closeTo(await term.cost(), expected, 1e-9, "cost");
    const { error, skipped } = await term.checkGradients();
    assert.ok(error < 1e-6, `derivatives are wrong by ${error}`);
    assert.equal(skipped, 0, "entries without a difference");
    // The gradient of the whole, gathered, against central differences of the reference.
    const lists = slots(mesh), gradient = await gradientOf(term, lists, width, values.length, SQUARES.includes(name), expected);
    for (let k = 0; k < 24; k++) {
      const at = (7 * k) % values.length, step = 1e-5, moved = (by) => values.map((value, j) => value + (j === at ? by : 0));
      const difference = (8 * (reference(mesh, moved(step)) - reference(mesh, moved(-step))) - (reference(mesh, moved(2 * step)) - reference(mesh, moved(-2 * step)))) / (12 * step);
      assert.ok(Math.abs(gradient[at] - difference) < 1e-6 * Math.max(1, Math.abs(difference)), `component ${at}: ${gradient[at]}, but differences give ${difference}`);
    }
    // The factor of all weights is a live edit.
    term.weigh(0.5);
    const factor = { edgeLengths: 1 / 6, mips: 1 / 4, planarPolygons: 1 / 4 }[name] ?? 1 / 2;
    closeTo(await term.cost(), factor * expected, 1e-9, "half the weight");
  });
}

/** Σ w Jᵀr of a residual term, Σ w J of an energy. Weights are found from the instances' costs. */
async function gradientOf(term, lists, width, length, isSquare, cost) {
  const { rows, columns, residuals, jacobian } = await term.evaluate();
  assert.equal(residuals.length / rows, lists.length, "instances");
  const costs = new Float64Array(lists.length), gradient = new Float64Array(length);
  for (const { instance, cost } of await term.worst(lists.length)) costs[instance] = cost;
  closeTo(total([...costs]), cost, 1e-9, "the instances' costs");
  lists.forEach((list, i) => {
    const r = residuals.subarray(rows * i, rows * i + rows), value = isSquare ? dot([...r], [...r]) / 2 : r[0];
    if (value === 0) return;
    const weight = costs[i] / value;
    for (let row = 0; row < rows; row++) {
      for (let c = 0; c < width * list.length; c++) gradient[width * list[Math.floor(c / width)] + (c % width)] += weight * (isSquare ? r[row] : 1) * jacobian[(i * rows + row) * columns + c];
    }
  });
  return gradient;
}

/** Kernels of these take a software GPU up to a minute each to compile: a run of all sizes has them too. */
const LARGE = ["willmore", "planarPolygons", "regularPolygons", "developableCovariance", "developablePartition", "bimodalVariance", "bimodalAlignment", "hinge"];

for (const backend of BACKENDS.filter((backend) => backend !== "cpu")) {
  test(`${backend}: the costs are the same`, async (t) => {
    const lw = await open(t, engineOf(backend));
    for (const [name, { mesh, x: values, width = 3, make, reference }] of Object.entries(CASES)) {
      if (LARGE.includes(name) && !FULL) continue;
      const problem = lw.problem(), x = problem.variables("x", { shape: width, values });
      closeTo(await make(problem, mesh, x).cost(), reference(mesh, values), 2e-6, name);
      problem.dispose();
    }
  });
}

// ── published values, closed forms and whole solves ──

test("ARAP: cost and gradient at any rotations; none for rigid motions; a bar that is bent", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem(), count = ball.positions.length / 3;
  const x = problem.variables("x", { shape: 3, values: bumpy });
  const term = energies.arap(problem, ball, { x });
  assert.equal(term.rotation.count, count);
  const quaternions = Array.from({ length: count }, (_, v) => unit(Array.from(noise(4, v + 2)).map((value, k) => 0.5 * value + (k === 3 ? 1 : 0))));
  term.rotation.write(quaternions.flat());
  const turn = ([x, y, z, w], v) => add(v, times(cross([x, y, z], add(cross([x, y, z], v), times(v, w))), 2));
  const reference = (values) => total(edgesOf(ball).flatMap(([i, j]) => [[i, j], [j, i]]).map(([i, j]) =>
    Math.max(0, cotWeight(ball, i, j)) * norm(sub(sub(at(values, i), at(values, j)), turn(quaternions[i], sub(at(ball.positions, i), at(ball.positions, j))))) ** 2)) / 2;
  closeTo(await term.cost(), reference(bumpy), 1e-12, "cost");
  assert.ok((await term.checkGradients()).error < 1e-6);
  // Turned and moved as a whole.
  const q = unit([0.1, -0.3, 0.2, 0.8]);
  x.write(Array.from({ length: count }, (_, v) => add(turn(q, at(ball.positions, v)), [1, 2, 3])).flat());
  term.rotation.write(Array.from({ length: count }, () => q).flat());
  assert.ok(await term.cost() < 1e-25);
  // Rotations are named after a term that has a name.
  const upper = energies.arap(problem, ball, { x, name: "upper" }), lower = energies.arap(problem, ball, { x, name: "lower", rotation: upper.rotation });
  assert.deepEqual([term.rotation, upper.rotation, lower.rotation].map(({ name }) => name), ["rotation", "upper rotation", "upper rotation"]);
  const solve = lw.problem(), strip = grid({ columns: 12, rows: 2, width: 6 });
  const y = solve.variables("y", { shape: 3, values: strip.positions });
  energies.arap(solve, strip, { x: y, weights: "uniform" });
  const ends = [...Array(39).keys()].filter((v) => v % 13 < 2 || v % 13 > 10);
  y.write(ends.flatMap((v) => { const [a, b, c] = at(strip.positions, v); return a > 3 ? [4 - c, b, a - 3] : [a, b, c]; }), { at: ends });
  y.fix(ends);
  const report = await solve.solve({ maxIterations: 100 });
  assert.ok(report.converged && report.cost < 0.3 * report.initialCost, String(report));
});

test("nothing of a shape at rest costs anything, moved and turned as it may be", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const [c, s] = [Math.cos(0.7), Math.sin(0.7)];
  const turned = new Float64Array(hilly.positions.length);
  for (let v = 0; v < turned.length / 3; v++) { const [x, y, z] = at(hilly.positions, v); turned.set([c * x - s * z + 1, y - 2, s * x + c * z], 3 * v); }
  const problem = lw.problem(), x = problem.variables("x", { shape: 3, values: turned });
  for (const name of ["edgeLengths", "stretch", "shear", "stVenantKirchhoff", "neoHookean", "bending"]) {
    const cost = await energies[name](problem, hilly, { x }).cost();
    assert.ok(Math.abs(cost) < 1e-13, `${name}: ${cost}`);
  }
  const plane = problem.variables("uv", { shape: 2, values: flat });
  closeTo(await energies.symmetricDirichlet(problem, patch, { x: plane }).cost(), 4, 1e-13, "an isometry: 4 A");
  closeTo(await energies.mips(problem, patch, { x: plane }).cost(), 2, 1e-13, "a similarity: 2 A");
  assert.ok(await energies.lscm(problem, patch, { x: plane }).cost() < 1e-25);
});

test("closed forms: a stretched sheet, a folded one, a sphere, a regular hexagon, a barrier", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem(), sheet = grid({ columns: 3 });
  // Twice as wide: F = diag(2, 1), so G = diag(3/2, 0); area 1.
  const wide = problem.variables("wide", { shape: 3, values: sheet.positions.map((value, k) => (k % 3 === 0 ? 2 * value : value)) });
  closeTo(await energies.stVenantKirchhoff(problem, sheet, { x: wide, lambda: 3, mu: 5 }).cost(), 1.5 * 2.25 + 5 * 2.25, 1e-13, "½λ(3/2)² + μ(3/2)²");
  closeTo(await energies.neoHookean(problem, sheet, { x: wide, lambda: 3, mu: 5 }).cost(), 2.5 * (3 - 2 * Math.LN2) + 1.5 * Math.LN2 ** 2, 1e-13, "½μ(5 − 2 − 2 ln 2) + ½λ ln² 2");
  closeTo(await energies.stretch(problem, sheet, { x: wide, material: Float64Array.from({ length: 32 }, (_, k) => sheet.positions[3 * (k >> 1) + (k & 1)]) }).cost(), 0.5, 1e-13, "½(2 − 1)²");
  // Two right triangles, folded by 90°: (π/2)² · 3ℓ²/(A₁ + A₂), ℓ² = 2, A = ½ each.
  const pair = { positions: [0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0], triangles: [0, 1, 2, 3, 2, 1] };
  const fold = problem.variables("fold", { shape: 3, values: [...pair.positions.slice(0, 9), 0.5, 0.5, Math.SQRT1_2] });
  closeTo(await energies.bending(problem, pair, { x: fold, name: "fold" }).cost(), (Math.PI / 2) ** 2 * 6, 1e-12, "a fold of 90°");
  for (const radius of [1, 5]) {
    const sphere = icosphere({ subdivisions: 3, radius }), x = problem.variables(`sphere ${radius}`, { shape: 3, values: sphere.positions });
    closeTo(await energies.willmore(problem, sphere, { x, name: `Willmore ${radius}` }).cost(), 4 * Math.PI, 0.01, "Willmore's energy of a sphere");
  }
  // The mesh's Dirichlet energy is its area (Pinkall & Polthier 1993).
  const x = problem.variables("ball", { shape: 3, values: ball.positions });
  closeTo(await energies.dirichlet(problem, ball, { x }).cost(), total(facesOf(ball).map((face) => areaOf(...face.map((v) => at(ball.positions, v))))), 1e-12, "area");
  const hexagon = Array.from({ length: 6 }, (_, k) => [Math.cos((k * Math.PI) / 3), 0.6 * Math.sin((k * Math.PI) / 3), 0.8 * Math.sin((k * Math.PI) / 3)]).flat();
  const h = problem.variables("hexagon", { shape: 3, values: hexagon }), polygons = { offsets: [0, 6], indices: [0, 1, 2, 3, 4, 5] };
  assert.ok(await energies.regularPolygons(problem, polygons, { x: h }).cost() < 1e-28 && await energies.planarPolygons(problem, polygons, { x: h }).cost() < 1e-15);
  const point = problem.variables("point", { shape: 3, values: [0, 0.25, 0] });
  closeTo(await energies.planeContact(problem, { x: point, range: 0.5 }).cost(), 0.0625 * Math.LN2, 1e-14, "(d̂/2)² ln 2");
});

test("the published values of developable energies on icospheres, in the stars' order of that code", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const published = { developableCovariance: [12.798169, 14.398495], developablePartition: [13.38770559, 15.21166375], bimodalVariance: [4.614261238, 5.159563689], bimodalAlignment: [2.341062035, 2.590349665], hinge: [3.782609, 3.936668] };
  for (const level of [1, 2]) {
    // There all vertices are projected to the sphere at the end.
    const start = icosphere({ subdivisions: 0 }), split = subdivide(start, { times: level });
    for (let k = 0; k < split.positions.length; k += 3) split.positions.set(unit([...split.positions.subarray(k, k + 3)]), k);
    const star = starsOf(split);
    for (const [name, values] of Object.entries(published)) {
      const problem = lw.problem(), x = problem.variables("x", { shape: 3, values: split.positions });
      closeTo(await energies[name](problem, split, { x, fans: star }).cost(), values[level - 1], 1e-6, `${name}, level ${level}`);
      problem.dispose();
    }
  }
});

/** Stars from the lowest face on, each time to the first face in order of index that shares an edge and was not visited. */
function starsOf({ positions, triangles }) {
  const plain = fans(triangles, positions.length / 3), made = { ...plain, next: plain.next.slice(), previous: plain.previous.slice() };
  for (let v = 0; v < positions.length / 3; v++) {
    const first = plain.offsets[v], faces = [...plain.faces.subarray(first, plain.offsets[v + 1])], n = faces.length, order = [0];
    while (order.length < n) order.push([1, n - 1].map((k) => (order.at(-1) + k) % n).filter((k) => !order.includes(k)).sort((a, b) => faces[a] - faces[b])[0]);
    order.forEach((from, to) => { made.next[first + to] = plain.next[first + from]; made.previous[first + to] = plain.previous[first + from]; });
  }
  return made;
}

test("hinge: flat stars and folded ones cost nothing", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem(), sheet = grid({ columns: 4 });
  const bent = sheet.positions.map((value, k) => (k % 3 === 2 ? Math.abs(sheet.positions[k - 2] - 0.5) : value));
  for (const [name, values] of [["flat", sheet.positions], ["bent", bent]]) {
    const x = problem.variables(name, { shape: 3, values });
    for (const energy of ["hinge", "developableCovariance", "developablePartition"]) {
      const cost = await energies[energy](problem, sheet, { x, name: `${energy}, ${name}` }).cost();
      assert.ok(Math.abs(cost) < 1e-12, `${energy} of a ${name} sheet: ${cost}`);
    }
  }
});

test("an icosphere becomes piecewise developable, level by level", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  let surface = icosphere({ subdivisions: 1 });
  surface.positions = surface.positions.map((value, k) => value + 0.002 * Math.sin(12.9 * k));
  assert.equal(energies.developableShare(surface), 0);
  let before = Infinity;
  for (let level = 1; level <= (FULL ? 5 : 4); level++) {
    if (level > 1) surface = subdivide(surface);
    const problem = lw.problem(), x = problem.variables("x", { shape: 3, values: surface.positions });
    energies.developableCovariance(problem, surface, { x });
    const report = await problem.solve({ method: "lbfgs", maxIterations: 200, costTolerance: 1e-9 });
    surface = { positions: await x.read({ as: "f64" }), triangles: surface.triangles };
    problem.dispose();
    // Midpoints add nothing, so that each level goes on from the cost of the last one.
    if (level > 1) closeTo(report.initialCost, before, 1e-6, `cost after subdivision to level ${level}`);
    else assert.ok(report.initialCost > 12 && report.cost < 0.2, `level 1: from ${report.initialCost} to ${report.cost}`);
    assert.ok(report.cost <= before);
    before = report.cost;
    const share = energies.developableShare(surface);
    assert.ok(share > [0, 0.5, 0.8, 0.9, 0.95, 0.97][level], `level ${level}: ${share} of ${surface.positions.length / 3} vertices are developable`);
  }
  assert.equal(surface.positions.length / 3, FULL ? 10242 : 2562);
  assert.ok(volume(surface) > 0.5, `the volume is ${volume(surface)}: it did not collapse`);
});

test("pairs of close points: those of a slower way", () => {
  const points = noise(300, 5), others = noise(150, 6), slow = (a, b, keep) => each(a).flatMap(([i]) => each(b).filter(([j]) => keep(i, j) && norm(sub(at(a, i), at(b, j))) <= 0.4).flatMap(([j]) => [i, j]));
  assert.deepEqual([...energies.closePairs(points, 0.4)], slow(points, points, (i, j) => i < j));
  assert.deepEqual([...energies.closePairs(points, 0.4, others)], slow(points, others, () => true));
  assert.equal(energies.closePairs([], 1).length, 0);
});

test("a sheet that falls on a sphere and a plane touches them, and nothing goes through", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem(), sheet = grid({ columns: 8 }), h = 0.04, rest = { ...sheet, positions: sheet.positions.map((value, k) => (k % 3 === 2 ? 0.42 : value - 0.5)) };
  const x = problem.variables("x", { shape: 3, values: rest.positions });
  const moving = energies.inertia(problem, { x, predicted: rest.positions, mass: 0.01, step: h });
  energies.neoHookean(problem, rest, { x, lambda: 5, mu: 5 });
  energies.bending(problem, rest, { x, weight: 1e-4 });
  energies.planeContact(problem, { x, normal: [0, 0, 1], range: 0.02, weight: 10 });
  energies.sphereContact(problem, { x, center: [0, 0, 0], radius: 0.4, range: 0.02, weight: 10 });
  const solver = problem.solver({ method: "newton", maxIterations: 30, costTolerance: 1e-7 });
  t.after(() => solver.dispose());
  let [now, last] = [rest.positions, rest.positions];
  for (let frame = 0; frame < 15; frame++) {
    moving.set({ predicted: now.map((value, k) => 2 * value - last[k] - (k % 3 === 2 ? 9.81 * h * h : 0)) });
    await solver.solve();
    [last, now] = [now, await x.read({ as: "f64" })];
    for (const [v] of each(now)) assert.ok(norm(at(now, v)) > 0.4 && now[3 * v + 2] > 0, `vertex ${v} at ${at(now, v)} in frame ${frame}`);
  }
  const lowest = Math.min(...each(now).map(([v]) => now[3 * v + 2])), touching = each(now).filter(([v]) => norm(at(now, v)) < 0.42).length;
  assert.ok(lowest < 0.3 && touching > 3, `the lowest vertex is at ${lowest}, ${touching} touch the sphere`);
});

test("mistakes are named", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem(), x = problem.variables("x", { shape: 3, values: ball.positions });
  const y = problem.variables("y", { shape: 3, values: [0, 0, 0] });
  refuses(() => energies.arap(problem, ball, { x: y }), "data-length", 'arap(problem, mesh, options): "y" has 1 instances, but the mesh has 42 vertices');
  const flat = problem.variables("flat", { shape: 2, values: new Float64Array(84) });
  refuses(() => energies.arap(problem, ball, { x: flat }), "shape", 'arap(problem, mesh, options): "flat" has 2 components, but rotations are of space: x has three');
  refuses(() => energies.arap(problem, ball, {}), "foreign-variable", /x must be the variables of the vertices' places, not undefined/);
  refuses(() => energies.arap(problem, ball, { x, weigth: 1 }), "invalid-option", /did you mean "weight"/);
  refuses(() => energies.bending(problem, { positions: ball.positions, triangles: [0, 1, 2] }, { x }), "empty-term", "bending(problem, mesh, options): the mesh has no inner edges");
  refuses(() => energies.willmore(problem, { positions: ball.positions, triangles: [0, 1, 2] }, { x }), "empty-term", /no vertices inside/);
  refuses(() => energies.stretch(problem, ball, { x, stretch: [1] }), "data-length", /not a multiple of 2/);
  refuses(() => energies.edgeLengths(problem, ball, { x, length: [1, 2] }), "data-length", "edgeLengths(problem, mesh, options): length has 2 numbers, but 120 are needed");
  refuses(() => energies.planarPolygons(problem, [[0, 1, 2]], { x }), "shape", "planarPolygons(problem, polygons, options): polygon 0 has 3 corners, but 4 or more are needed");
  refuses(() => energies.planarPolygons(problem, [[0, 1, 2, 42]], { x }), "index-out-of-range", /polygon 0 has the vertex 42, but there are 42/);
  refuses(() => energies.planeContact(problem, { x }), "invalid-option", "planeContact(problem, options): range must be given");
  refuses(() => energies.planeContact(problem, { x, range: 1, normal: [0, 0, 0] }), "invalid-option", /normal is 0/);
  refuses(() => energies.sphereContact(problem, { x, range: 1, radius: 1, center: [0, 0] }), "data-length", /center has 2 numbers/);
  refuses(() => energies.inertia(problem, { x, predicted: [1, 2, 3] }), "data-length", /predicted has 3 numbers, but 126 are needed/);
  refuses(() => energies.vertexContact(problem, { x, range: 1, pairs: [] }), "empty-term", /no pairs/);
  refuses(() => energies.closePairs([0, 0, 0], 0), "invalid-option", /distance: 0 is not a number above 0/);
  const term = energies.edgeLengths(problem, ball, { x });
  refuses(() => term.weigh(-1), "invalid-option", /factor must be a number that is not negative/, { term: "edge lengths" });
});
