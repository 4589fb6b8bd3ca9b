/** Vertices at one place. */
import { taken, type F32, type Rows } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { takesNoMore } from "../options.js";

/**
 * Undoes the vertex splits of UV seams and hard normals: vertices at exactly the same place become one.
 * `values` are the places (3 numbers each), `toWelded` maps every old vertex to its new one.
 *
 * @throws `data-length` for a number of coordinates that is no multiple of 3
 * @example
 * const { toWelded } = weld(points), table = edges(triangles, { map: toWelded });
 */
export function weld(positions: ArrayLike<number> | Rows): { values: F32; toWelded: Uint32Array } {
  takesNoMore("weld(positions)", 1, arguments, "vertices become one where they are at exactly the same place");
  const { values: places } = taken("positions", positions, { width: 3 });
  if (places.length % 3 !== 0) {
    throw new LeastwiseError("data-length", `positions has ${places.length} numbers, which is not a multiple of 3`);
  }
  const known = new Map<string, number>();
  const toWelded = new Uint32Array(places.length / 3);
  const values: number[] = [];
  for (let v = 0; v < toWelded.length; v++) {
    // + 0 makes −0 and 0 one place.
    const place = [places[3 * v]! + 0, places[3 * v + 1]! + 0, places[3 * v + 2]! + 0];
    const key = place.join();
    let index = known.get(key);
    if (index === undefined) {
      index = known.size;
      known.set(key, index);
      values.push(...place);
    }
    toWelded[v] = index;
  }
  return { values: Float32Array.from(values), toWelded };
}
