// Vectors from files and into files: every format, every type of number, and what is no such file.
import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeNpy, formatOf, fromHalf, half, npyHeader, openVectors, toHalf } from "leastwise/vectors";
import { Random } from "../problems/random.mjs";
import { refuses, rejects } from "./support.mjs";

/** A `.npy` file with this header, as text, before these bytes. */
function npy(header, bytes = new Uint8Array(), version = 1) {
  const text = new TextEncoder().encode(header);
  const length = version === 1 ? [text.length & 255, text.length >>> 8] : [text.length & 255, (text.length >>> 8) & 255, (text.length >>> 16) & 255, text.length >>> 24];
  return Uint8Array.from([0x93, ...Buffer.from("NUMPY"), version, 0, ...length, ...text, ...bytes]);
}
const dictionary = (descr, shape, fortran = "False") => `{'descr': '${descr}', 'fortran_order': ${fortran}, 'shape': ${shape}, }\n`;
const bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
const reversed = (array) => {
  const copy = Uint8Array.from(bytesOf(array)), size = array.BYTES_PER_ELEMENT;
  for (let at = 0; at < copy.length; at += size) copy.subarray(at, at + size).reverse();
  return copy;
};
/** A stream of these bytes in pieces of `size`. */
const streamOf = (bytes, size) => new ReadableStream({
  start(controller) {
    for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.subarray(at, at + size));
    controller.close();
  },
});
async function collected(vectors, rows) {
  const parts = [];
  for await (const part of vectors.chunks(rows)) parts.push(...part);
  return parts;
}
const NUMBERS = {
  "f4": Float32Array.of(1.5, -2, 3.25, 0, 1e-3, 7), "f8": Float64Array.of(1.5, -2, 3.25, 0, 0.1, 7), "i1": Int8Array.of(-128, 127, 3, 0, 1, 7), "u1": Uint8Array.of(255, 2, 3, 0, 1, 7),
  "i2": Int16Array.of(-32768, 2, 3, 0, 1, 7), "u2": Uint16Array.of(65535, 2, 3, 0, 1, 7), "i4": Int32Array.of(-(2 ** 31), 2, 3, 0, 1, 7), "u4": Uint32Array.of(2 ** 32 - 1, 2, 3, 0, 1, 7),
  "i8": BigInt64Array.of(-5n, 2n, 3n, 0n, 1n, 7n), "u8": BigUint64Array.of(2n ** 40n, 2n, 3n, 0n, 1n, 7n),
};

test("every type of number is read from .npy, in both byte orders and both layouts, whole, by rows and as a stream", async () => {
  for (const [code, numbers] of Object.entries(NUMBERS)) {
    const expected = Float32Array.from(numbers, Number);
    for (const [order, bytes] of [["<", bytesOf(numbers)], [">", reversed(numbers)]]) {
      for (const version of [1, 2, 3]) {
        const file = npy(dictionary(`${order}${code}`, "(3, 2)"), bytes, version);
        const vectors = await openVectors(file);
        assert.deepEqual([vectors.count, vectors.dim, vectors.format], [3, 2, "npy"]);
        assert.deepEqual(await vectors.rows(), expected);
        assert.deepEqual(await vectors.rows(1, 1), expected.slice(2, 4));
        assert.deepEqual(await vectors.elements(), numbers, "as they are stored");
        for (const size of [1, 7, 1000]) assert.deepEqual(await collected(await openVectors(streamOf(file, size)), 2), [...expected]);
      }
    }
    // Columns that follow each other: (3, 2) of them are (2, 3) of rows.
    const columns = await openVectors(npy(dictionary(`<${code}`, "(3, 2)", "True"), bytesOf(numbers)));
    assert.deepEqual(await columns.rows(), Float32Array.from([0, 3, 1, 4, 2, 5], (k) => expected[k]));
    assert.deepEqual(await columns.rows(2), Float32Array.from([2, 5], (k) => expected[k]));
  }
});

test("the same from a Blob, an ArrayBuffer and anything with read(); one dimension is n vectors of one component", async () => {
  const file = npy(dictionary("<f4", "(6,)"), bytesOf(NUMBERS.f4));
  const whole = await openVectors(file.buffer);
  assert.deepEqual([whole.count, whole.dim], [6, 1]);
  const reads = [];
  const sources = [file.buffer, new Blob([file]), { size: file.length, read: async (offset, length) => (reads.push(length), file.slice(offset, offset + length)) }];
  for (const source of sources) assert.deepEqual(await collected(await openVectors(source), 4), [...NUMBERS.f4]);
  assert.deepEqual(reads.slice(-2), [16, 8], "no more is read than was asked for");
});

test("half precision: all 65,536 words are known, and what is between them is rounded to the nearest, ties to even", () => {
  const all = Uint16Array.from({ length: 65536 }, (_, word) => word);
  const values = fromHalf(all);
  assert.deepEqual([0x0000, 0x0001, 0x03ff, 0x0400, 0x3c00, 0x3555, 0x7bff, 0x7c00, 0xfbff].map((word) => values[word]),
    [0, 2 ** -24, 1023 * 2 ** -24, 2 ** -14, 1, 0.333251953125, 65504, Infinity, -65504]);
  assert.ok(Object.is(values[0x8000], -0) && Number.isNaN(values[0x7e00]));
  const isNumber = (word) => (word & 0x7fff) <= 0x7c00;
  assert.deepEqual(toHalf(values).bits.filter((_, word) => isNumber(word)), all.filter(isNumber));
  assert.ok(toHalf([NaN]).bits[0] === 0x7e00);
  for (let word = 0; word < 0x7bff; word++) {
    const [low, high] = [values[word], values[word + 1]], middle = (low + high) / 2;
    const nudge = (high - low) * 2 ** -40;                               // below f32's last place: rounding to f32 first would lose it
    assert.deepEqual([...toHalf([middle - nudge, middle, middle + nudge]).bits], [word, word + (word & 1), word + 1]);
  }
  assert.deepEqual([...toHalf([65519.99, 65520, 1e300, -1e300, 2 ** -25, 2 ** -25 * 1.0001, 5e-324]).bits], [0x7bff, 0x7c00, 0x7c00, 0xfc00, 0, 1, 0]);
  refuses(() => half([1]), "invalid-option", "half(bits): bits must be a Uint16Array, a word for each number");
});

test("half precision in .npy", async () => {
  const { bits } = toHalf([1, -0.5, 65504, 2 ** -24]);
  const vectors = await openVectors(encodeNpy(half(bits), [2, 2]));
  assert.equal(vectors.type, "float16");
  assert.deepEqual(await vectors.rows(), Float32Array.of(1, -0.5, 65504, 2 ** -24));
  assert.deepEqual(await vectors.elements(), bits);
});

test("what is written is read again, and begins at a multiple of 64 bytes", async () => {
  for (const [code, numbers] of Object.entries(NUMBERS).filter(([code]) => code !== "i8" && code !== "u8")) {
    const file = encodeNpy(numbers, [2, 3]);
    assert.equal((file.length - numbers.byteLength) % 64, 0);
    assert.match(Buffer.from(file).toString("latin1"), new RegExp(`^\x93NUMPY\x01\x00.*'descr': '[<|]${code}', 'fortran_order': False, 'shape': \\(2, 3\\), } *\n`, "s"));
    assert.deepEqual(await (await openVectors(file)).elements(), numbers);
  }
  assert.match(Buffer.from(npyHeader("uint32", [5])).toString("latin1"), /'shape': \(5,\)/);
  refuses(() => encodeNpy(NUMBERS.f4, [2, 2]), "data-length", "encodeNpy(array, shape): a shape of (2, 2) does not have the array's 6 numbers");
  refuses(() => encodeNpy([1, 2]), "invalid-option", "encodeNpy(array): array must be a typed array of numbers, or half(bits)");
});

/** Rows as TEXMEX' files have them. */
function records(rows, Type) {
  return Uint8Array.from(rows.flatMap((row) => [...bytesOf(Int32Array.of(row.length)), ...bytesOf(Type.from(row))]));
}

test(".fvecs, .bvecs, .ivecs and raw numbers, whole, by rows and as streams", async () => {
  const rows = [[1, 2, 3], [4, 5, 6], [7, 8, 9], [250, 0, 1]];
  const files = [
    [records(rows, Float32Array), { format: "fvecs" }], [records(rows, Uint8Array), { format: "bvecs" }], [records(rows, Int32Array), { format: "ivecs" }],
    [bytesOf(Float64Array.from(rows.flat())), { format: "raw", type: "float64", dim: 3 }],
    [Uint8Array.from([9, 9, 9, ...bytesOf(toHalf(rows.flat()).bits)]), { format: "raw", type: "float16", dim: 3, offset: 3 }],
  ];
  for (const [file, options] of files) {
    const vectors = await openVectors(file, options);
    assert.deepEqual([vectors.count, vectors.dim, vectors.format], [4, 3, options.format]);
    assert.deepEqual(await vectors.rows(), Float32Array.from(rows.flat()));
    assert.deepEqual(await vectors.rows(2, 1), Float32Array.from(rows[2]));
    for (const [size, chunk] of [[1, 3], [5, 2], [1000, 4], [1000, 100]]) assert.deepEqual(await collected(await openVectors(streamOf(file, size), options), chunk), rows.flat());
    await rejects(openVectors(file.subarray(0, file.length - 1), options), "file-truncated", /^the file ends within a row/);
    await rejects(collected(await openVectors(streamOf(file.subarray(0, file.length - 1), 4), options), 3), "file-truncated", /^the file ends within a row/);
  }
  const uneven = records(rows, Float32Array);
  uneven[2 * 16] = 2;
  await rejects((await openVectors(uneven, { format: "fvecs" })).rows(), "file-corrupt", "vector 2 has 2 components, those before it have 3", { instance: 2 });
  await rejects(collected(await openVectors(streamOf(uneven, 9), { format: "fvecs" }), 1), "file-corrupt", "vector 2 has 2 components, those before it have 3", { instance: 2 });
});

test("a .npy file that is cut anywhere is an error, from memory and as a stream", async () => {
  const file = encodeNpy(NUMBERS.f4, [3, 2]);
  for (let length = 0; length < file.length; length++) {
    const cut = file.subarray(0, length);
    await rejects(openVectors(cut), "file-truncated", /^the file ends too early/);
    await rejects(openVectors(streamOf(cut, 11)).then((vectors) => collected(vectors, 2)), "file-truncated", /^the file ends too early/);
  }
  const longer = Uint8Array.from([...file, 0]);
  await rejects(openVectors(longer), "file-format", "this .npy file can't be read: more bytes follow its last row; a file must hold one array");
  await rejects(openVectors(streamOf(longer, 11)).then((vectors) => collected(vectors, 2)), "file-format", /more bytes follow/);
});

test("headers that are not NumPy's are refused, whatever they claim", async () => {
  const refused = {
    "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 4), }": /has "-" where a size belongs/,
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1e9, 4), }": /has "1e9" where a size belongs/,
    "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 4), }": /where a size belongs/,
    "{'descr': '<f4', 'fortran_order': False, 'shape': (9007199254740991, 9007199254740991), }": /larger than any file/,
    "{'descr': '<f4', 'fortran_order': False, 'shape': (), }": /0 dimensions/,
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1), }": /3 dimensions, \(1, 1, 1\); save it with one row a vector/,
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 0), }": /no components/,
    "{'descr': '<f4', 'fortran_order': False, 'shape': [1, 1], }": /has "\[" where "\(" belongs/,
    "{'descr': '<f4', 'fortran_order': 0, 'shape': (1, 1), }": /where True or False belongs/,
    "{'descr': '<c8', 'fortran_order': False, 'shape': (1, 1), }": /numbers are "<c8"/,
    "{'descr': '|O', 'fortran_order': False, 'shape': (1, 1), }": /numbers are "\|O"/,
    "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1, 1), }": /arrays of records/,
    "{'descr': '', 'fortran_order': False, 'shape': (1, 1), }": /numbers are ""/,
    "{'descr': '<f4', 'fortran_order': False, }": /lacks one of/,
    "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }": /has "descr" twice/,
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), '__proto__': {'shape': (1, 1)}}": /has "__proto__", which no/,
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), 'constructor': 1}": /has "constructor", which no/,
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1)} + exit()": /goes on with "\+"/,
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1 1)}": /has "1" where "\)" belongs/,
    "{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (1, 1), }": /where a string belongs/,
    "": /its header has "its end"/,
    [" ".repeat(60000)]: /its header has "its end"/,
    ["{".repeat(60000)]: /where a string belongs/,
  };
  for (const [header, message] of Object.entries(refused)) {
    for (const version of [1, 2, 3]) await rejects(openVectors(npy(header, new Uint8Array(4), version)), "file-format", message);
  }
  await rejects(openVectors(npy(" ".repeat(70000), [], 2)), "file-format", /header would have 70000 bytes/);
  await rejects(openVectors(npy(dictionary("<f4", "(1, 1)"), new Uint8Array(4), 4)), "file-version", "this .npy file is of format version 4; 1 to 3 can be read");
  await rejects(openVectors(new TextEncoder().encode("not an array at all")), "file-format", "this .npy file can't be read: it does not begin as one");
  // Terabytes that are not there: an error at once, since nothing is set aside for them.
  for (const claim of ["(1000000000000, 4)", "(1, 4000000000000)"]) {
    const file = npy(dictionary("<f4", claim), new Uint8Array(64));
    await rejects(openVectors(file), "file-truncated", /^the file ends too early/);
    await rejects(openVectors(streamOf(file, 50)).then((vectors) => collected(vectors, 1e9)), "file-truncated", /^the file ends too early/);
  }
  await rejects(openVectors(Uint8Array.of(255, 255, 255, 127, 0), { format: "fvecs" }), "file-format", /first row would have 2147483647 components/);
  await rejects(openVectors(Uint8Array.of(255, 255, 255, 255, 0), { format: "fvecs" }), "file-format", /first row would have -1 components/);
  await rejects(openVectors(new Uint8Array(), { format: "bvecs" }), "file-format", /is empty/);
  // Python 2's long integers, other orders and spacings are NumPy's own.
  const old = await openVectors(npy("{\"shape\":(2L,1L),'fortran_order':False,'descr':\"<f4\"}", bytesOf(Float32Array.of(1, 2))));
  assert.deepEqual(await old.rows(), Float32Array.of(1, 2));
});

test("random bytes and flipped bits never do more than fail with a typed error", async () => {
  const random = new Random(11);
  const file = encodeNpy(NUMBERS.f4, [3, 2]);
  for (let round = 0; round < 4000; round++) {
    const changed = Uint8Array.from(file);
    for (let k = 0; k < 1 + (round % 3); k++) changed[random.below(128)] ^= 1 << random.below(8);
    const formats = [undefined, "fvecs", "bvecs", "ivecs"];
    const format = formats[round % 4];
    try {
      const vectors = await openVectors(changed, format && { format });
      assert.equal((await vectors.rows()).length, vectors.count * vectors.dim);
    } catch (error) {
      assert.match(error.code ?? String(error.stack), /^file-(format|version|truncated|corrupt)$/);
    }
  }
});

test("what callers get wrong", async () => {
  const file = encodeNpy(NUMBERS.f4, [3, 2]);
  const vectors = await openVectors(file);
  for (const [first, count] of [[0, 4], [4, 0], [-1, 1], [0.5, 1], [0, NaN], [3, 1]]) await rejects(vectors.rows(first, count), "index-out-of-range", `${count} vectors from vector ${first} on were asked for, but there are 3`);
  assert.deepEqual(await vectors.rows(3, 0), new Float32Array());
  await rejects(openVectors(file, { format: "csv" }), "invalid-option", "format: \"csv\" is not one of \"npy\", \"fvecs\", \"bvecs\", \"ivecs\", \"raw\"");
  await rejects(openVectors(file, { format: "raw", dim: 3 }), "invalid-option", /^type: undefined is not one of float16, /);
  await rejects(openVectors(file, { format: "raw", type: "toString", dim: 3 }), "invalid-option", /^type: "toString"/);
  await rejects(openVectors(file, { format: "raw", type: "float32" }), "invalid-option", "dim: undefined is no positive integer; a raw file needs it");
  await rejects(openVectors("vectors.npy"), "invalid-option", /^vectors are read from a Uint8Array/);
  await rejects(openVectors({ size: -1, read: async () => file }), "invalid-option", "a source of vectors says that its size is -1 bytes");
  const stream = await openVectors(streamOf(file, 10));
  await collected(stream, 1);
  await rejects(collected(stream, 1), "busy", "a stream of vectors can be read once only");
  await rejects(collected(vectors, 0), "invalid-option", "chunks(rows): 0 is no positive integer");
  await rejects(openVectors(streamOf(npy(dictionary("<f4", "(3, 2)", "True"), bytesOf(NUMBERS.f4)), 10)), "file-format", /column by column/);
  assert.deepEqual(["a.NPY", "b.fvecs", "c.bvecs", "d.ivecs", "e.bin"].map((name) => formatOf(name)), ["npy", "fvecs", "bvecs", "ivecs", undefined]);
  assert.equal(formatOf("e.bin", file), "npy");
});

test("a stream that is not read to its end is cancelled, and one that fails fails the reader", async () => {
  const file = encodeNpy(new Float32Array(1000), [500, 2]);
  let cancelled = 0;
  const endless = () => new ReadableStream({ pull(controller) { controller.enqueue(file.slice(0, 500)); }, cancel() { cancelled++; } });
  for await (const part of (await openVectors(endless())).chunks(1)) {
    assert.equal(part.length, 2);
    break;
  }
  assert.equal(cancelled, 1);
  await rejects(openVectors(endless(), { format: "fvecs" }), "file-format", /no .fvecs file/);
  assert.equal(cancelled, 2);
  const failing = new ReadableStream({ pull(controller) { controller.error(new Error("the network is down")); } });
  await assert.rejects(openVectors(failing), /the network is down/);
});
