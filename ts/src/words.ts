/** Words one after the other, in an array that grows: what a term is packed into, its tape among it. */
import type { Packed } from "./packed.js";

/** Words that a list keeps for the next term. What larger terms took is given back. */
const KEPT = 1 << 12;

/** @internal */
export class Words {
  private array = new Uint32Array(KEPT);
  length = 0;
  /** Reals and names that the words speak of, in their order. */
  readonly reals: ArrayLike<number>[] = [];
  readonly names: string[] = [];
  /** Index table of which the words speak, if it crosses by itself. */
  over: Uint32Array | undefined;

  push(word: number): void {
    if (this.length === this.array.length) this.reserve(1);
    this.array[this.length++] = word;
  }

  /** Most of what is packed comes in twos and threes. */
  push2(first: number, second: number): void {
    if (this.length + 2 > this.array.length) this.reserve(2);
    this.array[this.length++] = first;
    this.array[this.length++] = second;
  }

  push3(first: number, second: number, third: number): void {
    if (this.length + 3 > this.array.length) this.reserve(3);
    this.array[this.length++] = first;
    this.array[this.length++] = second;
    this.array[this.length++] = third;
  }

  append(words: ArrayLike<number>): void {
    this.reserve(words.length);
    // Setting a few elements by hand is quicker than a call.
    if (words.length < 32) for (let k = 0; k < words.length; k++) this.array[this.length + k] = words[k]!;
    else this.array.set(words, this.length);
    this.length += words.length;
  }

  /** Appends what was packed by itself. */
  appendPacked({ words, reals }: Packed): void {
    this.append(words);
    this.reals.push(reals);
  }

  /** Replaces a word. */
  set(at: number, word: number): void {
    this.array[at] = word;
  }

  /** What there is, until the next word. */
  get all(): Uint32Array {
    return this.array.subarray(0, this.length);
  }

  /** Makes room for so many words, and for a tape behind them: millions are copied once. */
  room(more: number): void {
    if (this.length + more > this.array.length) this.grow(this.length + more + KEPT);
  }

  private reserve(more: number): void {
    const needed = this.length + more;
    if (needed > this.array.length) this.grow(Math.max(needed, 2 * this.array.length));
  }

  private grow(length: number): void {
    const array = new Uint32Array(length);
    array.set(this.array.subarray(0, this.length));
    this.array = array;
  }

  private clear(): void {
    this.length = this.reals.length = this.names.length = 0;
    this.over = undefined;
    if (this.array.length > KEPT) this.array = new Uint32Array(KEPT);
  }

  /** A list that nothing is being packed into: an array for every term would keep the garbage collector busy. */
  static take(): Words {
    return idle.pop() ?? new Words();
  }

  /** Gives a list back. */
  static release(words: Words): void {
    words.clear();
    idle.push(words);
  }
}

/** One, unless residual functions add terms themselves. */
const idle: Words[] = [];
