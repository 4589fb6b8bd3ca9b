// Files of meshes.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

/** A gzipped OFF file of triangles. */
export function readOff(path) {
  const words = gunzipSync(readFileSync(path)).toString("utf8").replaceAll(/#.*/g, "").split(/\s+/).filter(Boolean);
  if (words[0] !== "OFF") throw new Error(`${path} does not begin with OFF`);
  const [vertices, faces] = [Number(words[1]), Number(words[2])];
  const numbers = Float64Array.from(words.slice(4), Number);
  const positions = numbers.slice(0, 3 * vertices);
  const triangles = new Uint32Array(3 * faces);
  for (let face = 0; face < faces; face++) {
    const at = 3 * vertices + 4 * face;
    if (numbers[at] !== 3) throw new Error(`${path}: face ${face} has ${numbers[at]} corners, not 3`);
    triangles.set(numbers.subarray(at + 1, at + 4), 3 * face);
  }
  return { positions, triangles };
}
