// Animated PNG files in the colours of a palette. Of each frame but the first only the rectangle that changes is stored.
import { crc32, deflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);

function chunk(type, ...parts) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), ...parts]), length = Buffer.alloc(4), sum = Buffer.alloc(4);
  length.writeUInt32BE(body.length - 4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

const words = (...values) => {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, k) => bytes.writeUInt32BE(value, 4 * k));
  return bytes;
};
const halves = (...values) => {
  const bytes = Buffer.alloc(2 * values.length);
  values.forEach((value, k) => bytes.writeUInt16BE(value, 2 * k));
  return bytes;
};

/** The nearest colour of each pixel. */
function indexed(bytes, palette, known) {
  const indices = new Uint8Array(bytes.length / 3);
  for (let k = 0; k < indices.length; k++) {
    const [r, g, b] = [bytes[3 * k], bytes[3 * k + 1], bytes[3 * k + 2]], key = (r << 16) | (g << 8) | b;
    let nearest = known.get(key);
    if (nearest === undefined) {
      let least = Infinity;
      for (let c = 0; c < palette.length; c += 3) {
        const distance = (palette[c] - r) ** 2 + (palette[c + 1] - g) ** 2 + (palette[c + 2] - b) ** 2;
        if (distance < least) [least, nearest] = [distance, c / 3];
      }
      known.set(key, nearest);
    }
    indices[k] = nearest;
  }
  return indices;
}

/** The smallest rectangle with all pixels that differ: left, top, width, height. */
function changed(before, after, width, height) {
  let [left, top, right, bottom] = [width, height, -1, -1];
  for (let k = 0; k < after.length; k++) {
    if (before[k] === after[k]) continue;
    const x = k % width, y = Math.floor(k / width);
    [left, top, right, bottom] = [Math.min(left, x), Math.min(top, y), Math.max(right, x), Math.max(bottom, y)];
  }
  return right < 0 ? [0, 0, 1, 1] : [left, top, right - left + 1, bottom - top + 1];
}

/** The file: `frames` have three bytes a pixel, `palette` up to 256 colours, three numbers each. */
export function animatedPng(frames, { width, height, palette, milliseconds }) {
  const known = new Map(), images = frames.map((bytes) => indexed(bytes, palette, known));
  const chunks = [
    chunk("IHDR", words(width, height), Buffer.from([8, 3, 0, 0, 0])),
    chunk("PLTE", Buffer.from(Array.from(palette, (v) => Math.round(Math.min(255, Math.max(0, v)))))),
    chunk("acTL", words(images.length, 0)),
  ];
  let sequence = 0;
  images.forEach((image, k) => {
    const [left, top, wide, high] = k ? changed(images[k - 1], image, width, height) : [0, 0, width, height];
    const rows = Buffer.alloc((wide + 1) * high);
    for (let y = 0; y < high; y++) rows.set(image.subarray((top + y) * width + left, (top + y) * width + left + wide), (wide + 1) * y + 1);
    chunks.push(chunk("fcTL", words(sequence++, wide, high, left, top), halves(milliseconds, 1000), Buffer.from([0, 0])));
    const packed = deflateSync(rows, { level: 9 });
    chunks.push(k ? chunk("fdAT", words(sequence++), packed) : chunk("IDAT", packed));
  });
  return Buffer.concat([SIGNATURE, ...chunks, chunk("IEND")]);
}
