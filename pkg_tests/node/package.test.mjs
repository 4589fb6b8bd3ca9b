// What is in the tarball.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import * as leastwise from "leastwise";
import * as autograd from "leastwise/autograd";
import * as energies from "leastwise/energies";
import * as fits from "leastwise/fits";
import * as mesh from "leastwise/mesh";
import * as meshFiles from "leastwise/mesh/files";
import * as inline from "leastwise/inline";
import * as nn from "leastwise/nn";
import * as sketch from "leastwise/sketch";
import * as vectors from "leastwise/vectors";
import { FULL } from "./support.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.resolve("leastwise"))));
const files = readdirSync(root, { recursive: true }).map(String).filter((name) => statSync(join(root, name)).isFile());
const { PARTS } = await import(join(root, "dist/parts.js"));
const text = (name) => readFileSync(join(root, name), "utf8");
const manifest = JSON.parse(text("package.json"));

// What pages download is held to its limits in every run by `browser/bytes.test.mjs`.
test("each part of the module, the whole, and the module with threads have their limits, compressed", { skip: !FULL && "npm run test:full" }, (t) => {
  // KB. What pages fetch at first is the least; the whole is for hosts that have one file alone.
  const limits = { core: 340, webgpu: 88, cpu: 72, direct: 116, levels: 63, descent: 23, tensors: 172, vectors: 190, rare: 112, seldom: 94, single: 38, doubles: 24, normals: 8, reduced: 30, fits: 48, bg: 1215 };
  const files = [...Object.entries(limits).map(([part, limit]) => [`leastwise_${part}`, limit]), ["threaded_bg", 1215]];
  assert.deepEqual(Object.keys(limits).sort(), ["bg", "core", ...PARTS].sort());
  for (const [name, limit] of files) {
    const size = brotliCompressSync(readFileSync(join(root, `dist/wasm/${name}.wasm`))).length / 1024;
    t.diagnostic(`${name}: ${Math.round(size)} KB`);
    assert.ok(size < limit, `${name}: ${size} KB`);
  }
});

test("nothing but leastwise/threads leads to the module with threads", () => {
  const reached = new Set(), next = ["dist/main.js", "dist/inline.js", "dist/node.js", "dist/autograd.js", "dist/energies.js", "dist/fits.js", "dist/mesh.js", "dist/mesh/files.js", "dist/nn.js", "dist/sketch.js", "dist/three.js", "dist/vectors.js"];
  while (next.length) {
    const name = next.pop();
    if (reached.has(name)) continue;
    reached.add(name);
    for (const [, from] of text(name).matchAll(/(?:\bfrom |\bimport\(|new URL\()"(\.\.?\/[^"]+\.js)"/g)) next.push(relative(root, join(root, dirname(name), from)));
  }
  assert.ok(reached.has("dist/wasm/leastwise.js") && reached.size > 30, [...reached].join());
  assert.deepEqual([...reached].filter((name) => /worker|thread/.test(name)), []);
});

test("leastwise/autograd computes without the engine's module, and imports none of it", () => {
  const reached = new Set(), next = ["dist/autograd.js"];
  while (next.length) {
    const name = next.pop();
    if (reached.has(name)) continue;
    reached.add(name);
    for (const [, from] of text(name).matchAll(/\bfrom "(\.\.?\/[^"]+\.js)"/g)) next.push(relative(root, join(root, dirname(name), from)));
  }
  assert.deepEqual([...reached].filter((name) => /wasm|init/.test(name)), []);
});

// A worker of Vite before version 8 is one file, and what is imported later would be a second.
test("nothing of the package is imported later, and modules import each other in no circle", () => {
  const imports = (name) => [...text(name).matchAll(/^(?:import|export)\b[^;]*?"(\.\.?\/[^"]+)"/gm)].map(([, from]) => relative(root, join(root, dirname(name), from)));
  const done = new Set();
  const visit = (name, path) => {
    assert.ok(!path.includes(name), `${[...path, name].join(" → ")} is a circle`);
    if (done.has(name)) return;
    for (const next of imports(name)) visit(next, [...path, name]);
    done.add(name);
  };
  for (const name of files.filter((name) => name.endsWith(".js") && !name.startsWith("dist/cli/"))) {
    visit(name, []);
    assert.doesNotMatch(text(name), /\bimport\(\s*(\/\*.*?\*\/\s*)*["'`]\./, name);
  }
  assert.ok(done.size > 60, `${done.size}`);
});

test("what is exported", () => {
  assert.deepEqual(Object.keys(leastwise).sort(), [
      "Half", "LeastwiseError", "abs", "acos", "acosh", "and", "angleBetween", "arctan", "asin", "asinh", "atan", "atan2", "atanh", "attention", "avgPool2d", "barron", "batchNorm", "cauchy", "cbrt", "ceil", "cholesky", "clamp", "closestRotation", "column", "composed", "concat", "conv2d",
      "convTranspose2d", "cos", "cosh", "cotangent", "cross", "crossEntropy", "cube", "dihedralAngle", "distance", "dot", "dropout", "eigenSymmetric", "eigh", "einsum", "embedding", "erf", "exp", "exp2", "expm1", "fitModels", "floor", "fract", "fromAngleAxis", "fromMatrix", "gelu", "gemanMcClure", "grad",
      "groupNorm", "half", "huber", "hvp", "hypot", "init", "jvp", "leakyRelu", "linearSolve", "log", "log10", "log1p", "log2", "logsumexp", "loss", "manifold", "map", "mat2", "mat3", "max", "maxPool2d", "mean", "min", "mix", "mod", "norm", "normalize", "not", "oneHot", "or", "perEntry", "pow", "preload",
      "qr", "quat", "quatExp", "quaternion", "reciprocal", "relu", "rotateXYZ", "round", "rsqrt", "scaled", "se2", "se3", "select", "sigmoid", "sign", "sim3", "sin", "sinh", "smoothstep", "so2", "so3", "softL1", "softplus", "solveAsTensors", "sphere", "sqrt", "stack", "step", "subset", "sum", "sumOver", "svd", "tan",
      "tanh", "tolerant", "triangleArea", "triangleNormal", "trivial", "tukey", "valueAndGrad", "vec", "vector", "vjp", "welsch", "where",
  ]);
  assert.deepEqual(Object.keys(mesh).sort(), [
    "angleDefects", "boundaryLoops", "boundingBox", "clean", "components", "cornerAngles", "cotangentWeights", "cutAlong", "decimate", "disk", "edgeLengths", "edges", "faceAdjacency", "faceAreas", "faceNeighbors", "faceNormals", "fans",
    "grid", "hinges", "icosphere", "inspect", "lscm", "meanCurvature", "normalTable", "orient", "stars", "subdivide", "triangleFrames", "tutte", "vertexAreas", "vertexFaces", "vertexNormals", "volume", "weld",
  ]);
  assert.deepEqual(Object.keys(meshFiles).sort(), ["formatOf", "readMesh"]);
  assert.deepEqual(Object.keys(energies).sort(), [
    "arap", "bending", "biLaplacian", "bimodalAlignment", "bimodalVariance", "closePairs", "developableCovariance", "developablePartition", "developableShare", "dirichlet", "edgeLengths", "equalAreas", "formulas", "hinge", "inertia", "lscm", "mips",
    "neoHookean", "planarPolygons", "planeContact", "regularPolygons", "shear", "sphereContact", "stVenantKirchhoff", "stretch", "symmetricDirichlet", "vertexContact", "willmore",
  ]);
  assert.deepEqual(Object.keys(nn).sort(), ["adam", "adamW", "conv", "layer", "linear", "loadModel", "loadTensors", "mlp", "saveModel", "saveTensors", "sequential", "sgd", "trainer"]);
  assert.deepEqual(Object.keys(autograd).sort(), [
    "Adam", "AdamW", "CompiledFunctions", "CompiledResiduals", "Geometry", "GraphBuilder", "Losses", "Matrix3x3", "Optimizer", "Parser", "SGD", "V", "Value", "Vec2", "Vec3", "Vec4", "computeGradients", "differentiate", "generateCode", "generateGradientCode", "generateGradientFunction",
    "generateMathNotation", "lbfgs", "lbfgsAsync", "nonlinearLeastSquares", "nonlinearLeastSquaresAsync", "parse", "simplify",
  ]);
  assert.deepEqual(Object.keys(fits), ["fitSet"]);
  assert.deepEqual(Object.keys(sketch).sort(), ["sketch", "sketchFromJSON"]);
  assert.deepEqual(Object.keys(vectors).sort(), ["Half", "clusterBatches", "encodeNpy", "exactSearch", "formatOf", "fromHalf", "half", "indexBits", "mergeIndices", "npyHeader", "openBits", "openLazily", "openVectors", "openWithChanges", "predict", "remoteFile", "toHalf", "trackChanges"]);
  assert.deepEqual(Object.keys(manifest.exports), [".", "./autograd", "./energies", "./fits", "./inline", "./mesh", "./mesh/files", "./nn", "./sketch", "./threads", "./three", "./vectors", "./leastwise.wasm", ...["core", ...PARTS].map((part) => `./leastwise-${part}.wasm`), "./threaded.wasm", "./package.json"]);
  assert.deepEqual(Object.keys(inline).sort(), Object.keys(leastwise).sort());
  assert.notEqual(inline.init, leastwise.init);
  for (const entry of Object.values(manifest.exports)) {
    for (const path of typeof entry === "string" ? [entry] : Object.values(entry)) assert.ok(files.includes(path.replace("./", "")), path);
  }
});

test("what is kept between runs is of this version", async () => {
  const { VERSION } = await import(join(root, "dist/version.js"));
  assert.equal(VERSION, manifest.version);
});

test("what is in it: compiled files, their types, the licences, and no path of the machine that built it", () => {
  for (const name of files) {
    assert.match(name, /^(dist\/(((autograd|energies|mesh|vectors|sketch|tensor|text|nn|cli|cli\/commands)\/)?[a-z0-9-]+|wasm\/((leastwise|threaded)(_bg)?|leastwise_[a-z]+|inline))\.(js|d\.ts|js\.map|d\.ts\.map|wasm)|src\/([a-z]+\/)?[a-z0-9-]+\.ts|src\/([a-z]+\/)?[a-z-]+\.d\.ts|docs\/([A-Z-]+\.md|[a-z-]+\.(png|svg)|recipes\/[a-z-]+\.svg)|examples\/recipes\/[a-z-]+\.mjs|package\.json|README\.md|CHANGELOG\.md|LICENSE-(MIT|APACHE)|THIRD-PARTY-NOTICES)$/);
    const bytes = readFileSync(join(root, name)).toString("latin1");
    for (const place of [/\/home\/|\/root\/|\/Users\//, /\.cargo\/registry/]) assert.doesNotMatch(bytes, place, name);
  }
  for (const name of ["LICENSE-MIT", "LICENSE-APACHE"]) assert.ok(files.includes(name), `${name} is missing`);
  assert.equal(manifest.license, "MIT OR Apache-2.0");
  assert.equal(manifest.dependencies, undefined, "what the command line needs is bundled into it; nothing else needs another package");
});

test("README and documents: every link is within the package, or has an address of its own", () => {
  const documents = files.filter((name) => name.endsWith(".md"));
  assert.ok(documents.includes("README.md") && documents.includes("CHANGELOG.md") && documents.length > 15, documents.join());
  let links = 0;
  for (const name of documents) {
    for (const [, target] of text(name).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^(\w+:|#)/.test(target)) continue;
      links++;
      assert.ok(files.includes(relative(root, join(root, dirname(name), target.split("#")[0]))), `${name} links to ${target}, which is not in the package`);
    }
  }
  assert.ok(links > 40, `${links} links`);
});

test("maps lead from what is compiled to sources that are in the package", () => {
  const maps = files.filter((name) => name.endsWith(".map"));
  assert.ok(maps.filter((name) => name.endsWith(".d.ts.map")).length > 60 && maps.filter((name) => name.endsWith(".js.map")).length > 60, `${maps.length} maps`);
  for (const name of maps) {
    for (const source of JSON.parse(text(name)).sources) assert.ok(files.includes(relative(root, join(root, dirname(name), source))), `${name} names ${source}`);
  }
});

test("notices of what is compiled into the modules and bundled into the command line", () => {
  const notices = text("THIRD-PARTY-NOTICES");
  for (const name of [/^faer \d/m, /\bwgpu \d/, /\blibm \d/, /\bwasm-bindgen \d/, /\bserde_json \d/, /The Rust standard library/, /\bcli-progress \d\S* \(npm\)/, /\bstring-width \d\S* \(npm\)/]) assert.match(notices, name);
  assert.match(notices, /Mozilla Public License Version 2\.0/, "of what faer took from Eigen");
  // For tests, macros and builds alone.
  assert.doesNotMatch(notices, /\b(wasmi|syn|proc-macro2|cudarc) \d/);
});

test("hosts: any three.js, and the versions of Node in which require() takes the package", () => {
  assert.equal(manifest.peerDependencies.three, "*");
  assert.equal(manifest.engines.node, "^20.19.0 || >=22.12.0");
});

test("no module has an effect when it is loaded, or names a package that is not there", () => {
  assert.equal(manifest.sideEffects, false);
  // The command line is for Node, and nothing that a page loads leads to it.
  for (const name of files.filter((name) => name.endsWith(".js") && !name.startsWith("dist/cli/"))) {
    for (const [, from] of text(name).matchAll(/^(?:import|export)\b[^;]*?\bfrom "([^"]+)"/gm)) {
      if (name === "dist/node-files.js" && /^node:/.test(from)) continue;
      assert.ok(/^\.\.?\//.test(from), `${name} imports ${from}`);
      assert.ok(!from.includes("cli/"), `${name} imports the command line`);
      assert.ok(files.includes(relative(root, join(root, dirname(name), from))), `${name} imports ${from}, which is not in the package`);
    }
  }
});

test("the published types name no type of WebGPU's own", () => {
  for (const name of files.filter((name) => name.endsWith(".d.ts") && !name.includes("wasm/"))) {
    const code = text(name).replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "").replaceAll(/"[^"]*"/g, "");
    assert.doesNotMatch(code, /\bGPU[A-Z]\w*/, name);
  }
});
