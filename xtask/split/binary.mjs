// Bytes of WebAssembly: numbers in LEB128, vectors, names.
const decoder = new TextDecoder(), encoder = new TextEncoder();

/** Reads one after the other. */
export class Reader {
  constructor(bytes, at = 0, end = bytes.length) {
    Object.assign(this, { bytes, at, end });
  }

  get isDone() { return this.at >= this.end; }

  byte() {
    if (this.at >= this.end) throw new Error(`the module ends too early, at byte ${this.at}`);
    return this.bytes[this.at++];
  }

  u32() {
    let value = 0, scale = 1;
    for (;;) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
  }

  /** Signed, of at most 33 bits; of more, wrong. */
  s32() {
    let value = 0, scale = 1;
    for (;;) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      scale *= 128;
      if (byte < 0x80) return byte & 0x40 ? value - scale : value;
    }
  }

  skip(count) { this.at += count; }
  /** Past a number of any size. */
  skipNumber() { while (this.byte() >= 0x80); }
  take(count) { return this.bytes.subarray(this.at, this.at += count); }
  name() { return decoder.decode(this.take(this.u32())); }
  vector(each) { return Array.from({ length: this.u32() }, (_, k) => each(this, k)); }
}

/** Writes likewise. */
export class Writer {
  #bytes = new Uint8Array(1 << 10);
  #length = 0;

  get bytes() { return this.#bytes.subarray(0, this.#length); }

  byte(value) {
    this.#room(1);
    this.#bytes[this.#length++] = value;
    return this;
  }

  u32(value) {
    for (; value >= 0x80; value = Math.floor(value / 128)) this.byte((value % 128) | 0x80);
    return this.byte(value);
  }

  s32(value) {
    for (;;) {
      const low = value & 0x7f;
      value >>= 7;
      if ((value === 0 && !(low & 0x40)) || (value === -1 && low & 0x40)) return this.byte(low);
      this.byte(low | 0x80);
    }
  }

  append(bytes) {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    return this;
  }

  /** Bytes with their number before them. */
  sized(bytes) { return this.u32(bytes.length).append(bytes); }
  name(text) { return this.sized(encoder.encode(text)); }

  vector(items, each) {
    this.u32(items.length);
    for (const item of items) each(this, item);
    return this;
  }

  #room(count) {
    if (this.#length + count <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(2 * this.#bytes.length, this.#length + count));
    larger.set(this.bytes);
    this.#bytes = larger;
  }
}
