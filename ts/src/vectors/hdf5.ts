/** Vectors of a dataset of an HDF5 file, which a package reads. */
import type { F32 } from "../arrays.js";
import { LeastwiseError, reading } from "../errors.js";
import { describe, shownValue } from "../instruction.js";
import { asFloats, ELEMENT_TYPES, ELEMENTS, type Elements, type ElementType } from "./element.js";
import { inChunks, rangeOf } from "./range.js";

/** What an HDF5 file begins with. @internal */
export const HDF5_MAGIC = "\x89HDF\r\n\x1a\n";

/**
 * Dataset of an open HDF5 file, as the package `h5wasm` has it: its shape, and numbers by ranges of rows and columns. Nothing but these is used.
 *
 * @example
 * const train = { shape: [1, 3], slice: () => new Float32Array(3) };  // file.get("train")
 * const dataset: Hdf5Dataset = train;
 * const vectors = await openVectors(dataset);
 */
export interface Hdf5Dataset {
  readonly shape: readonly number[] | null;
  slice(ranges: [number, number][]): unknown;
}

/** Rows of a dataset, read when they are asked for. @internal */
export class DatasetRows {
  readonly format = "hdf5";
  readonly type: ElementType;
  readonly dim: number;
  readonly count: number;
  readonly #isFlat: boolean;

  constructor(private readonly dataset: Hdf5Dataset) {
    const shape = reading("the shape of a dataset", () => dataset.shape);
    if (!Array.isArray(shape) || shape.length === 0 || shape.length > 2 || !shape.every((size) => Number.isSafeInteger(size) && size >= 0)) {
      throw new LeastwiseError("file-format", `a dataset of vectors has one or two dimensions, not the shape ${shownValue(shape)}`);
    }
    this.#isFlat = shape.length === 1;
    this.count = shape[0]!;
    this.dim = shape[1] ?? 1;
    if (this.dim === 0) throw new LeastwiseError("file-format", "the vectors of this dataset have no components");
    const first = this.#slice(0, Math.min(this.count, 1));
    this.type = ELEMENT_TYPES.find((type) => type !== "float16" && first instanceof ELEMENTS[type].array)!;
  }

  async rows(first = 0, count?: number): Promise<F32> { return asFloats(await this.elements(first, count), this.type); }

  async elements(first = 0, count?: number): Promise<Elements> { return this.#slice(first, rangeOf(first, count, this.count)); }

  chunks(rows: number): AsyncIterable<F32> { return inChunks(this, rows); }

  #slice(first: number, count: number): Elements {
    const rows: [number, number] = [first, first + count];
    const numbers = reading("a dataset of vectors", () => this.dataset.slice(this.#isFlat ? [rows] : [rows, [0, this.dim]]));
    const type = ELEMENT_TYPES.find((each) => each !== "float16" && numbers instanceof ELEMENTS[each].array);
    if (!type) throw new LeastwiseError("file-format", `a dataset of vectors has real or whole numbers of 1 to 8 bytes; this one has ${describe(numbers)}`);
    const { length } = numbers as Elements;
    if (length !== count * this.dim) {
      throw new LeastwiseError("file-format", `${count} rows of this dataset are ${length} numbers, where its shape says ${count * this.dim}: convert it to float32, as by dataset.astype("f4") of h5py`);
    }
    return numbers as Elements;
  }
}
