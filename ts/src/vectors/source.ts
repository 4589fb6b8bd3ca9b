/** Sources of bytes: memory, anything with random access, or a stream. */
import { bytesOf } from "../arrays.js";
import { isA, LeastwiseError, reading } from "../errors.js";
import type { Host } from "../host.js";
import { describe, shownValue } from "../instruction.js";
import { hasMethods } from "../options.js";

/**
 * Bytes that can be read anywhere, such as a file's: `read` gives `length` bytes from `offset` on, fewer only where they end.
 * With Node's `FileHandle`: `{ size, read: async (offset, length) => (await file.read({ buffer: new Uint8Array(length), position: offset })).buffer }`.
 *
 * @example
 * const file: RandomAccess = { size: bytes.length, read: async (offset, length) => bytes.slice(offset, offset + length) };
 * const vectors = await openVectors(file);
 */
export interface RandomAccess {
  readonly size: number;
  read(offset: number, length: number): Promise<Uint8Array>;
}

/**
 * A file, or all of its bytes; a `File` of a browser is a `Blob`.
 *
 * @example
 * const source: Source = new Blob([]);
 * const vectors = await openVectors(source, { format: "fvecs" });
 */
export type Source = Uint8Array | ArrayBuffer | Host<"Blob"> | RandomAccess;

/** What a file begins with, before it is known what the file is. @internal */
export interface Head {
  /** All bytes that there are; undefined where nobody knows. */
  readonly size: number | undefined;
  /** The first `length` bytes, fewer where there are no more. */
  peek(length: number): Promise<Uint8Array>;
}

/** A checked source. @internal */
export class Bytes implements Head {
  readonly #source: RandomAccess;
  readonly size: number;

  constructor(source: Source) {
    this.#source = randomAccess(source);
    this.size = reading("the size of a source of vectors", () => this.#source.size);
    if (!Number.isSafeInteger(this.size) || this.size < 0) throw new LeastwiseError("invalid-option", `a source of vectors says that its size is ${shownValue(this.size)} bytes`);
  }

  peek(length: number): Promise<Uint8Array> { return this.#bytes(0, Math.min(length, this.size)); }

  async #bytes(offset: number, length: number): Promise<Uint8Array> {
    const given = await this.#source.read(offset, length);
    const bytes = bytesOf("read(offset, length) of a source of vectors", given);
    if (!bytes) throw new LeastwiseError("invalid-option", `read(offset, length) of a source of vectors must give a Uint8Array, not ${describe(given)}`);
    return bytes;
  }

  /** Exactly these bytes, or the error `file-truncated`. */
  async read(offset: number, length: number): Promise<Uint8Array> {
    const bytes = await this.#bytes(offset, length);
    if (bytes.length !== length) throw truncated(offset + length, offset + bytes.length);
    return bytes;
  }
}

function randomAccess(source: Source): RandomAccess {
  if (isA(source, ArrayBuffer)) return randomAccess(reading("a source of vectors", () => new Uint8Array(source)));
  const bytes = bytesOf("a source of vectors", source);
  if (bytes) return { size: bytes.length, read: async (offset, length) => bytes.subarray(offset, offset + length) };
  if (isA(source, Blob)) return { size: source.size, read: async (offset, length) => new Uint8Array(await source.slice(offset, offset + length).arrayBuffer()) };
  if (hasMethods(source, "read")) return source as RandomAccess;
  throw new LeastwiseError("invalid-option", "vectors are read from a Uint8Array, an ArrayBuffer, a Blob, a ReadableStream, a dataset of h5wasm or an object with size and read(offset, length)");
}

/** @internal */
export function truncated(needed: number, there: number): LeastwiseError {
  return new LeastwiseError("file-truncated", `the file ends too early: ${needed} bytes are needed, but it has ${there}; copy it again, or make it anew`);
}

/** The bytes of a stream, in order. Holds no more than what was asked for and the piece that brought the last of it. @internal */
export class StreamBytes implements Head {
  readonly size = undefined;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  /** Pieces that arrived and were not taken; of the first, what is left. */
  #pieces: Uint8Array[] = [];
  #waiting = 0;
  #taken = 0;

  constructor(stream: ReadableStream<Uint8Array>) { this.#reader = reading("a stream of vectors", () => stream.getReader()); }

  async peek(length: number): Promise<Uint8Array> {
    await this.#fill(length);
    return this.#joined(Math.min(length, this.#waiting));
  }

  /** The next `length` bytes, fewer where the stream ends. */
  async take(length: number): Promise<Uint8Array> {
    await this.#fill(length);
    const bytes = this.#joined(Math.min(length, this.#waiting));
    let left = bytes.length;
    while (left > 0 && left >= this.#pieces[0]!.length) left -= this.#pieces.shift()!.length;
    if (left > 0) this.#pieces[0] = this.#pieces[0]!.subarray(left);
    this.#waiting -= bytes.length;
    this.#taken += bytes.length;
    return bytes;
  }

  /** How many were taken so far. */
  get position(): number { return this.#taken; }

  /** Tells whoever fills the stream that no more is wanted. */
  async cancel(): Promise<void> { await this.#reader.cancel(); }

  async #fill(length: number): Promise<void> {
    while (this.#waiting < length) {
      const { done, value } = await this.#reader.read();
      if (done) return;
      const piece = bytesOf("a piece of a stream of vectors", value);
      if (!piece) throw new LeastwiseError("invalid-option", "a stream of vectors must bring Uint8Arrays");
      if (piece.length === 0) continue;
      this.#pieces.push(piece);
      this.#waiting += piece.length;
    }
  }

  #joined(length: number): Uint8Array {
    const [first] = this.#pieces;
    if (first && first.length >= length) return first.subarray(0, length);
    const joined = new Uint8Array(length);
    let at = 0;
    for (const piece of this.#pieces) {
      if (at === length) break;
      const part = piece.subarray(0, length - at);
      joined.set(part, at);
      at += part.length;
    }
    return joined;
  }
}
