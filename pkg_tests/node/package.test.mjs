// What is in the tarball.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import * as leastwise from "leastwise";
import * as mesh from "leastwise/mesh";
import * as nn from "leastwise/nn";
import * as sketch from "leastwise/sketch";
import * as vectors from "leastwise/vectors";

const root = dirname(dirname(fileURLToPath(import.meta.resolve("leastwise"))));
const files = readdirSync(root, { recursive: true }).map(String).filter((name) => statSync(join(root, name)).isFile());
const text = (name) => readFileSync(join(root, name), "utf8");
const manifest = JSON.parse(text("package.json"));

// 300 KB was the limit of the first solver, with few operations; losses, methods, manifolds and factorisations came on top, then clustering,
// codes of vectors and their index, then the coarse space of patches, checkpoints, gradients through solves, and methods without systems; last
// double-floats (the writer of their kernels and their functions, some 45 KB) and the writer of WebAssembly (some 20 KB).
test("the module is under 1060 KB, compressed", () => {
  const bytes = brotliCompressSync(readFileSync(join(root, "dist/wasm/leastwise_bg.wasm"))).length;
  assert.ok(bytes < 1060 * 1024, `${bytes} bytes`);
});

// The same engine with atomics and without WebGPU; it is loaded by `leastwise/threads` alone.
test("the module with threads is under 1060 KB, compressed", () => {
  const bytes = brotliCompressSync(readFileSync(join(root, "dist/wasm/threaded_bg.wasm"))).length;
  assert.ok(bytes < 1060 * 1024, `${bytes} bytes`);
});

test("nothing but leastwise/threads leads to the module with threads", () => {
  const reached = new Set(), next = ["dist/index.js", "dist/mesh.js", "dist/nn.js", "dist/sketch.js", "dist/three.js", "dist/vectors.js"];
  while (next.length) {
    const name = next.pop();
    if (reached.has(name)) continue;
    reached.add(name);
    for (const [, from] of text(name).matchAll(/(?:\bfrom |\bimport\(|new URL\()"(\.\.?\/[^"]+\.js)"/g)) next.push(relative(root, join(root, dirname(name), from)));
  }
  assert.ok(reached.has("dist/wasm/leastwise.js") && reached.size > 30, [...reached].join());
  assert.deepEqual([...reached].filter((name) => /thread|crew/.test(name)), []);
});

test("what is exported", () => {
  assert.deepEqual(Object.keys(leastwise).sort(), [
    "Half", "LeastwiseError", "abs", "acos", "acosh", "and", "angleBetween", "arctan", "asin", "asinh", "atan", "atan2", "atanh", "attention", "barron", "cauchy", "cbrt", "ceil", "clamp", "closestRotation", "column", "composed", "concat", "conv2d", "cos",
    "cosh", "cotangent", "cross", "crossEntropy", "cube", "dihedralAngle", "distance", "dot", "eigenSymmetric", "embedding", "erf", "exp", "exp2", "expm1", "floor", "fract", "fromAngleAxis", "fromMatrix", "gelu", "gemanMcClure", "grad", "half", "huber", "hypot",
    "init", "leakyRelu", "log", "log10", "log1p", "log2", "logsumexp", "loss", "manifold", "map", "mat2", "mat3", "max", "maxPool2d", "mean", "min", "mix", "mod", "norm", "normalize", "not", "or", "perEntry", "pow", "quat", "quatExp",
    "quaternion", "reciprocal", "relu", "rotateXYZ", "round", "rsqrt", "scaled", "se2", "se3", "select", "sigmoid", "sign", "sim3", "sin", "sinh", "smoothstep", "so2", "so3", "softL1", "softplus", "sphere", "sqrt",
    "stack", "step", "subset", "sum", "sumOver", "tan", "tanh", "tolerant", "triangleArea", "triangleNormal", "trivial", "tukey", "vec", "vector", "welsch", "where",
  ]);
  assert.deepEqual(Object.keys(mesh).sort(), ["edges", "stars", "weld"]);
  assert.deepEqual(Object.keys(nn).sort(), ["adam", "adamW", "conv", "layer", "linear", "mlp", "sequential", "sgd", "trainer"]);
  assert.deepEqual(Object.keys(sketch).sort(), ["sketch"]);
  assert.deepEqual(Object.keys(vectors).sort(), ["Half", "encodeNpy", "formatOf", "fromHalf", "half", "npyHeader", "openVectors", "toHalf"]);
  assert.deepEqual(Object.keys(manifest.exports), [".", "./mesh", "./nn", "./sketch", "./threads", "./three", "./vectors", "./package.json"]);
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
    assert.match(name, /^(dist\/(((vectors|sketch|tensor|nn|cli|cli\/commands)\/)?[a-z-]+|wasm\/(leastwise|threaded)(_bg)?)\.(js|d\.ts|wasm)|package\.json|README\.md|LICENSE-(MIT|APACHE))$/);
    const bytes = readFileSync(join(root, name)).toString("latin1");
    for (const place of [/\/home\/|\/root\/|\/Users\//, /\.cargo\/registry/]) assert.doesNotMatch(bytes, place, name);
  }
  for (const name of ["LICENSE-MIT", "LICENSE-APACHE"]) assert.ok(files.includes(name), `${name} is missing`);
  assert.equal(manifest.license, "MIT OR Apache-2.0");
  assert.deepEqual(Object.keys(manifest.dependencies), ["cli-progress"], "the command line has progress bars; nothing else needs another package");
});

test("no module has an effect when it is loaded, or names a package that is not there", () => {
  assert.equal(manifest.sideEffects, false);
  // The command line is for Node, and nothing that a page loads leads to it.
  for (const name of files.filter((name) => name.endsWith(".js") && !name.startsWith("dist/cli/"))) {
    for (const [, from] of text(name).matchAll(/^(?:import|export)\b[^;]*?\bfrom "([^"]+)"/gm)) {
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
