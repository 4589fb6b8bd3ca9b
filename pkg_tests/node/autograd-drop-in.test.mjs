// Programs as users of ScalarAutograd write them: its names, its call shapes, classes of their own. They must run with another import
// alone, and give the graph's values at points away from where graphs were built.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import * as autograd from "leastwise/autograd";
import { Adam, CompiledFunctions, CompiledResiduals, Geometry, GraphBuilder, lbfgs, Matrix3x3, nonlinearLeastSquares, V, Value, Vec2, Vec3 } from "leastwise/autograd";
import { near, randoms } from "./random.mjs";

const VALUES = ["Value", "V", "Vec2", "Vec3", "Vec4", "Geometry", "Matrix3x3", "Losses", "CompiledFunctions", "CompiledResiduals", "GraphBuilder", "Optimizer", "SGD", "Adam", "AdamW", "lbfgs", "nonlinearLeastSquares", "Parser", "parse", "differentiate", "computeGradients", "simplify", "generateCode", "generateMathNotation", "generateGradientCode", "generateGradientFunction"];
const TYPES = ["GraphSignature", "LBFGSOptions", "LBFGSResult", "NonlinearLeastSquaresOptions", "NonlinearLeastSquaresResult", "ASTNode", "NumberNode", "VariableNode", "BinaryOpNode", "UnaryOpNode", "FunctionCallNode", "VectorAccessNode", "VectorConstructorNode", "Assignment", "Program"];
const STATICS = {
  V: "C W Param add sub mul neg sin cos tan atan tanh sigmoid div reciprocal pow powValue mod abs sign floor ceil round sqrt exp square cube log min max clamp sum mean asin acos relu softplus eq neq gt lt gte lte ifThenElse nonlinearLeastSquares compileObjective",
  Value: "sum mean zeroGradTree zeroGradAll withNoGrad make makeNary no_grad_mode", Vec2: "W C zero one dot cross distanceToLine angleBetween", Vec3: "W C zero one dot cross angleBetween project reject lerp min max distance sqrDistance fromData", Vec4: "W C zero identity dot fromData",
  Geometry: "triangleNormal triangleArea interiorAngle angleDefect centroid average vertexNormal projectToPlane distanceToPlane dihedralAngle normalCoplanarity boundingBox", Matrix3x3: "smallestEigenvalue smallestEigenvalueCustomGrad", Losses: "mse mae binaryCrossEntropy categoricalCrossEntropy huber tukey EPS",
  CompiledFunctions: "compile compileAsync", CompiledResiduals: "compile compileAsync",
};
const MEMBERS = {
  Value: "add sub mul div powValue pow mod min max neg abs sign square cube reciprocal exp log sin cos tan asin acos atan tanh sigmoid relu softplus floor ceil round clamp eq neq gt lt gte lte backward toString", Vec2: "add sub mul div magnitude sqrMagnitude normalized perpendicular trainables toString",
  Vec3: "add sub mul div magnitude sqrMagnitude normalized trainables normalizedCustomGrad clone toArray toString", Vec4: "add sub mul div magnitude sqrMagnitude normalized normalizedCustomGrad trainables clone toArray toString", Optimizer: "zeroGrad clipGradients", SGD: "step resetStateFor", Adam: "step resetStateFor", AdamW: "step resetStateFor",
  CompiledFunctions: "evaluateGradient evaluateSumWithGradient evaluateJacobian evaluate numFunctions numResiduals kernelCount kernelReuseFactor", CompiledResiduals: "evaluateSumWithGradient evaluate numFunctions numResiduals kernelCount kernelReuseFactor", GraphBuilder: "build recordOp getCurrentSignature", Parser: "parseProgram",
};

test("every name of the interface is there", () => {
  const has = (of, name) => name in of;
  assert.deepEqual(VALUES.filter((name) => autograd[name] === undefined), []);
  for (const [name, list] of Object.entries(STATICS)) assert.deepEqual(list.split(" ").filter((member) => !has(autograd[name], member)), [], name);
  for (const [name, list] of Object.entries(MEMBERS)) assert.deepEqual(list.split(" ").filter((member) => !has(autograd[name].prototype, member)), [], name);
  const declared = readFileSync(fileURLToPath(import.meta.resolve("leastwise/autograd")).replace(/\.js$/, ".d.ts"), "utf8");
  assert.deepEqual(TYPES.filter((name) => !new RegExp(`\\b${name}\\b`).test(declared)), []);
});

test("signatures of graphs", () => {
  const [a, b] = [V.W(1, "a"), V.W(2, "b")], builder = new GraphBuilder([a, b]), { output, signature } = builder.build(() => V.sub(a, V.mul(b, 3)));
  assert.equal(output.data, -5);
  assert.deepEqual(signature.leaves.map(({ data }) => data), [1, 2, 3]);
  assert.deepEqual([signature.leafIndexMap.get(a), signature.leafIndexMap.get(b)], [0, 1]);
  const hash = (build) => new GraphBuilder([a, b]).build(build).signature.hash;
  assert.equal(hash(() => V.sub(b, V.mul(a, 4))), signature.hash);
  for (const other of [() => V.sub(a, V.mul(3, b)), () => V.sub(a, V.mul(a, 3)), () => V.add(a, V.mul(b, 3))]) assert.notEqual(hash(other), signature.hash);
  builder.recordOp(V.sin(a));
  assert.equal(builder.getCurrentSignature().leaves[0], a);
  assert.deepEqual(new GraphBuilder().getCurrentSignature().leaves, []);
});

// The developable sphere, as its demo is built: a mesh of Vec3, energies with static methods, and both optimizers.
class TriangleMesh {
  constructor(vertices, faces) { Object.assign(this, { vertices, faces }); }
  corner(f, k) { return this.vertices[this.faces[f].vertices[k]]; }
  /** From the lowest face, each time to the first in order that shares an edge and was not visited. */
  getVertexStar(v) {
    const around = this.faces.flatMap(({ vertices }, f) => (vertices.includes(v) ? [f] : [])), star = [around.shift()];
    const shares = (f, g) => this.faces[f].vertices.filter((w) => this.faces[g].vertices.includes(w)).length >= 2;
    while (around.length > 0) {
      const next = around.findIndex((f) => shares(star.at(-1), f));
      if (next < 0) break;
      star.push(...around.splice(next, 1));
    }
    return star;
  }
  getFaceNormal(f) { return Geometry.triangleNormal(this.corner(f, 0), this.corner(f, 1), this.corner(f, 2)); }
  getFaceArea(f) { return Geometry.triangleArea(this.corner(f, 0), this.corner(f, 1), this.corner(f, 2)); }
  getInteriorAngle(f, v) {
    const at = this.faces[f].vertices.indexOf(v);
    return Geometry.interiorAngle(this.corner(f, (at + 2) % 3), this.corner(f, at), this.corner(f, (at + 1) % 3));
  }
}

class IcoSphere {
  static generate(subdivisions, radius = 1) {
    const phi = (1 + Math.sqrt(5)) / 2, signs = [-1, 1];
    let points = [...signs.map((s) => [s, phi, 0]), ...signs.map((s) => [s, -phi, 0]), ...signs.map((s) => [0, s, phi]), ...signs.map((s) => [0, s, -phi]), ...signs.map((s) => [phi, 0, s]), ...signs.map((s) => [-phi, 0, s])];
    let faces = "0-11-5 0-5-1 0-1-7 0-7-10 0-10-11 1-5-9 5-11-4 11-10-2 10-7-6 7-1-8 3-9-4 3-4-2 3-2-6 3-6-8 3-8-9 4-9-5 2-4-11 6-2-10 8-6-7 9-8-1".split(" ").map((face) => face.split("-").map(Number));
    for (let level = 0; level < subdivisions; level++) {
      const known = new Map(), middle = (i, j) => {
        const key = [Math.min(i, j), Math.max(i, j)].join();
        if (!known.has(key)) known.set(key, points.push(points[i].map((part, k) => (part + points[j][k]) / 2)) - 1);
        return known.get(key);
      };
      faces = faces.flatMap(([u, v, w]) => { const [a, b, c] = [middle(u, v), middle(v, w), middle(w, u)]; return [[u, a, c], [v, b, a], [w, c, b], [a, b, c]]; });
    }
    return new TriangleMesh(points.map((point) => Vec3.W(...point.map((part) => (radius * part) / Math.hypot(...point)))), faces.map((vertices) => ({ vertices })));
  }
}

/** Energies of vertices: each class says what one is. */
class MeshEnergy {
  static supportsCompilation = true;
  static computeResiduals(mesh) { return mesh.vertices.map((_, v) => this.computeVertexEnergy(v, mesh)); }
  static compute(mesh) { return V.sum(this.computeResiduals(mesh)); }
  static computeVertexEnergy(v, mesh) {
    const star = mesh.getVertexStar(v);
    return star.length < 2 || star.length === 3 ? V.C(0) : this.ofStar(star.map((f) => mesh.getFaceNormal(f)), () => star.map((f) => mesh.getInteriorAngle(f, v)), () => star.map((f) => mesh.getFaceArea(f)));
  }
  static halves(normals) { return [normals.slice(0, Math.floor(normals.length / 2)), normals.slice(Math.floor(normals.length / 2))]; }
}
class DevelopableEnergy extends MeshEnergy {
  static ofStar(normals) {
    return V.sum(this.halves(normals).map((part) => { const mean = Geometry.average(part); return part.length < 2 ? V.C(0) : V.mean(part.map((normal) => normal.sub(mean).sqrMagnitude)); }));
  }
}
class AlignmentBimodalEnergy extends MeshEnergy {
  static ofStar(normals) {
    return V.sum(this.halves(normals).map((part) => { const mean = Geometry.average(part).normalizedCustomGrad(); return part.length < 2 ? V.C(0) : V.mean(part.map((normal) => V.sub(1, V.clamp(Vec3.dot(normal, mean), -1, 1)))); }));
  }
}
const covariance = (vectors, weights) => [["x", "x"], ["x", "y"], ["x", "z"], ["y", "y"], ["y", "z"], ["z", "z"]].map(([a, b]) => V.sum(vectors.map((vector, k) => V.mul(weights[k], V.mul(vector[a], vector[b])))));
class EigenProxyEnergy extends MeshEnergy {
  static ofStar(normals) {
    const mean = Geometry.average(normals), c = covariance(normals.map((normal) => normal.sub(mean)), normals.map(() => 1 / normals.length));
    return Matrix3x3.smallestEigenvalueCustomGrad(...c.map((entry, k) => (k === 0 || k === 3 || k === 5 ? V.add(entry, 1e-4) : entry)));
  }
}
/** The literal form of E^λ: λ_min of Σθ NNᵀ. */
class CovarianceEnergy extends MeshEnergy {
  static ofStar(normals, angles) { return Matrix3x3.smallestEigenvalue(...covariance(normals, angles())); }
}
class FastCovarianceGrid extends MeshEnergy {
  static ofStar(normals, angles) {
    const phi = (1 + Math.sqrt(5)) / 2, size = Math.hypot(1, phi), theta = angles();
    const directions = [[1, phi, 0], [1, -phi, 0], [0, 1, phi], [0, 1, -phi], [phi, 0, 1], [-phi, 0, 1]].map((direction) => Vec3.C(...direction.map((part) => part / size)));
    return directions.map((u) => V.sum(normals.map((normal, k) => V.mul(theta[k], V.square(Vec3.dot(u, normal)))))).reduce((least, energy) => V.min(least, energy));
  }
}
class PaperPartitionEnergyEP extends MeshEnergy {
  static ofStar(normals) {
    const n = normals.length, spread = (part) => { const mean = Geometry.average(part); return V.sum(part.map((normal) => normal.sub(mean).sqrMagnitude)); };
    const cuts = Array.from({ length: n }, (_, i) => Array.from({ length: n - i - 1 }, (_, j) => [i, i + j + 1])).flat();
    return cuts.map(([i, j]) => V.add(spread(normals.slice(i, j)), spread([...normals.slice(j), ...normals.slice(0, i)]))).reduce((least, energy) => V.min(least, energy));
  }
}

/** Sums over the clean unit icosphere at levels 1 and 2. */
const KNOWN = new Map([[DevelopableEnergy, [4.614261238, 5.159563689]], [AlignmentBimodalEnergy, [2.341062035, 2.590349665]], [EigenProxyEnergy, [0.004782796, 0.016231908]], [CovarianceEnergy, [12.319026, 14.220605]], [FastCovarianceGrid, [25.48681241, 50.17052715]], [PaperPartitionEnergyEP, [13.38770559, 15.21166375]]]);

test("the developable sphere's energies: known values, and compiled as the graph at other points", () => {
  const random = randoms(11, -0.03, 0.03);
  for (const [Energy, known] of KNOWN) {
    for (const level of [1, 2]) {
      const mesh = IcoSphere.generate(level), params = mesh.vertices.flatMap((vertex) => vertex.trainables);
      near(Energy.compute(mesh).data, known[level - 1], 1e-6, `${Energy.name} at level ${level}`);
      if (level === 2) continue;
      const set = CompiledFunctions.compile(params, () => Energy.computeResiduals(mesh));
      near(set.evaluateSumWithGradient(params).value, known[level - 1], 1e-6, `${Energy.name}, compiled`);
      params.forEach((param) => { param.data += random(); });
      const graph = Energy.compute(mesh);
      graph.backward();
      const { value, gradient } = set.evaluateSumWithGradient(params);
      near(value, graph.data, 1e-12, Energy.name);
      gradient.forEach((slope, k) => near(slope, params[k].grad, 1e-9, `${Energy.name} by ${k}`));
      assert.ok(Math.hypot(...gradient) > 1e-3, `${Energy.name} has a gradient`);
    }
  }
});

test("its two optimizations lower the energy, compiled and as functions alike", () => {
  const run = (optimize) => {
    const mesh = IcoSphere.generate(1), params = mesh.vertices.flatMap((vertex) => vertex.trainables);
    params.forEach((param, k) => { param.data += 0.02 * Math.sin(5 * k); });
    const before = DevelopableEnergy.compute(mesh).data, result = optimize(mesh, params);
    const after = DevelopableEnergy.compute(mesh).data;
    assert.ok(after < 0.5 * before, `${before} → ${after}`);
    return [after, result];
  };
  const options = { maxIterations: 40 };
  const [compiled, first] = run((mesh, params) => lbfgs(params, CompiledFunctions.compile(params, () => DevelopableEnergy.computeResiduals(mesh)), options));
  const [plain] = run((mesh, params) => lbfgs(params, () => DevelopableEnergy.compute(mesh), options));
  near(compiled, plain, 0.2);
  assert.deepEqual(Object.keys(first).filter((key) => ["success", "iterations", "finalCost", "convergenceReason", "computationTime", "functionEvaluations"].includes(key)).length, 6);
  near(first.finalCost, compiled, 1e-9);
  const [squares, second] = run((mesh, params) => nonlinearLeastSquares(params, CompiledResiduals.compile(params, () => DevelopableEnergy.computeResiduals(mesh)), { maxIterations: 15 }));
  assert.ok(["Max iterations reached", "Cost tolerance reached", "Cost below threshold", "Gradient tolerance reached", "Parameter tolerance reached"].includes(second.convergenceReason), second.convergenceReason);
  assert.ok(squares < 5 && second.finalCost >= 0);
});

// The sketch demo: residuals of distances without a sign, as it has them.
const d = (line) => line.end.sub(line.start), off = (point, line) => Vec2.distanceToLine(point, line.start, line.end), both = (v) => [v.x, v.y];
const RESIDUALS = {
  coincident: ({ point1, point2 }) => both(point1.sub(point2)), midpoint: ({ point, line }) => both(point.sub(line.start.add(line.end).div(2))), collinear: ({ line1, line2 }) => [Vec2.cross(d(line1), d(line2)), off(line2.start, line1)],
  parallel: ({ line1, line2 }) => [Vec2.cross(d(line1), d(line2))], perpendicular: ({ line1, line2 }) => [Vec2.dot(d(line1), d(line2))], angle: ({ line1, line2, angleDegrees }) => [V.sub(Vec2.angleBetween(d(line1), d(line2)), (angleDegrees * Math.PI) / 180)], "point-on-line": ({ point, line }) => [off(point, line)],
  "point-on-circle": ({ point, circle }) => [V.sub(point.sub(circle.center).magnitude, circle.radius)], tangent: ({ line, circle }) => [V.sub(off(circle.center, line), circle.radius)], "radial-alignment": ({ point1, circle, point2 }) => [Vec2.cross(circle.center.sub(point1), point2.sub(point1))],
  "equal-length": ({ lines }) => lines.slice(1).map((line) => V.sub(d(line).magnitude, d(lines[0]).magnitude)), "equal-radius": ({ circles }) => circles.slice(1).map((circle) => V.sub(circle.radius, circles[0].radius)),
  "circles-tangent": ({ circle1, circle2 }) => [V.sub(circle2.center.sub(circle1.center).magnitude, V.add(circle1.radius, circle2.radius))], concentric: ({ circle1, circle2 }) => both(circle1.center.sub(circle2.center)),
  symmetry: ({ point1, point2, symmetryLine }) => [off(point1.add(point2).div(2), symmetryLine), Vec2.dot(point2.sub(point1), d(symmetryLine))],
};

/** A project as values: those of points that are not pinned and of radii that are not fixed are trainable. */
class ValueMap {
  params = [];
  known = new Map();
  constructor({ points, lines, circles }) {
    const leaf = (value, isFree, name) => { const made = isFree ? V.W(value, name) : V.Param(value, name); if (isFree) this.params.push(made); return made; };
    points.forEach((point, k) => this.known.set(point, new Vec2(leaf(point.x, !point.pinned, `x${k}`), leaf(point.y, !point.pinned, `y${k}`))));
    for (const line of lines) this.known.set(line, { start: this.known.get(line.start), end: this.known.get(line.end) });
    circles.forEach((circle, k) => this.known.set(circle, { center: this.known.get(circle.center), radius: leaf(circle.radius, !circle.fixedRadius, `r${k}`) }));
  }
  of(field) { return Array.isArray(field) ? field.map((one) => this.known.get(one)) : this.known.get(field) ?? field; }
  residuals({ lines, constraints }) {
    return [
      ...lines.flatMap((line) => { const along = d(this.known.get(line)); return [...(line.fixedLength ? [V.sub(along.magnitude, line.fixedLength)] : []), ...(line.constraintType === "horizontal" ? [along.y] : line.constraintType === "vertical" ? [along.x] : [])]; }),
      ...constraints.flatMap(({ type, ...fields }) => RESIDUALS[type](Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, this.of(field)])))),
    ];
  }
  write() {
    for (const [object, value] of this.known) {
      if (value instanceof Vec2) [object.x, object.y] = [value.x.data, value.y.data];
      else if (value.radius) object.radius = value.radius.data;
    }
  }
}
class SketchSolver {
  constructor({ tolerance = 1e-6, maxIterations = 100, damping = 1e-3, verbose = false } = {}) { this.options = { costTolerance: tolerance, maxIterations, initialDamping: damping, verbose }; }
  solve(project) {
    try {
      const map = new ValueMap(project), result = nonlinearLeastSquares(map.params, () => map.residuals(project), this.options);
      map.write();
      return { converged: result.success, iterations: result.iterations, residual: Math.sqrt(result.finalCost), error: null };
    } catch (error) {
      return { converged: false, iterations: 0, residual: Infinity, error: error.message };
    }
  }
}
class AdamSketchSolver {
  constructor({ tolerance = 1e-6, maxIterations = 1000, learningRate = 0.1 } = {}) { Object.assign(this, { tolerance, maxIterations, learningRate }); }
  solve(project) {
    const map = new ValueMap(project), optimizer = new Adam(map.params, { learningRate: this.learningRate });
    for (let iterations = 0; ; iterations++) {
      const loss = V.sum(map.residuals(project).map((residual) => V.square(residual)));
      if (loss.data < this.tolerance || iterations === this.maxIterations) {
        map.write();
        return { converged: loss.data < this.tolerance, iterations, residual: Math.sqrt(loss.data), error: null };
      }
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      optimizer.learningRate *= 0.997;
    }
  }
}

function sketch() {
  const points = [[0, 0], [4, 0.4], [1, 2], [5, 3.5], [2, 6], [6.5, 7]].map(([x, y], k) => ({ x, y, ...(k === 0 && { pinned: true }) })), [a, b, c, e, f, g] = points;
  const lines = [{ start: a, end: b, constraintType: "free" }, { start: c, end: e, constraintType: "free" }], circles = [{ center: f, radius: 1, fixedRadius: false }, { center: g, radius: 2.5, fixedRadius: false }];
  return { name: "test", points, lines, circles, constraints: [] };
}
const FIELDS = ({ points, lines: [line1, line2], circles: [circle1, circle2] }) => ({
  coincident: { point1: points[2], point2: points[3] }, midpoint: { point: points[4], line: line1 }, collinear: { line1, line2 }, parallel: { line1, line2 }, perpendicular: { line1, line2 }, angle: { line1, line2, angleDegrees: 30 }, "point-on-line": { point: points[4], line: line1 }, "point-on-circle": { point: points[2], circle: circle2 }, tangent: { line: line1, circle: circle1 },
  "radial-alignment": { point1: points[0], circle: circle1, point2: points[3] }, "equal-length": { lines: [line1, line2] }, "equal-radius": { circles: [circle1, circle2] }, "circles-tangent": { circle1, circle2 }, concentric: { circle1, circle2 }, symmetry: { point1: points[2], point2: points[4], symmetryLine: line1 },
});

test("the sketch demo's solvers meet all fifteen constraints", () => {
  const types = Object.keys(RESIDUALS);
  assert.equal(types.length, 15);
  for (const [solver, accuracy] of [[new SketchSolver({ tolerance: 1e-12 }), 1e-5], [new AdamSketchSolver({ tolerance: 1e-8 }), 1.1e-4]]) {
    for (const type of types) {
      const project = sketch(), before = new ValueMap({ ...project });
      project.constraints.push({ type, ...FIELDS(project)[type] });
      assert.ok(before.residuals(project).some(({ data }) => Math.abs(data) > 0.1), `${type} is not met at the start`);
      const { converged, residual, error } = solver.solve(project);
      assert.ok(converged && residual < accuracy, `${solver.constructor.name}, ${type}: ${residual} ${error}`);
      // The numbers of the project, read anew, meet it; what is pinned has stayed.
      const left = new ValueMap(project).residuals(project).reduce((sum, { data }) => sum + data * data, 0);
      near(Math.sqrt(left), residual, 1e-9, type);
      assert.deepEqual([project.points[0].x, project.points[0].y], [0, 0]);
    }
  }
  const rectangle = sketch();
  Object.assign(rectangle.lines[0], { constraintType: "horizontal", fixedLength: 5 });
  Object.assign(rectangle.lines[1], { constraintType: "vertical", fixedLength: 2 });
  assert.ok(new SketchSolver({ tolerance: 1e-12 }).solve(rectangle).converged);
  [Math.hypot(rectangle.points[1].x, rectangle.points[1].y) - 5, rectangle.points[1].y, rectangle.points[3].x - rectangle.points[2].x].forEach((rest) => near(rest, 0, 1e-5));
  const impossible = sketch();
  impossible.constraints.push({ type: "unknown" });
  assert.match(new SketchSolver().solve(impossible).error, /not a function/);
});

test("what was computed wrong once: branches, clamps, parameters, constants and kernels, evaluated elsewhere", () => {
  const random = randoms(21, 0.2, 1.8), x = V.W(1, "x"), y = V.W(1, "y"), bound = V.Param(0.5, "bound");
  const build = () => [
    V.sum([x, y, V.square(x)]), V.mean([x, y, bound]), V.ifThenElse(V.gt(x, y), V.sin(x), V.mul(y, y)), V.mul(V.lte(x, bound), y), V.clamp(x, 0, 1), V.clamp(y, -5, 1.2), Vec2.dot(new Vec2(x, y).normalized, Vec2.C(0.3, 0.4)), new Vec3(x, y, bound).normalizedCustomGrad().z, V.max(x, V.max(V.sin(x), x)), V.add(x, V.add(V.sin(x), x)),
    autograd.Losses.huber([x, y], [V.C(3), bound]), autograd.Losses.tukey([x, y], [V.C(0), bound]), V.mod(x, bound), V.round(V.mul(3, x)), V.min(x, y), V.softplus(V.mul(x, 1000)),
  ];
  const set = CompiledFunctions.compile([x, y], build), said = [];
  for (let time = 0; time < 50; time++) {
    [x.data, y.data, bound.data] = [random(), random(), random()];
    const { values, jacobian } = set.evaluateJacobian([x, y]);
    build().forEach((root, row) => {
      Value.zeroGradAll([x, y]);
      root.backward();
      assert.equal(values[row], root.data, `function ${row}`);
      near(jacobian[row][0], x.grad, 1e-13, `function ${row} by x`);
      near(jacobian[row][1], y.grad, 1e-13, `function ${row} by y`);
    });
  }
  const { log, warn, info } = console;
  try {
    console.log = console.warn = console.info = (...parts) => said.push(parts);
    CompiledResiduals.compile([x, y], build).evaluate([x, y]);
  } finally {
    Object.assign(console, { log, warn, info });
  }
  assert.deepEqual(said, []);
});

test("a compiled set of functions is solved as least squares, none at all is a success, and a negative objective goes on to its minimum", () => {
  const x = V.W(5), set = CompiledFunctions.compile([x], ([a]) => [V.sub(a, 3)]);
  assert.ok(nonlinearLeastSquares([x], set).success);
  near(x.data, 3, 1e-3);
  assert.deepEqual(nonlinearLeastSquares([x], CompiledResiduals.compile([x], () => [])).finalCost, 0);
  const shifted = V.W(0), { termination } = lbfgs([shifted], ([a]) => V.sub(V.mul(0.2, V.square(V.sub(a, 3))), 100));
  near(shifted.data, 3, 1e-3, termination);
  const pair = [V.W(-1.2), V.W(1)];
  assert.ok(nonlinearLeastSquares(pair, ([a, b]) => [V.sub(1, a), V.mul(10, V.sub(b, V.square(a))), V.mul(0.1, V.sub(a, 1))], { useQR: true, costTolerance: 1e-16 }).finalCost < 1e-12);
});

test("with default tolerances L-BFGS is as exact as programs expect, compiled as by functions", () => {
  const square = (value) => V.mul(value, value);
  const PROBLEMS = {
    parabola: [([x]) => square(V.sub(x, V.C(3))), [0], [3], 5e-6], bowl: [(p) => p.reduce((sum, x, k) => V.add(sum, square(V.sub(x, V.C(k)))), V.C(0)), new Array(10).fill(0), Array.from({ length: 10 }, (_, k) => k), 5e-6], unused: [([x]) => square(x), [5, 10], [0, 10], 5e-6],
    rosenbrock: [([x, y]) => V.add(V.pow(V.sub(V.C(1), x), 2), V.mul(V.C(100), V.pow(V.sub(y, V.pow(x, 2)), 2))), [0.5, 0.5], [1, 1], 0.05], cosh: [([x]) => V.sub(V.add(V.exp(x), V.exp(V.mul(x, V.C(-1)))), V.C(2)), [2], [0], 5e-4],
    beale: [([x, y]) => [1.5, 2.25, 2.625].map((c, k) => V.pow(V.add(V.C(c), V.mul(x, V.sub(V.pow(y, k + 1), V.C(1)))), 2)).reduce((sum, part) => V.add(sum, part)), [1, 1], [3, 0.5], 0.05],
  };
  for (const [name, [build, start, solution, tolerance]] of Object.entries(PROBLEMS)) {
    const ends = [(p) => V.compileObjective(p, build), () => build].map((objective) => {
      const params = start.map((value) => V.W(value)), { success, finalCost, convergenceReason } = lbfgs(params, objective(params), { maxIterations: 200 });
      assert.ok(success, `${name}: ${convergenceReason}`);
      params.forEach(({ data }, k) => assert.ok(Math.abs(data - solution[k]) < tolerance, `${name}: ${data}, not ${solution[k]}`));
      return finalCost;
    });
    near(ends[0], ends[1], 1e-12, name);
  }
});

test("gradient tolerances end least squares earlier, with their reason", () => {
  const random = randoms(31, -0.05, 0.05), seen = Array.from({ length: 20 }, (_, k) => [k / 2, 2 * Math.sin(k / 2) + random()]);
  const CASES = [
    [(p) => p.map((x) => V.mul(x, V.C(0.01))), [5, 5], 1e-4, { costTolerance: 1e-20, paramTolerance: 1e-8 }], [(p) => p.map((x, k) => V.mul(V.sub(x, V.C(k + 1)), V.C(10))), [0.5, 1.5, 2.5], 1e-2, { costTolerance: 1e-20, paramTolerance: 1e-8 }],
    [([frequency, amplitude, phase]) => seen.map(([x, y]) => V.sub(V.mul(V.sin(V.add(V.mul(frequency, V.C(x)), phase)), amplitude), V.C(y))), [0.8, 1.5, 0.2], 1e-3, { costTolerance: 1e-10, paramTolerance: 1e-10, maxIterations: 50 }],
  ];
  CASES.forEach(([build, start, gradientTolerance, options], k) => {
    const solve = (tolerance) => V.nonlinearLeastSquares(start.map((value) => V.W(value)), build, { ...options, gradientTolerance: tolerance }), early = solve(gradientTolerance), late = solve(1e-20);
    assert.deepEqual([early.success, early.convergenceReason], [true, "Gradient tolerance reached"], `case ${k}`);
    assert.ok(early.iterations < late.iterations, `case ${k}: ${early.iterations}, ${late.iterations}`);
  });
});

test("rings of points and circles from poor starts", () => {
  const random = randoms(41, -10, 10);
  for (let time = 0; time < 20; time++) {
    const points = Array.from({ length: 10 }, () => Vec3.W(random(), random(), random()));
    const residuals = (params) => { const at = (k) => new Vec3(params[3 * k], params[3 * k + 1], params[3 * k + 2]); return points.map((_, k) => V.sub(at((k + 1) % 10).sub(at(k)).magnitude, V.C(2))); };
    const { success, finalCost } = V.nonlinearLeastSquares(points.flatMap((point) => point.trainables), residuals, { maxIterations: 200 });
    assert.ok(success && finalCost < 1e-4, `${finalCost}`);
  }
  const circle = Array.from({ length: 30 }, (_, k) => [10 + 5 * Math.cos((k * Math.PI) / 15), -5 + 5 * Math.sin((k * Math.PI) / 15)]);
  const build = ([x, y, r]) => circle.map(([a, b]) => V.sub(V.sqrt(V.add(V.square(V.sub(V.C(a), x)), V.square(V.sub(V.C(b), y)))), r));
  for (const start of [[0, 0, 1], [100, 100, 0.1]]) {
    const params = start.map((value) => V.W(value));
    assert.ok(V.nonlinearLeastSquares(params, build, { maxIterations: 50 }).success);
    params.forEach(({ data }, k) => near(data, [10, -5, 5][k], 1e-2));
  }
});
