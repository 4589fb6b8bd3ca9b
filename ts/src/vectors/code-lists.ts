/** Codes of an index's lists, read from a file when they are needed, and kept up to a number of bytes. */
import type { Bytes } from "./source.js";

/** Lists that follow each other but for so many bytes are read together. */
const GAP = 1 << 14;
/** Bytes of one read, unless a list has more; and reads at a time. */
const RUN = 1 << 20, TOGETHER = 6;

/** Codes of one list. @internal */
export interface ListCodes { readonly list: number; readonly codes: Uint8Array; readonly isKept: boolean }

/** @internal */
export class CodeLists {
  /** In the order of their last use. */
  readonly #kept = new Map<number, Uint8Array>();
  /** Bytes that are kept. */
  bytes = 0;

  /** Codes begin at `offset` of the file; list i has those of vectors `starts[i]` to `starts[i + 1]`, `rowBytes` each. */
  constructor(private readonly file: Bytes, private readonly offset: number, private readonly starts: Uint32Array, private readonly rowBytes: number, private readonly most: number) {}

  /** The codes of some lists, which ascend: those that are kept first. None is kept for good before it was found to be right. */
  async *read(lists: Uint32Array): AsyncGenerator<ListCodes, void, void> {
    const missing: number[] = [];
    for (const list of lists) {
      const codes = this.#kept.get(list);
      if (codes) {
        this.#kept.delete(list);
        this.#kept.set(list, codes);
        yield { list, codes, isKept: true };
      } else missing.push(list);
    }
    const runs = this.#runs(missing);
    for (let first = 0; first < runs.length; first += TOGETHER) {
      for (const { lists: some, from, bytes } of await Promise.all(runs.slice(first, first + TOGETHER).map((run) => this.#fetch(run)))) {
        for (const list of some) yield { list, codes: bytes.slice(this.#begin(list) - from, this.#begin(list + 1) - from), isKept: false };
      }
    }
  }

  /** Keeps the codes of a list, in place of those that were used least recently. */
  keep({ list, codes }: ListCodes): void {
    if (codes.length > this.most || this.#kept.has(list)) return;
    this.#kept.set(list, codes);
    this.bytes += codes.length;
    for (const [oldest, { length }] of this.#kept) {
      if (this.bytes <= this.most) break;
      this.#kept.delete(oldest);
      this.bytes -= length;
    }
  }

  #begin(list: number): number { return this.starts[list]! * this.rowBytes; }

  /** Lists that are read together. */
  #runs(lists: readonly number[]): number[][] {
    const runs: number[][] = [];
    for (const list of lists) {
      const run = runs.at(-1), last = run?.at(-1);
      if (run && this.#begin(list) - this.#begin(last! + 1) <= GAP && this.#begin(list + 1) - this.#begin(run[0]!) <= RUN) run.push(list);
      else runs.push([list]);
    }
    return runs;
  }

  async #fetch(lists: number[]) {
    const from = this.#begin(lists[0]!), end = this.#begin(lists.at(-1)! + 1);
    return { lists, from, bytes: await this.file.read(this.offset + from, end - from) };
  }
}
