// Vectors to cluster and to compress.
import { open } from "node:fs/promises";
import { openVectors, toHalf, fromHalf } from "leastwise/vectors";

/** The published compressor's own rows, in half precision: x[i][j] = cᵢ + ½ sin(0.1·(i·d + j)), with c = 0, 5, 10 in turn. */
export function published(count, dim) {
  const tenth = Math.fround(0.1);
  const rows = Float32Array.from({ length: count * dim }, (_, k) => Math.fround([0, 5, 10][Math.floor(k / dim) % 3] + Math.fround(0.5 * Math.fround(Math.sin(Math.fround(Math.fround(k) * tenth))))));
  return { dim, points: fromHalf(toHalf(rows)) };
}

/** A file's rows. */
export async function vectorsOf(path) {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const vectors = await openVectors({ size, read: async (offset, length) => (await file.read({ buffer: new Uint8Array(length), position: offset })).buffer });
    return { dim: vectors.dim, points: await vectors.rows() };
  } finally {
    await file.close();
  }
}
