/** Numbers that look random and are the same for the same seed. */
import type { Floats } from "../arrays.js";
import type { Storage } from "./tensor.js";

/** Small fast counting: 128 bits of state, of which one is a counter (Doty-Humphrey, *PractRand*: sfc32). */
class Generator {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number) {
    [this.#a, this.#b, this.#c] = [seed | 0, 0x9e3779b9 | 0, 0x243f6a88];
    for (let k = 0; k < 15; k++) this.word();
  }

  /** 32 bits. */
  word(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** From 0 on, below 1: as many bits as numbers of the kind have, so that rounding never gives 1. */
  fraction(dtype: Storage): number {
    const high = this.word();
    if (dtype === "f64") return ((high >>> 5) * 67108864 + (this.word() >>> 6)) / 9007199254740992;
    return dtype === "f16" ? (high >>> 21) / 2048 : (high >>> 8) / 16777216;
  }
}

/** Uniform from `low` on, below `high`. @internal */
export function uniform(out: Floats, dtype: Storage, seed: number, low: number, high: number): void {
  const generator = new Generator(seed);
  for (let k = 0; k < out.length; k++) out[k] = low + (high - low) * generator.fraction(dtype);
}

/** Normal (Box & Muller 1958); rounded to halves afterwards, where it is. @internal */
export function normal(out: Floats, dtype: Storage, seed: number, mean: number, deviation: number): void {
  const generator = new Generator(seed), kind = dtype === "f64" ? "f64" : "f32";
  for (let k = 0; k < out.length; k += 2) {
    const radius = deviation * Math.sqrt(-2 * Math.log(1 - generator.fraction(kind)));
    const angle = 2 * Math.PI * generator.fraction(kind);
    out[k] = mean + radius * Math.cos(angle);
    if (k + 1 < out.length) out[k + 1] = mean + radius * Math.sin(angle);
  }
}
