/** How rows of numbers lie in a file. */
import { LeastwiseError } from "../errors.js";
import { shownValue } from "../instruction.js";
import { ELEMENT_TYPES, ELEMENTS, type ElementType } from "./element.js";
import type { Head } from "./source.js";

/** @internal */
export interface Layout {
  readonly type: ElementType;
  readonly dim: number;
  /** Rows; undefined where only the end of the file tells. */
  readonly count: number | undefined;
  readonly littleEndian: boolean;
  /** Offset of the first row, in bytes. */
  readonly offset: number;
  /** Bytes of a row, its prefix among them. */
  readonly stride: number;
  /** Bytes before the numbers of each row: 4 where the row's length stands there. */
  readonly prefix: 0 | 4;
  /** True if the file is stored column by column. */
  readonly byColumns: boolean;
}

/**
 * What a file is told to be, or is recognised as.
 *
 * @example
 * const format: VectorFormat = "fvecs";
 */
export type VectorFormat = "npy" | "fvecs" | "bvecs" | "ivecs" | "raw" | "hdf5";

/** Formats of bytes. @internal */
export const FORMATS: readonly string[] = ["npy", "fvecs", "bvecs", "ivecs", "raw"] satisfies VectorFormat[];

/** Components that a row of `.fvecs` and its like may have: the first four bytes of any other file would say more. */
const MOST_COMPONENTS = 1 << 20;

const RECORDS = { fvecs: "float32", bvecs: "uint8", ivecs: "int32" } as const;

/** `.fvecs`, `.bvecs`, `.ivecs` (TEXMEX): every row is its length as a 32-bit integer, and its numbers. @internal */
export async function recordsLayout(head: Head, format: keyof typeof RECORDS): Promise<Layout> {
  const type = RECORDS[format];
  const start = await head.peek(4);
  if (start.length === 0) throw new LeastwiseError("file-format", `this .${format} file is empty, so that nothing says how long its rows are`);
  if (start.length < 4) throw new LeastwiseError("file-truncated", `this .${format} file ends within the length of its first row`);
  const dim = new DataView(start.buffer, start.byteOffset).getInt32(0, true);
  if (dim < 1 || dim > MOST_COMPONENTS) throw new LeastwiseError("file-format", `this is no .${format} file: its first row would have ${dim} components (1 to ${MOST_COMPONENTS} can be read)`);
  const stride = 4 + dim * ELEMENTS[type].bytes;
  return { type, dim, count: countOf(head.size, 0, stride), littleEndian: true, offset: 0, stride, prefix: 4, byColumns: false };
}

/** Numbers and nothing else, row by row. @internal */
export function rawLayout(head: Head, { type, dim, offset = 0 }: { type?: ElementType; dim?: number; offset?: number }): Layout {
  if (type === undefined || !ELEMENT_TYPES.includes(type)) throw new LeastwiseError("invalid-option", `type: ${shownValue(type)} is not one of ${ELEMENT_TYPES.join(", ")}; a raw file needs it`);
  if (!(Number.isInteger(dim) && dim! >= 1)) throw new LeastwiseError("invalid-option", `dim: ${shownValue(dim)} is no positive integer; a raw file needs it`);
  if (!(Number.isSafeInteger(offset) && offset >= 0)) throw new LeastwiseError("invalid-option", `offset: ${shownValue(offset)} is no number of bytes`);
  const stride = dim! * ELEMENTS[type].bytes;
  return { type, dim: dim!, count: countOf(head.size, offset, stride), littleEndian: true, offset, stride, prefix: 0, byColumns: false };
}

function countOf(size: number | undefined, offset: number, stride: number): number | undefined {
  if (size === undefined) return undefined;
  const left = size - offset;
  if (left < 0 || left % stride !== 0) throw unevenEnd(Math.max(0, left), stride);
  return left / stride;
}

/** @internal */
export function unevenEnd(bytes: number, stride: number): LeastwiseError {
  return new LeastwiseError("file-truncated", `the file ends within a row: it has ${bytes} bytes of rows, and a row takes ${stride}`);
}
