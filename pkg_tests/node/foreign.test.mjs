// Arguments of any kind to the modules beside the engine's: what is thrown is ours, always.
import assert from "node:assert/strict";
import { test } from "node:test";
import { concat, grad, init, LeastwiseError, manifold, preload, stack, subset } from "leastwise";
import { edges, stars, weld } from "leastwise/mesh";
import { adam, conv, layer, linear, mlp, sequential, sgd, trainer } from "leastwise/nn";
import { sketch, sketchFromJSON } from "leastwise/sketch";
import { bindAttribute } from "leastwise/three";
import { encodeNpy, formatOf, fromHalf, half, Half, npyHeader, openVectors, toHalf } from "leastwise/vectors";
import { open, refuses, rejects } from "./support.mjs";

const boom = () => { throw new Error("boom"); };
const revoked = (of) => { const { proxy, revoke } = Proxy.revocable(of, {}); revoke(); return proxy; };
const gone = (Kind) => { const array = new Kind(4); structuredClone(array.buffer, { transfer: [array.buffer] }); return array; };

const ODD = {
  "undefined": undefined, "null": null, "a symbol": Symbol("s"), "a BigInt": 10n, "a number": 5, "NaN": NaN, "a string": "x", "a flag": true, "a function": () => 1, "an object": {}, "an array": [], "an object without a prototype": Object.create(null), "a date": new Date(NaN),
  "an array of a symbol": [Symbol("s")], "an array of undefined": [undefined], "an array of objects": [{}], "a Map": new Map(), "a promise": Promise.resolve(1), "a Proxy that throws": new Proxy({}, { get: boom, has: boom, ownKeys: boom, getPrototypeOf: boom }),
  "an array that throws": new Proxy([1, 2], { get: boom }), "a revoked Proxy": revoked({}), "a revoked array": revoked([]), "what is no string": { toString: boom, valueOf: boom, [Symbol.toPrimitive]: boom }, "a getter": { get length() { throw new Error("boom"); } },
  "f32 without memory": gone(Float32Array), "bytes without memory": gone(Uint8Array), "words without memory": gone(Uint16Array), "BigInts": new BigInt64Array(2), "an infinite length": { length: Infinity }, "a huge length": { length: 2 ** 40 },
};

/** Calls with each of these values. What they do with one that they take is of no interest here. */
async function throwsOursOf(calls) {
  let refused = 0;
  for (const [name, work] of Object.entries(calls)) {
    for (const [kind, value] of Object.entries(ODD)) {
      try {
        await work(value);
      } catch (error) {
        assert.ok(error instanceof LeastwiseError && error.code !== "engine-dead", `${name} of ${kind}: ${error?.stack ?? String(error)}`);
        refused++;
      }
    }
  }
  assert.ok(refused > 10 * Object.keys(calls).length, `${refused}`);
}

const collect = async (vectors, rows) => { for await (const part of vectors.chunks(rows)) assert.ok(part); };

test("leastwise/vectors", async () => {
  const file = encodeNpy(Float32Array.of(1, 2, 3, 4), [2, 2]), vectors = await openVectors(file), raw = { format: "raw", type: "uint8", dim: 1 };
  const streamOf = (piece) => new ReadableStream({ start(controller) { controller.enqueue(piece); controller.close(); } });
  await throwsOursOf({
    "encodeNpy(array)": (v) => encodeNpy(v), "encodeNpy(array, shape)": (v) => encodeNpy(new Float32Array(4), v), "encodeNpy(array, [size])": (v) => encodeNpy(new Float32Array(4), [v]), "encodeNpy(half, shape)": (v) => encodeNpy(half(new Uint16Array(4)), v),
    "formatOf(name)": (v) => formatOf(v), "formatOf(name, start)": (v) => formatOf("a", v), "npyHeader(type)": (v) => npyHeader(v, [2]), "npyHeader(type, shape)": (v) => npyHeader("float32", v), "npyHeader(type, [size])": (v) => npyHeader("float32", [v]),
    "half": (v) => half(v), "toHalf": (v) => toHalf(v), "toHalf([number])": (v) => toHalf([v]), "fromHalf": (v) => fromHalf(v), "fromHalf of another": (v) => fromHalf(Object.create(Half.prototype, { bits: { value: v } })),
    "openVectors": (v) => openVectors(v), "options": (v) => openVectors(file, v), "format": (v) => openVectors(file, { format: v }), "type": (v) => openVectors(file, { ...raw, type: v }), "dim": (v) => openVectors(file, { ...raw, dim: v }), "offset": (v) => openVectors(file, { ...raw, offset: v }),
    "size": (v) => openVectors({ size: v, read: async () => file }), "read": (v) => openVectors({ size: 100, read: v }), "a stream": async (v) => collect(await openVectors(streamOf(v)), 1),
    "rows(first)": (v) => vectors.rows(v), "rows(first, count)": (v) => vectors.rows(0, v), "elements": (v) => vectors.elements(v), "chunks": (v) => collect(vectors, v),
  });
  refuses(() => encodeNpy(new Float32Array(4), 4), "shape", "encodeNpy(array, shape): shape must be an array of sizes, such as [2, 3], not a number");
  refuses(() => encodeNpy(new Float32Array(4), [2.5]), "shape", "encodeNpy(array, shape): size 0 of the shape is 2.5, but sizes are whole numbers");
  refuses(() => encodeNpy(gone(Float32Array)), "data-length", /its buffer was transferred/);
  refuses(() => formatOf(), "invalid-option", "formatOf(name, start): name must be a string, not undefined");
  refuses(() => formatOf("a.npy", "x"), "invalid-option", "formatOf(name, start): start must be a Uint8Array, not a string");
  refuses(() => npyHeader("f4", [1]), "invalid-option", /^npyHeader\(type, shape\): type: "f4" is not one of "float16", "float32", /);
  refuses(() => toHalf(5), "invalid-option", "toHalf(numbers): numbers must be an array of numbers, not a number");
  await rejects(openVectors(file, { format: ODD["a Proxy that throws"] }), "invalid-option", /^format: an object that can't be read is not one of "npy", /);
  await rejects(openVectors({ size: 100, read: async () => "bytes" }), "invalid-option", "read(offset, length) of a source of vectors must give a Uint8Array, not a string");
  // What the caller's own function throws is the caller's.
  await assert.rejects(openVectors({ size: 100, read: async () => boom() }), /^Error: boom$/);
  // Arrays of any class and realm are what they are.
  assert.deepEqual(encodeNpy(new (class Odd extends Float32Array {})([1, 2, 3, 4]), [2, 2]), file);
});

test("leastwise/nn", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const one = lw.tensor([[1, 2], [3, 4]]), model = linear(lw, 2, 1, { seed: 1 }), seed = 1;
  const module = (part) => ({ forward: (x) => x, parameters: () => [], update() {}, dispose() {}, ...part });
  const loss = (model) => model.forward(one).sum();
  await throwsOursOf({
    "layer": (v) => layer(v, (p, x) => x), "layer([tensor])": (v) => layer([v], (p, x) => x), "forward of layer": (v) => layer([one], v), "forward(x)": (v) => model.forward(v),
    "linear(lw)": (v) => linear(v, 1, 1, { seed }), "inputs": (v) => linear(lw, v, 1, { seed }), "outputs": (v) => linear(lw, 1, v, { seed }), "dtype": (v) => linear(lw, 1, 1, { seed, dtype: v }),
    "conv(lw)": (v) => conv(v, 1, 1, 3, { seed }), "size": (v) => conv(lw, 1, 1, v, { seed }), "[height, width]": (v) => conv(lw, 1, 1, [v, 1], { seed }), "mlp(lw)": (v) => mlp(v, [1, 1], { seed }), "sizes": (v) => mlp(lw, v, { seed }), "[size]": (v) => mlp(lw, [1, v], { seed }),
    "sequential": (v) => sequential(v), "forward of a part": (v) => sequential({ forward: v }), "parameters of a part": (v) => sequential({ forward: (x) => x, parameters: v }).parameters(),
    "update": (v) => model.update(v), "update([tensor])": (v) => model.update([v, v]), "decays": (v) => adam({ decays: [v, 0.9] }),
    "step(parameters)": (v) => adam().step(v, [one]), "step(parameters, gradients)": (v) => adam().step([one], v), "step([x], [g])": (v) => adam().step([one], [v]), "step(…, state)": (v) => adam().step([one], [one], v),
    "steps": (v) => adam().step([one], [one], { steps: v, moments: [] }), "moments": (v) => adam().step([one], [one], { steps: 1, moments: v }), "[moments]": (v) => adam().step([one], [one], { steps: 1, moments: [v] }), "[[moment]]": (v) => sgd({ learningRate: 1, momentum: 0.5 }).step([one], [one], { steps: 1, moments: [[v]] }),
    "rate": (v) => sgd({ learningRate: () => v }).step([one], [one]), "trainer(model)": (v) => trainer(v, loss, adam()), "loss": (v) => trainer(model, v, adam()).step(), "optimizer": (v) => trainer(model, loss, v).step(), "what loss gives": (v) => trainer(model, () => v, adam()).step(),
    "concat": (v) => concat(v), "stack": (v) => stack(v), "grad": (v) => grad(one.sum(), v), "pad": (v) => one.pad([v, v]), "pad(widths)": (v) => one.pad(v),
  });
  refuses(() => layer(), "invalid-option", "layer(parameters, forward): parameters must be an array of tensors, not undefined");
  refuses(() => layer([one]), "invalid-option", "layer(parameters, forward): forward must be a function of the parameters and a tensor, not undefined");
  refuses(() => linear({}, 1, 1, { seed }), "invalid-option", "linear(lw, inputs, outputs): lw must be an engine, as init() makes one, not an Object");
  refuses(() => trainer(model, loss), "invalid-option", "trainer(model, loss, optimizer): optimizer must have a method step, as adam() has, not undefined");
  assert.equal(sequential(module(), (x) => x).parameters().length, 0);
  for (const value of [ODD["a Proxy that throws"], ODD["a revoked Proxy"]]) assert.equal(lw.scope(() => value), value);
  one.dispose();
  model.dispose();
});

test("leastwise/sketch", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const s = sketch(lw), a = s.point(0, 0), b = s.point(1, 0), c = s.point(3, 3), line = s.line(a, b), other = s.line(b, c), circle = s.circle(a, 1);
  const arc = s.arc(c, a, b), ellipse = s.ellipse(a, c, 1), spline = s.spline([a, b, c, a]);
  const held = ["coincident", "midpoint", "collinear", "parallel", "perpendicular", "angle", "equalLength", "pointOnLine", "horizontal", "vertical", "symmetric", "distance", "radius", "equalRadius", "pointOnCircle", "concentric", "tangent", "equalAngle", "ratio", "horizontalDistance", "verticalDistance", "pointOnEllipse", "pointOnSpline", "tangentAt"];
  await throwsOursOf({
    "sketch": (v) => sketch(v), "point(x)": (v) => s.point(v, 0), "point(x, y)": (v) => s.point(0, v), "line(from)": (v) => s.line(v, b), "line(from, to)": (v) => s.line(a, v), "circle(centre)": (v) => s.circle(v, 1), "circle(centre, radius)": (v) => s.circle(a, v),
    "arc": (v) => s.arc(v, a, b), "arc(from)": (v) => s.arc(a, v, b), "ellipse": (v) => s.ellipse(v, b, 1), "ellipse(vertex)": (v) => s.ellipse(a, v, 1), "ellipse(radius)": (v) => s.ellipse(a, b, v), "spline": (v) => s.spline(v), "spline([point])": (v) => s.spline([a, b, c, v]),
    "drawing": (v) => s.line(a, b, v), "construction": (v) => s.circle(a, 1, { construction: v }), "group": (v) => s.group(v, [a]), "members": (v) => s.group("g", v), "members[0]": (v) => s.group("g", [v]), "group.move": (v) => s.group("moved", [a]).move(v, 0),
    "drag": (v) => s.drag(v, 0, 0), "drag(point, x)": (v) => s.drag(a, v, 0), "addSVG": (v) => s.addSVG(v), "addSVG(path, options)": (v) => s.addSVG("M0 0", v), "json": (v) => sketchFromJSON(lw, v), "json.points": (v) => sketchFromJSON(lw, { format: "leastwise-sketch", version: 1, points: v, shapes: [], constraints: [] }),
    "json.shapes": (v) => sketchFromJSON(lw, { format: "leastwise-sketch", version: 1, points: [[0, 0], v], shapes: [v, { type: v, points: v }], constraints: [v] }), "json.constraints": (v) => sketchFromJSON(lw, { format: "leastwise-sketch", version: 1, points: [[0, 0]], shapes: [], constraints: [{ type: v, of: v }] }),
    "point.x": (v) => { a.x = v; }, "radius": (v) => { circle.radius = v; }, "diagnose": (v) => s.solve({ diagnose: v }),
    "move": (v) => s.move(v, 0, 0), "move(point, x)": (v) => s.move(a, v, 0), "move(point, x, y)": (v) => s.move(a, 0, v), "fix": (v) => s.fix(v), "free": (v) => s.free(v), "name": (v) => s.coincident(a, b, { name: v }), "solve": (v) => s.solve({ tolerance: v }),
    ...Object.fromEntries(held.flatMap((name) => [[name, (v) => s[name](v, v, v, v)], [`${name} of a point`, (v) => s[name](a, v, v, v)], [`${name} of a line`, (v) => s[name](line, v, v, v)], [`${name} of a circle`, (v) => s[name](circle, v, v, v)], [`${name} of an arc`, (v) => s[name](arc, v, v, v)], [`${name} of an ellipse`, (v) => s[name](ellipse, v, v, v)], [`${name} of a spline`, (v) => s[name](spline, v, v, v)]])),
    "angle(a, b, value)": (v) => s.angle(line, other, v), "value": (v) => { s.distance(a, b, 1).value = v; },
  });
  refuses(() => s.point(Symbol("s"), 0), "invalid-option", "point(a symbol, 0): two finite numbers");
  refuses(() => s.circle(a, Symbol("s")), "invalid-option", "circle(centre, a symbol): the radius must be a positive number");
  refuses(() => s.move(a, 0, Symbol("s")), "invalid-option", "move(point, 0, a symbol): two finite numbers");
  refuses(() => sketch({}), "invalid-option", "sketch(lw): lw must be an engine, as init() makes one, not an Object");
});

test("leastwise/mesh, leastwise/three, init and manifolds", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const x = lw.problem().variables("x", { shape: 3, values: new Float32Array(9) });
  const attribute = (part) => ({ array: new Float32Array(9), itemSize: 3, version: 0, dispose() {}, ...part });
  await throwsOursOf({
    "edges": (v) => edges(v), "map": (v) => edges([0, 1, 2], { map: v }), "corner": (v) => edges([0, 1, v]), "stars": (v) => stars(v, 3), "vertices": (v) => stars([0, 1, 2], v), "weld": (v) => weld(v), "weld([x])": (v) => weld([0, 0, v]),
    "renderer": (v) => bindAttribute(v, attribute(), x).dispose(), "attribute": (v) => bindAttribute({}, v, x), "x": (v) => bindAttribute({}, attribute(), v), "array": (v) => bindAttribute({}, attribute({ array: v }), x), "itemSize": (v) => bindAttribute({}, attribute({ itemSize: v }), x),
    "version": (v) => bindAttribute({}, attribute({ version: v }), x),
    "init": async (v) => { if (v !== undefined) (await init(v)).dispose(); }, "preload": (v) => preload(v),
    "subset": (v) => subset(3, v), "subset([component])": (v) => subset(3, [v]), "manifold": (v) => manifold(v), "retract": (v) => manifold({ ambient: 2, tangent: 1, retract: v }),
  });
  refuses(() => stars([0, 1, 2], 2 ** 40), "shape", "stars(triangles, vertices): vertices is how many there are, not 1099511627776");
  refuses(() => bindAttribute(undefined, attribute(), x), "invalid-option", "bindAttribute: the renderer must be one of three.js, not undefined");
  refuses(() => bindAttribute({}, attribute({ array: [1, 2] }), x), "shape", "bindAttribute: the attribute must be a Float32Array of item size 3, not an array of 3");
  await rejects(init(revoked({})), "invalid-option", /^init\(options\): options can't be read: /);
});

test("slots and records that are taken apart as lists", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const problem = lw.problem(), x = problem.variables("x", { shape: 1, values: [1] }), pose = problem.variables("pose", { shape: { q: 1, t: 3 }, values: [1, 0, 0, 0] });
  refuses(() => problem.residuals("r", { of: { from: x } }, ([a]) => a), "invalid-option", 'the residual "r": the slots have names and no order: take ({ from }), not a list', { term: "r" });
  refuses(() => problem.residuals("r", { of: [pose] }, ([[q]]) => q), "invalid-option", 'the residual "r": a record has names and no order: take ({ q, t }), not a list', { term: "r" });
});
