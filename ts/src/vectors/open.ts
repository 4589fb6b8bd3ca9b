/** Reading vectors by rows, from any file that is understood. */
import { bytesOf, type F32 } from "../arrays.js";
import { isA, LeastwiseError, reading } from "../errors.js";
import type { ByteStream } from "../host.js";
import { describe, shownValue } from "../instruction.js";
import { checked, given, hasMethods } from "../options.js";
import { asFloats, elementsOf, ELEMENTS, room, type Elements, type ElementType } from "./element.js";
import { DatasetRows, HDF5_MAGIC, type Hdf5Dataset } from "./hdf5.js";
import { FORMATS, rawLayout, recordsLayout, unevenEnd, type Layout, type VectorFormat } from "./layout.js";
import { NPY_MAGIC, npyLayout, trailing } from "./npy.js";
import { inChunks, mustBeRows, rangeOf } from "./range.js";
import { Bytes, StreamBytes, truncated, type Head, type Source } from "./source.js";

/**
 * Format of a file; `.npy` files describe themselves.
 *
 * @example
 * const options: OpenOptions = { format: "raw", type: "float32", dim: 64 };
 * const vectors = await openVectors(bytes, options);
 */
export type OpenOptions =
  | {
    /** Format of the file. @defaultValue `"npy"` */
    readonly format?: Exclude<VectorFormat, "raw" | "hdf5">;
  }
  | {
    /** Rows of numbers, one after the other. */
    readonly format: "raw";
    readonly type: ElementType;
    readonly dim: number;
    /** Bytes before the first row. @defaultValue 0 */
    readonly offset?: number;
  };

/**
 * Vectors that come in order, once.
 *
 * @example
 * const read = async (stream: VectorStream) => { for await (const rows of stream.chunks(1000)) console.log(rows.length); };
 */
export interface VectorStream {
  readonly format: VectorFormat;
  /** Stored type of a component. */
  readonly type: ElementType;
  /** Components of a vector. */
  readonly dim: number;
  /** Vectors; undefined where only the end of a stream tells. */
  readonly count: number | undefined;
  /** All vectors as f32, `rows` at a time and fewer the last time. */
  chunks(rows: number): AsyncIterable<F32>;
}

/**
 * Vectors that can be read anywhere, as often as wanted; nothing of them is kept.
 *
 * @example
 * const vectors: Vectors = await openVectors(bytes);
 * const first = await vectors.rows(0, 100);
 */
export interface Vectors extends VectorStream {
  readonly count: number;
  /** `count` vectors from vector `first` on as f32, one after the other. Default: all from the first vector on. */
  rows(first?: number, count?: number): Promise<F32>;
  /** The same numbers as they are stored. */
  elements(first?: number, count?: number): Promise<Elements>;
}

const OPEN = { format: given(), type: given(), dim: given(), offset: given() } as const;

/**
 * Opens a file of vectors: `.npy` (one or two dimensions, either byte order), `.fvecs`, `.bvecs`, `.ivecs`, raw numbers, or a dataset of
 * an HDF5 file that the package `h5wasm` has opened. Without a `format`, bytes are a `.npy` file. Only its head is read now, and of a larger file than memory only those rows that are asked for.
 *
 * @throws `file-format` for another format, `file-version`, `file-truncated` and, while rows are read, `file-corrupt`; `invalid-option` for other sources and options
 * @example
 * const vectors = await openVectors(bytes, { format: "npy" });
 * for await (const rows of vectors.chunks(10_000)) console.log(rows.length / vectors.dim);
 */
export async function openVectors(source: Source, options?: OpenOptions): Promise<Vectors>;
export async function openVectors(dataset: Hdf5Dataset): Promise<Vectors>;
export async function openVectors(source: ByteStream, options?: OpenOptions): Promise<VectorStream>;
export async function openVectors(source: Source | Hdf5Dataset | ReadableStream<Uint8Array>, options: OpenOptions = {}): Promise<VectorStream> {
  const all = checked("openVectors(source, options): options", options, OPEN) as OpenOptions;
  const { format = "npy" } = all;
  if (format as string === "hdf5") throw hdf5Needed();
  if (!FORMATS.includes(format)) throw new LeastwiseError("invalid-option", `format: ${shownValue(format)} is not one of "${FORMATS.join("\", \"")}"`);
  if (typeof ReadableStream !== "undefined" && isA(source, ReadableStream)) {
    const bytes = new StreamBytes(source);
    try {
      return new Streamed(format, bytes, await layoutOf(bytes, all));
    } catch (thrown) {
      await bytes.cancel();
      throw thrown;
    }
  }
  // Blobs and arrays have `slice`, too, but no `shape`.
  if (hasMethods(source, "slice") && reading("a source of vectors", () => "shape" in source)) {
    const named = Object.keys(all)[0];
    if (named !== undefined) throw new LeastwiseError("invalid-option", `openVectors(dataset, options): a dataset says itself what is in it, and takes no ${named}`);
    return new DatasetRows(source as Hdf5Dataset);
  }
  const bytes = new Bytes(source as Source);
  return new Stored(format, bytes, await layoutOf(bytes, all));
}

/**
 * The format of a file, by what it begins with or by its name; undefined where neither tells.
 *
 * @throws `invalid-option` unless `name` is a string
 * @example
 * formatOf("base.fvecs")  // "fvecs"
 */
export function formatOf(name: string, start: Uint8Array = new Uint8Array()): Exclude<VectorFormat, "raw"> | undefined {
  if (typeof name !== "string") throw new LeastwiseError("invalid-option", `formatOf(name, start): name must be a string, not ${describe(name)}`);
  const bytes = bytesOf("formatOf(name, start): start", start);
  if (!bytes) throw new LeastwiseError("invalid-option", `formatOf(name, start): start must be a Uint8Array, not ${describe(start)}`);
  const startsWith = (magic: string) => String.fromCharCode(...bytes.subarray(0, magic.length)) === magic;
  if (startsWith(NPY_MAGIC)) return "npy";
  if (startsWith(HDF5_MAGIC) || name.toLowerCase().endsWith(".h5")) return "hdf5";
  return (["npy", "fvecs", "bvecs", "ivecs", "hdf5"] as const).find((format) => name.toLowerCase().endsWith(`.${format}`));
}

function hdf5Needed(): LeastwiseError {
  return new LeastwiseError("file-format", "this is an HDF5 file: open it by the package h5wasm, and give openVectors() one of its datasets, as file.get(\"train\")");
}

async function layoutOf(head: Head, options: OpenOptions): Promise<Layout> {
  const { format = "npy" } = options;
  if (format !== "raw" && String.fromCharCode(...await head.peek(HDF5_MAGIC.length)) === HDF5_MAGIC) {
    throw hdf5Needed();
  }
  if (format === "npy") return npyLayout(head);
  return format === "raw" ? rawLayout(head, options as OpenOptions & { format: "raw" }) : recordsLayout(head, format);
}

/** The numbers of `count` rows that follow each other, without the rows' lengths. */
function unpack(bytes: Uint8Array, count: number, first: number, { type, dim, stride, prefix, littleEndian }: Layout): Elements {
  const own = room(count * (stride - prefix));
  if (prefix === 0) own.set(bytes);
  else {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let row = 0; row < count; row++) {
      const length = view.getInt32(row * stride, true);
      if (length !== dim) throw new LeastwiseError("file-corrupt", `vector ${first + row} has ${length} components, those before it have ${dim}`, { instance: first + row });
      own.set(bytes.subarray(row * stride + prefix, (row + 1) * stride), row * (stride - prefix));
    }
  }
  return elementsOf(own, type, littleEndian);
}

class Stored implements Vectors {
  readonly type: ElementType;
  readonly dim: number;
  readonly count: number;

  constructor(readonly format: VectorFormat, private readonly bytes: Bytes, private readonly layout: Layout) {
    this.type = layout.type;
    this.dim = layout.dim;
    this.count = layout.count!;
  }

  async rows(first = 0, count?: number): Promise<F32> {
    return asFloats(await this.elements(first, count), this.type);
  }

  async elements(first = 0, given?: number): Promise<Elements> {
    const { layout } = this, count = rangeOf(first, given, this.count);
    if (layout.byColumns) return this.#columns(first, count);
    return unpack(await this.bytes.read(layout.offset + first * layout.stride, count * layout.stride), count, first, layout);
  }

  /** The rows of an array whose columns follow each other, transposed. */
  async #columns(first: number, count: number): Promise<Elements> {
    const { type, dim, offset, littleEndian } = this.layout;
    const size = ELEMENTS[type].bytes;
    const own = room(count * dim * size);
    for (let column = 0; column < dim; column++) {
      const values = await this.bytes.read(offset + (column * this.count + first) * size, count * size);
      for (let row = 0; row < count; row++) {
        for (let byte = 0; byte < size; byte++) own[(row * dim + column) * size + byte] = values[row * size + byte]!;
      }
    }
    return elementsOf(own, type, littleEndian);
  }

  chunks(rows: number): AsyncIterable<F32> { return inChunks(this, rows); }
}

class Streamed implements VectorStream {
  readonly type: ElementType;
  readonly dim: number;
  readonly count: number | undefined;
  #begun = false;

  constructor(readonly format: VectorFormat, private readonly bytes: StreamBytes, private readonly layout: Layout) {
    if (layout.byColumns) throw new LeastwiseError("file-format", "this .npy file has its numbers column by column (Fortran order), which can't be read from a stream: give a Blob or the bytes, or save it with numpy.ascontiguousarray");
    this.type = layout.type;
    this.dim = layout.dim;
    this.count = layout.count;
  }

  async *chunks(rows: number): AsyncGenerator<F32, void, void> {
    mustBeRows(rows);
    if (this.#begun) throw new LeastwiseError("busy", "a stream of vectors can be read once only");
    this.#begun = true;
    const { bytes, layout } = this;
    try {
      await bytes.take(layout.offset);
      for (let first = 0; first !== this.count; first += rows) {
        const wanted = Math.min(rows, (this.count ?? Infinity) - first);
        const part = await bytes.take(wanted * layout.stride);
        const count = part.length / layout.stride;
        if (this.count !== undefined && count < wanted) throw truncated(layout.offset + this.count * layout.stride, bytes.position);
        if (!Number.isInteger(count)) throw unevenEnd(bytes.position - layout.offset, layout.stride);
        if (count > 0) yield asFloats(unpack(part, count, first, layout), this.type);
        if (count < rows) break;
      }
      if ((await bytes.take(1)).length > 0) throw trailing();
    } finally {
      await bytes.cancel();
    }
  }
}
