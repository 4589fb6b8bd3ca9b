// Tensors and modules in safetensors files: round trips, a file of the format's own library, and files that nobody should believe.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fromHalf, toHalf } from "leastwise/vectors";
import { conv, linear, loadModel, loadTensors, mlp, saveModel, saveTensors, sequential } from "leastwise/nn";
import { BACKENDS, open, refuses, rejects } from "./support.mjs";

const list = async (tensor) => [...await tensor.read()];
const headerOf = (file) => { const length = Number(new DataView(file.buffer, file.byteOffset).getBigUint64(0, true)); return { length, header: JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + length))) }; };
/** A file with this header, and so many bytes after it. */
const fileWith = (header, data = new Uint8Array(0), length) => {
  const text = new TextEncoder().encode(typeof header === "string" ? header : JSON.stringify(header)), file = new Uint8Array(8 + text.length + data.length);
  new DataView(file.buffer).setBigUint64(0, BigInt(length ?? text.length), true);
  file.set(text, 8);
  file.set(data, 8 + text.length);
  return file;
};
const bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

for (const backend of BACKENDS) {
  test(`${backend}: what is saved is loaded, to the bit`, async (t) => {
    const lw = await open(t, { backend }), values = [0.1, -0, NaN, Infinity, 1e-42, 3.4e38];
    const tensors = { weight: lw.tensor(values, [2, 3]), half: lw.tensor([0.1, -0, 65504], [3], { dtype: "f16" }), none: lw.zeros([0, 2]), one: lw.tensor(7) };
    const computed = tensors.weight.slice(0, 0).mul(2), file = await saveTensors({ ...tensors, computed }, { metadata: { "größe": "μ", __proto__x: "1" } });
    const { tensors: back, metadata } = loadTensors(lw, file);
    assert.deepEqual(metadata, { "größe": "μ", __proto__x: "1" });
    assert.deepEqual(Object.keys(back).sort(), ["computed", "half", "none", "one", "weight"]);
    assert.deepEqual([back.weight.shape, back.none.shape, back.one.shape, back.half.dtype], [[2, 3], [0, 2], [], "f32"]);
    assert.deepEqual(await list(back.weight), values.map(Math.fround));
    assert.deepEqual(await list(back.half), [...fromHalf(toHalf([0.1, -0, 65504]))]);
    assert.deepEqual([await list(back.none), await back.one.item(), await back.computed.item()], [[], 7, Math.fround(Math.fround(0.1) * 2)]);
    const halves = loadTensors(lw, file, { dtype: "f16" }).tensors;
    assert.deepEqual([halves.half.dtype, await list(halves.half)], ["f16", await list(back.half)]);
    assert.deepEqual(await saveTensors({ half: halves.half }), await saveTensors({ half: tensors.half }));
  });

  test(`${backend}: int32s and booleans are saved and loaded as such`, async (t) => {
    const lw = await open(t, { backend }), ids = [2 ** 31 - 1, -(2 ** 31), 2 ** 24 + 1, 0], file = await saveTensors({ ids: lw.tensor(Int32Array.from(ids)), mask: lw.tensor([[true, false]]), none: lw.zeros([0], { dtype: "int32" }) });
    assert.deepEqual(Object.entries(headerOf(file).header).map(([name, { dtype }]) => [name, dtype]).sort(), [["ids", "I32"], ["mask", "BOOL"], ["none", "I32"]]);
    const { tensors } = loadTensors(lw, file);
    assert.deepEqual([tensors.ids.dtype, tensors.mask.dtype, tensors.mask.shape, tensors.none.dtype], ["int32", "bool", [1, 2], "int32"]);
    assert.deepEqual([await list(tensors.ids), await list(tensors.mask), await list(tensors.none)], [ids, [1, 0], []]);
    assert.deepEqual(await saveTensors(tensors), file);
    const reals = loadTensors(lw, file, { dtype: "f32" }).tensors;
    assert.deepEqual([reals.ids.dtype, await list(reals.ids), reals.mask.dtype, await list(reals.mask)], ["f32", ids.map(Math.fround), "f32", [1, 0]]);
  });
}

test("a file has the format's own order: larger elements first, then names, no holes, aligned", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const file = await saveTensors({ b: lw.tensor([1, 2]), a: lw.tensor([3]), z: lw.tensor([0.1], [1], { dtype: "f64" }), c: lw.tensor([1, 2, 3], [3], { dtype: "f16" }), 10: lw.tensor([5]), 9: lw.tensor([6]) });
  const { length, header } = headerOf(file);
  assert.equal(length % 8, 0);
  assert.equal(file[8], 0x7b);
  assert.deepEqual(Object.entries(header).sort(([, a], [, b]) => a.data_offsets[0] - b.data_offsets[0]).map(([name, { dtype, data_offsets }]) => [name, dtype, ...data_offsets]), [["z", "F64", 0, 8], ["10", "F32", 8, 12], ["9", "F32", 12, 16], ["a", "F32", 16, 20], ["b", "F32", 20, 28], ["c", "F16", 28, 34]]);
  assert.equal(file.length, 8 + length + 34);
  assert.deepEqual([...new Float32Array(file.slice(8 + length + 8, 8 + length + 28).buffer)], [5, 6, 3, 1, 2]);
  const { length: empty } = await saveTensors({});
  assert.deepEqual([empty, Object.keys(loadTensors(lw, await saveTensors({})).tensors)], [16, []]);
});

test("a file of the format's own library", async (t) => {
  const lw = await open(t, { backend: "cpu" }), file = readFileSync(new URL("../reference/python.safetensors", import.meta.url));
  refuses(() => loadTensors(lw, file), "dtype", 'loadTensors(lw, file): tensor "exact" is of F64: { dtype: "f64" } keeps its digits, and { dtype: "f32" } says that they are to be rounded');
  const { tensors, metadata } = loadTensors(lw, file, { dtype: "f64" });
  assert.deepEqual(metadata, { format: "pt", "größe": "μ" });
  const read = Object.fromEntries(await Promise.all(Object.entries(tensors).map(async ([name, tensor]) => [name, [tensor.dtype, tensor.shape, await list(tensor)]])));
  assert.deepEqual(read, {
    half: ["f64", [3], [1.5, -0.0999755859375, 65504]], weight: ["f64", [2, 3], [0, 0.25, 0.5, 0.75, 1, 1.25]], exact: ["f64", [2], [0.1, -2.5]], labels: ["f64", [1, 2], [7, -9]],
    bytes: ["f64", [3], [0, 255, 3]], steps: ["f64", [], [12]], none: ["f64", [0, 4], []], seen: ["f64", [2], [1, 0]],
  });
  assert.deepEqual(await list(loadTensors(lw, new Uint8Array(file).buffer, { dtype: "f32" }).tensors.exact), [Math.fround(0.1), -2.5]);
  const kinds = loadTensors(await open(t, { backend: "cpu", precision: "f64" }), file).tensors;
  assert.deepEqual(Object.fromEntries(Object.entries(kinds).map(([name, { dtype }]) => [name, dtype])), { half: "f64", weight: "f64", exact: "f64", labels: "int32", bytes: "int32", steps: "int32", none: "f64", seen: "bool" });
  assert.deepEqual([await list(kinds.labels), await list(kinds.bytes), await kinds.steps.item(), await list(kinds.seen)], [[7, -9], [0, 255, 3], 12, [1, 0]]);
  refuses(() => tensors.wieght, "invalid-option", /the file has no "wieght": did you mean "weight"\?/);
});

test("other types: BF16 exactly, whole numbers as int32s", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const one = (dtype, array, options) => loadTensors(lw, fileWith({ x: { dtype, shape: [array.length], data_offsets: [0, array.byteLength] } }, bytesOf(array)), options).tensors.x;
  assert.deepEqual(await list(one("BF16", Uint16Array.of(0x3f80, 0xc049, 0x0001, 0x7f80))), [1, -3.140625, 2 ** -133, Infinity]);
  assert.deepEqual(await list(one("I8", Int8Array.of(-128, 127))), [-128, 127]);
  assert.deepEqual(await list(one("I16", Int16Array.of(-32768))), [-32768]);
  assert.deepEqual(await list(one("U16", Uint16Array.of(65535))), [65535]);
  assert.deepEqual(await list(one("U32", Uint32Array.of(2 ** 31 - 1))), [2 ** 31 - 1]);
  assert.deepEqual(await list(one("I64", BigInt64Array.of(-(2n ** 31n), 2n ** 31n - 1n))), [-(2 ** 31), 2 ** 31 - 1]);
  for (const [type, array] of [["I8", Int8Array.of(1)], ["U16", Uint16Array.of(1)], ["I64", BigInt64Array.of(1n)], ["U64", BigUint64Array.of(1n)]]) assert.equal(one(type, array).dtype, "int32", type);
  assert.deepEqual([one("BOOL", Uint8Array.of(1)).dtype, one("U8", Uint8Array.of(1), { dtype: "f32" }).dtype], ["bool", "f32"]);
  assert.deepEqual(await list(one("I64", BigInt64Array.of(-5n, 2n ** 53n), { dtype: "f64" })), [-5, 2 ** 53]);
  assert.deepEqual(await list(one("I32", Int32Array.of(3, -(2 ** 24) - 1))), [3, -(2 ** 24) - 1]);
  for (const far of [2n ** 31n, -(2n ** 31n) - 1n]) refuses(() => one("I64", BigInt64Array.of(3n, far)), "dtype", `loadTensors(lw, file): tensor "x" of I64 has ${far} at place 1, but int32 has all whole numbers up to 2147483647 only: { dtype: "f64" } has this one, too`);
  // The next whole number after 2⁵³ is that one as a number, but not in the file.
  for (const big of [2n ** 53n + 1n, -(2n ** 53n) - 1n]) refuses(() => one("I64", BigInt64Array.of(1n, big)), "dtype", `loadTensors(lw, file): tensor "x" of I64 has ${big} at place 1, but int32 has all whole numbers up to 2147483647 only: { dtype: "f32" } says that others are to be rounded`);
  refuses(() => one("I64", BigInt64Array.of(-(2n ** 53n))), "dtype", /\{ dtype: "f64" \} has this one, too$/);
  const exact = await open(t, { backend: "cpu", precision: "f64" }), ofBig = fileWith({ x: { dtype: "I64", shape: [2], data_offsets: [0, 16] } }, bytesOf(BigInt64Array.of(2n ** 53n, 2n ** 53n + 1n)));
  refuses(() => loadTensors(exact, ofBig), "dtype", /has 9007199254740992 at place 0, but int32 has all whole numbers up to 2147483647 only: \{ dtype: "f64" \} has this one, too$/);
  refuses(() => loadTensors(exact, fileWith({ x: { dtype: "I64", shape: [1], data_offsets: [0, 8] } }, bytesOf(BigInt64Array.of(2n ** 53n + 1n)))), "dtype", /has 9007199254740993 at place 0, but int32 .*: \{ dtype: "f64" \} says that others are to be rounded$/);
  assert.deepEqual(await list(loadTensors(exact, ofBig, { dtype: "f64" }).tensors.x), [2 ** 53, 2 ** 53]);
  refuses(() => one("U64", BigUint64Array.of(2n ** 60n)), "dtype", /has 1152921504606846976 at place 0.* \{ dtype: "f32" \} says that others are to be rounded/);
  assert.deepEqual(await list(one("U64", BigUint64Array.of(2n ** 60n + 1n), { dtype: "f32" })), [2 ** 60]);
});

test("files that nobody should believe", async (t) => {
  // What is kept is not collected before it is counted.
  const lw = await open(t, { backend: "cpu" }), kept = [lw.ones([2]), lw.ones([3])], good = await saveTensors({ a: kept[0], b: kept[1] }), { header } = headerOf(good), data = good.slice(good.length - 20), before = lw.memory().tensors;
  const is = (file, code, message) => refuses(() => loadTensors(lw, file), code, message);
  for (let length = 0; length < good.length; length++) is(good.slice(0, length), "file-truncated", /^the file ends too early/);
  is(new Uint8Array(100).fill(255), "file-format", /its header would have 18446744073709552000 bytes \(100000000 at most\)/);
  is(fileWith(header, data, 100_000_001), "file-format", /100000001 bytes/);
  is(fileWith("", data), "file-format", /does not begin with \{/);
  is(fileWith("[]", data), "file-format", /does not begin with \{/);
  is(fileWith("{\"a\":", data), "file-corrupt", /its header is no JSON/);
  is(fileWith(`{"a":${"[".repeat(1e5)}`, data), "file-corrupt", /its header is no JSON/);
  is(fileWith("{\"\xff\"}", data).map((byte, k) => (k === 10 ? 0xff : byte)), "file-corrupt", /its header is no JSON/);
  is(fileWith({ a: { dtype: "F32", shape: [2], data_offsets: [0, 8] } }, data), "file-corrupt", /12 bytes follow its last tensor/);
  is(fileWith({ ...header, b: { ...header.b, data_offsets: [4, 16] } }, data), "file-corrupt", /tensor "b" begins at byte 4, within another, which ends at 8/);
  is(fileWith({ ...header, b: { ...header.b, data_offsets: [12, 24] } }, new Uint8Array(24)), "file-corrupt", /tensor "b" begins at byte 12, but the one before it ends at 8/);
  is(fileWith({ ...header, b: { ...header.b, data_offsets: [8, 16] } }, data), "file-corrupt", /tensor "b" of F32 and \[3\] has 8 bytes, from 8 to 16, not 12/);
  is(fileWith({ ...header, b: { ...header.b, data_offsets: [20, 8] } }, data), "file-corrupt", /has -12 bytes/);
  is(fileWith({ ...header, b: { ...header.b, shape: [30], data_offsets: [8, 128] } }, data), "file-truncated", /tensor "b" needs 128 bytes after the header, but there are 20/);
  is(fileWith({ a: { dtype: "F32", shape: [2 ** 52, 2 ** 52], data_offsets: [0, 8] } }, data.slice(0, 8)), "file-corrupt", /not 8.1\d*e\+31/);
  is(fileWith({ a: { dtype: "F32", shape: [0, 2 ** 40], data_offsets: [0, 0] } }), "shape", /sizes are whole numbers/);
  is(fileWith({ a: { dtype: "F32", shape: new Array(1_000_000).fill(1), data_offsets: [0, 8] } }, data.slice(0, 8)), "file-corrupt", 'this safetensors file is damaged: tensor "a" has 1000000 axes (64 at most)');
  kept.push(loadTensors(lw, fileWith({ a: { dtype: "U8", shape: new Array(64).fill(1), data_offsets: [0, 1] } }, Uint8Array.of(3))).tensors.a);
  assert.equal(kept.at(-1).rank, 64);
  // No file makes a message long.
  const long = "x".repeat(1e6), short = (error) => { assert.ok(error.message.length < 4000, `${error.message.length} characters`); return true; };
  for (const file of [fileWith({ [long]: { dtype: long, shape: [8], data_offsets: [0, 8] } }, data.slice(0, 8)), fileWith({ [long]: 1 }), fileWith({ a: { dtype: "F32", shape: new Array(64).fill(2 ** 53 - 1), data_offsets: [0, 8] } }, data.slice(0, 8)), fileWith(`{"a":${long}`), fileWith({ [long]: { dtype: "F32", shape: [2], data_offsets: [8, 16] } }, data.slice(0, 16))]) assert.throws(() => loadTensors(lw, file), short);
  const named = Object.fromEntries(Array.from({ length: 30 }, (_, k) => [`${k}-${long}`, { dtype: "U8", shape: [1], data_offsets: [k, k + 1] }]));
  const model = linear(lw, 2, 2, { seed: 1 }), many = loadTensors(lw, fileWith(named, new Uint8Array(30))).tensors;
  assert.throws(() => loadModel(model, fileWith(named, new Uint8Array(30))), short);
  assert.throws(() => many.a, short);
  kept.push(model, many);
  is(fileWith({ a: { dtype: "F8_E4M3", shape: [8], data_offsets: [0, 8] } }, data.slice(0, 8)), "file-format", /tensor "a" is of "F8_E4M3"; F64, F32, F16, BF16, I64/);
  is(fileWith({ a: { dtype: "constructor", shape: [8], data_offsets: [0, 8] } }, data.slice(0, 8)), "file-format", /is of "constructor"/);
  for (const entry of [null, 1, [], {}, { dtype: "F32" }, { dtype: 1, shape: [], data_offsets: [0, 4] }, { dtype: "F32", shape: [1.5], data_offsets: [0, 6] }, { dtype: "F32", shape: [-1], data_offsets: [0, 4] }, { dtype: "F32", shape: "1", data_offsets: [0, 4] }, { dtype: "F32", shape: [1], data_offsets: [0] }, { dtype: "F32", shape: [1], data_offsets: [0, 4, 8] }, { dtype: "F32", shape: [1], data_offsets: [-4, 0] }, { dtype: "F32", shape: [1], data_offsets: ["0", 4] }]) {
    is(fileWith({ a: entry }, data), "file-corrupt", /tensor "a" must have a dtype, a shape and data_offsets of whole numbers/);
  }
  for (const metadata of [[], "pt", null, { format: 1 }]) is(fileWith({ ...header, __metadata__: metadata }, data), "file-corrupt", /__metadata__ must have texts by name/);
  // Names that JavaScript has uses for are names like others.
  const odd = loadTensors(lw, fileWith('{"__proto__":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"constructor":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}', Uint8Array.of(5, 6))).tensors;
  assert.deepEqual([Object.keys(odd), await odd.constructor.item(), Object.getPrototypeOf({}).dtype], [["__proto__", "constructor"], 6, undefined]);
  kept.push(odd);
  assert.equal(lw.memory().tensors, before + 2 + 1 + 30 + 2, "nothing is left of what was refused");
  assert.equal(kept.length, 6);
  refuses(() => loadTensors(lw, "file"), "invalid-option", /the file must be a Uint8Array or an ArrayBuffer, not a string/);
  refuses(() => loadTensors({}, good), "invalid-option", /lw must be an engine/);
  refuses(() => loadTensors(lw, good, { dtype: "i32" }), "invalid-option", /dtype: "i32" is not one of/);
  await rejects(saveTensors({ a: 1 }), "invalid-option", 'saveTensors(tensors): "a" must be a tensor, not a number');
  await rejects(saveTensors({ __metadata__: lw.ones([1]) }), "invalid-option", /is the name of the file's texts/);
  await rejects(saveTensors({}, { metadata: { epoch: 3 } }), "invalid-option", /metadata: "epoch" is a number, but must be a text/);
});

test("modules: parameters by their places or by names", async (t) => {
  const lw = await open(t, { backend: "cpu" }, { fresh: true });
  const of = (seed) => sequential(conv(lw, 1, 2, 3, { seed, padding: "same" }), (x) => x.reshape(-1, 32), linear(lw, 32, 3, { seed: seed + 1 }));
  const model = of(1), other = of(5), x = lw.random([2, 1, 4, 4], { seed: 9 }), names = ["conv.weight", "conv.bias", "fc.weight", "fc.bias"], count = lw.memory().tensors;
  const expected = await list(model.forward(x));
  assert.notDeepEqual(await list(other.forward(x)), expected);
  assert.deepEqual(loadModel(other, await saveModel(model, { metadata: { epoch: "3" } })), { epoch: "3" });
  assert.deepEqual(await list(other.forward(x)), expected);
  const file = await saveModel(model, { names }), third = of(7);
  assert.deepEqual(Object.keys(headerOf(file).header).sort(), [...names].sort());
  refuses(() => loadModel(third, file), "shape", /the file has no "0" \(it has "conv.bias", "conv.weight", "fc.bias", "fc.weight"\): names says what the parameters are called there/);
  refuses(() => loadModel(third, file, { names: ["conv.wieght", ...names.slice(1)] }), "shape", /the file has no "conv.wieght": is "conv.weight" meant\?/);
  loadModel(third, file, { names });
  assert.deepEqual(await list(third.forward(x)), expected);
  const more = await saveTensors({ "0": lw.ones([2]), "1": lw.ones([2]) }), small = linear(lw, 1, 2, { seed: 1, bias: false });
  refuses(() => loadModel(small, more), "shape", /"0" is \[2\] in the file, but \[1, 2\] in the model/);
  const extra = await saveTensors({ "0": lw.ones([1, 2]), "1": lw.ones([2]) });
  refuses(() => loadModel(small, extra), "shape", /the file has "1", which the model has not; \{ strict: false \} leaves it out/);
  loadModel(small, extra, { strict: false });
  assert.deepEqual(await list(small.parameters()[0]), [1, 1]);
  const exact = mlp(lw, [1, 2], { seed: 1, dtype: "f64" }), wide = await saveModel(exact), narrow = mlp(lw, [1, 2], { seed: 3 });
  refuses(() => loadModel(narrow, wide), "dtype", /tensor "0" is of F64/);
  refuses(() => loadModel(narrow, wide, { dtype: "f64" }), "dtype", /dtype: the model's parameters are of f32, not of f64/);
  loadModel(narrow, wide, { dtype: "f32" });
  assert.deepEqual(await list(narrow.parameters()[0]), (await list(exact.parameters()[0])).map(Math.fround));
  loadModel(exact, await saveModel(narrow));
  assert.deepEqual(await list(exact.parameters()[0]), await list(narrow.parameters()[0]));
  await rejects(saveModel(model, { names: ["a"] }), "invalid-option", /there are 1 names, but the model has 4 parameters/);
  await rejects(saveModel(model, { names: ["a", "a", "b", "c"] }), "invalid-option", /names: "a" is there twice/);
  await rejects(saveModel({}), "invalid-option", /model must be a module/);
  assert.ok(lw.memory().tensors > count);
  for (const each of [other, third, small, exact, narrow]) each.dispose();
  model.dispose();
});
