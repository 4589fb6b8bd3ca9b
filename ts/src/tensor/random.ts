/** Numbers that look random and are the same for the same seed. */

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

  /** From 0 on, below 1: as many bits as an f32 (or an f64) has, so that rounding never gives 1. */
  fraction(double: boolean): number {
    const high = this.word();
    return double ? ((high >>> 5) * 67108864 + (this.word() >>> 6)) / 9007199254740992 : (high >>> 8) / 16777216;
  }
}

/** Uniform from `low` on, below `high`. @internal */
export function uniform(out: Float32Array | Float64Array, seed: number, low: number, high: number): void {
  const generator = new Generator(seed), double = out instanceof Float64Array;
  for (let k = 0; k < out.length; k++) out[k] = low + (high - low) * generator.fraction(double);
}

/** Normal (Box & Muller 1958). @internal */
export function normal(out: Float32Array | Float64Array, seed: number, mean: number, deviation: number): void {
  const generator = new Generator(seed), double = out instanceof Float64Array;
  for (let k = 0; k < out.length; k += 2) {
    const radius = deviation * Math.sqrt(-2 * Math.log(1 - generator.fraction(double)));
    const angle = 2 * Math.PI * generator.fraction(double);
    out[k] = mean + radius * Math.cos(angle);
    if (k + 1 < out.length) out[k + 1] = mean + radius * Math.sin(angle);
  }
}
