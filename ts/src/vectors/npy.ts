/**
 * NumPy's `.npy` (format versions 1, 2 and 3; numpy/lib/format.py): a magic string, a version, the length of a header, the header — a
 * Python dictionary as text — and the numbers.
 *
 * The readers on npm take whole files and evaluate or rewrite the header's text; this one reads by rows and believes nothing.
 */
import { storedIn, taken, type U8 } from "../arrays.js";
import { isA, LeastwiseError } from "../errors.js";
import { oneOf } from "../options.js";
import { ELEMENT_TYPES, ELEMENTS, type ElementType } from "./element.js";
import { Half } from "./half.js";
import type { Layout } from "./layout.js";
import { truncated, type Head } from "./source.js";

/** @internal */
export const NPY_MAGIC = "\x93NUMPY";
const LONGEST_HEADER = 1 << 16;

const bad = (message: string) => new LeastwiseError("file-format", `this .npy file can't be read: ${message}`);

/** @internal */
export async function npyLayout(head: Head): Promise<Layout> {
  const start = await head.peek(12);
  const magic = String.fromCharCode(...start.subarray(0, 6));
  if (magic !== NPY_MAGIC) {
    if (NPY_MAGIC.startsWith(magic)) throw truncated(12, start.length);
    throw bad("it does not begin as one");
  }
  if (start.length < 10) throw truncated(12, start.length);
  const view = new DataView(start.buffer, start.byteOffset, start.length);
  const version = view.getUint8(6);
  if (version < 1 || version > 3) throw new LeastwiseError("file-version", `this .npy file is of format version ${version}; 1 to 3 can be read`);
  const before = version === 1 ? 10 : 12;
  if (start.length < before) throw truncated(before, start.length);
  const length = version === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  if (length > LONGEST_HEADER) throw bad(`its header would have ${length} bytes (${LONGEST_HEADER} at most)`);
  const offset = before + length;
  const bytes = await head.peek(offset);
  if (bytes.length < offset) throw truncated(offset, bytes.length);
  return layoutOf(headerOf(new TextDecoder(version === 3 ? "utf-8" : "latin1").decode(bytes.subarray(before))), offset, head.size);
}

function layoutOf({ descr, fortran_order, shape }: Header, offset: number, size: number | undefined): Layout {
  const [order, code] = [descr[0]!, descr.slice(1)];
  const type = code === "b1" ? "uint8" : ELEMENT_TYPES.find((name) => ELEMENTS[name].npy === code);
  if (!type || !"<>|=".includes(order)) throw bad(`its numbers are "${descr}"; real and integer numbers of 1 to 8 bytes can be read`);
  if (shape.length === 0 || shape.length > 2) throw bad(`its shape has ${shape.length} dimensions, (${shape.join(", ")}); save it with one row a vector: array.reshape(len(array), -1)`);
  const [count, dim] = [shape[0]!, shape[1] ?? 1];
  if (dim === 0) throw bad("its rows have no components");
  const stride = dim * ELEMENTS[type].bytes;
  const end = offset + count * stride;
  if (!Number.isSafeInteger(end)) throw bad(`its shape, (${shape.join(", ")}), is larger than any file`);
  if (size !== undefined && size < end) throw truncated(end, size);
  if (size !== undefined && size > end) throw trailing();
  return { type, dim, count, littleEndian: order !== ">", offset, stride, prefix: 0, byColumns: fortran_order && shape.length === 2 };
}

/** @internal */
export function trailing(): LeastwiseError {
  return bad("more bytes follow its last row; a file must hold one array");
}

interface Header { readonly descr: string; readonly fortran_order: boolean; readonly shape: readonly number[] }

/** The header's dictionary: of Python's literals, those that NumPy writes there, and no others. */
function headerOf(text: string): Header {
  const tokens = text.match(/'[^'\\\n]*'|"[^"\\\n]*"|\w+|[^\s\w]/g) ?? [];
  let at = 0;
  const next = () => tokens[at++] ?? "its end";
  const take = (token: string) => { const found = next(); if (found !== token) throw bad(`its header has ${shown(found)} where "${token}" belongs`); };
  const takes = (token: string) => { const is = tokens[at] === token; if (is) at++; return is; };
  const string = () => { const found = next(); if (!/^['"]./.test(found)) throw bad(`its header has ${shown(found)} where a string belongs (arrays of records can't be read)`); return found.slice(1, -1); };
  const truth = () => { const found = next(); if (found !== "True" && found !== "False") throw bad(`its header has ${shown(found)} where True or False belongs`); return found === "True"; };
  const size = () => {
    const found = next().replace(/(?<=\d)L$/, "");                     // Python 2 marked its long integers
    if (!/^\d{1,16}$/.test(found) || !Number.isSafeInteger(Number(found))) throw bad(`its header has ${shown(found)} where a size belongs`);
    return Number(found);
  };
  const sizes = () => {
    const found: number[] = [];
    take("(");
    while (!takes(")")) {
      found.push(size());
      if (!takes(",")) { take(")"); break; }
    }
    return found;
  };

  const found: { descr?: string; fortran_order?: boolean; shape?: number[] } = {};
  take("{");
  while (!takes("}")) {
    const key = string();
    take(":");
    if (Object.hasOwn(found, key)) throw bad(`its header has "${key}" twice`);
    if (key === "descr") found.descr = string();
    else if (key === "fortran_order") found.fortran_order = truth();
    else if (key === "shape") found.shape = sizes();
    else throw bad(`its header has ${shown(key)}, which no .npy file has`);
    if (!takes(",")) { take("}"); break; }
  }
  if (at !== tokens.length) throw bad(`its header goes on with ${shown(next())} after its end`);
  const { descr, fortran_order, shape } = found;
  if (descr === undefined || fortran_order === undefined || shape === undefined) throw bad("its header lacks one of descr, fortran_order and shape");
  return { descr, fortran_order, shape };
}

const shown = (token: string) => JSON.stringify(token.slice(0, 40));

/**
 * Arrays that can be written.
 *
 * @example
 * const array: NpyArray = new Int32Array(3);
 * const file = encodeNpy(array);
 */
export type NpyArray = Half | Float32Array | Float64Array | Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array;

/**
 * A `.npy` file of an array with the given shape, row by row: `encodeNpy(ids, [queries, 10])`; by default one dimension. A plain
 * `Uint16Array` is of integers, one in {@link half} of numbers in half precision.
 *
 * @throws `invalid-option` for other arrays; `data-length` for a shape of another size
 * @example
 * const file = encodeNpy(new Float32Array(6), [2, 3]);  // for numpy.load
 */
export function encodeNpy(array: NpyArray, shape?: readonly number[]): U8 {
  const isHalf = isA(array, Half);
  const stored = storedIn("encodeNpy(array): array", isHalf ? array.bits : array);
  const type = stored && ELEMENT_TYPES.find((name) => (name === "float16") === isHalf && ELEMENTS[name].array.name === stored.kind);
  if (!type) throw new LeastwiseError("invalid-option", "encodeNpy(array): array must be a typed array of numbers, or half(bits)");
  const { length, bytes } = stored;
  const sizes = shape === undefined ? [length] : sizesOf("encodeNpy(array, shape)", shape);
  if (sizes.reduce((a, b) => a * b, 1) !== length) {
    throw new LeastwiseError("data-length", `encodeNpy(array, shape): a shape of (${sizes.join(", ")}) does not have the array's ${length} numbers`);
  }
  const header = headerOfSizes(type, sizes);
  const file = new Uint8Array(header.length + bytes.length);
  file.set(header);
  file.set(bytes, header.length);
  return file;
}

/** A caller's shape, checked. */
function sizesOf(call: string, shape: unknown): readonly number[] {
  const { values } = taken(`${call}: shape`, shape, { code: "shape", must: "must be an array of sizes, such as [2, 3]" });
  const sizes = Array.from(values), wrong = sizes.findIndex((size) => !(Number.isSafeInteger(size) && size >= 0));
  if (wrong >= 0) throw new LeastwiseError("shape", `${call}: size ${wrong} of the shape is ${sizes[wrong]}, but sizes are whole numbers`);
  return sizes;
}

const elementType = oneOf(...ELEMENT_TYPES);

/**
 * What stands before the numbers, row by row and little-endian, of a `.npy` file that is written piece by piece.
 *
 * @throws `invalid-option` for other types
 * @example
 * const header = npyHeader("float32", [1000, 64]);  // the numbers follow
 */
export function npyHeader(type: ElementType, shape: readonly number[]): U8 {
  const call = "npyHeader(type, shape)";
  return headerOfSizes(elementType(`${call}: type`, type, {}), sizesOf(call, shape));
}

function headerOfSizes(type: ElementType, shape: readonly number[]): U8 {
  const { npy, bytes } = ELEMENTS[type];
  const sizes = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const text = `{'descr': '${bytes === 1 ? "|" : "<"}${npy}', 'fortran_order': False, 'shape': (${sizes}), }`;
  // The numbers begin at a multiple of 64.
  const length = Math.ceil((10 + text.length + 1) / 64) * 64 - 10;
  const file = new Uint8Array(10 + length);
  file.set([...NPY_MAGIC].map((letter) => letter.charCodeAt(0)));
  file.set([1, 0, length & 255, length >>> 8], 6);
  file.set(new TextEncoder().encode(`${text.padEnd(length - 1)}\n`), 10);
  return file;
}
