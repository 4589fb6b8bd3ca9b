// Random numbers that are the same everywhere: Marsaglia's xorshift with Vigna's multiplier, 53 bits of each word.

export class Random {
  #state;

  constructor(seed) {
    this.#state = (BigInt(seed) * 0x9e3779b97f4a7c15n) & 0xffffffffffffffffn | 1n;
  }

  #next() {
    const mask = 0xffffffffffffffffn;
    let s = this.#state;
    s ^= s >> 12n;
    s = (s ^ (s << 25n)) & mask;
    s ^= s >> 27n;
    this.#state = s;
    return (s * 0x2545f4914f6cdd1dn) & mask;
  }

  /** From `low` up to, not including, `high`. */
  between(low, high) { return low + (high - low) * (Number(this.#next() >> 11n) / 2 ** 53); }
  below(end) { return Math.floor(this.between(0, end)); }
  /** Standard normal (Box & Muller). */
  normal() { return Math.sqrt(-2 * Math.log(1 - this.between(0, 1))) * Math.cos(2 * Math.PI * this.between(0, 1)); }
  /** `n` normal numbers times `scale`. */
  normals(n, scale = 1) { return Array.from({ length: n }, () => scale * this.normal()); }
  /** A direction in space. */
  direction() {
    const v = this.normals(3), length = Math.hypot(...v);
    return v.map((each) => each / length);
  }
}
