// Files of this package with descriptions that say something else.

/** CRC-32C. */
const crc32c = (bytes) => ~bytes.reduce((sum, byte) => {
  let value = sum ^ byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
  return value;
}, ~0) >>> 0;

/** A file with another description, whose checksum holds; the old one ends at `start`. */
export function reframed(file, said, start) {
  const text = new TextEncoder().encode(JSON.stringify(said)), head = new Uint8Array(64 + Math.ceil(text.length / 64) * 64), view = new DataView(head.buffer);
  head.set(file.subarray(0, 12));
  view.setUint32(12, text.length, true);
  head.set(text, 64);
  view.setUint32(16, crc32c(Uint8Array.of(...head.subarray(0, 16), ...head.subarray(64))), true);
  return Uint8Array.of(...head, ...file.subarray(start));
}
