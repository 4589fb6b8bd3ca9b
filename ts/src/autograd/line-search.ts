/** Line search for the strong Wolfe conditions (Nocedal & Wright 2006, algorithms 3.5 and 3.6). */

/** Value and slope along a line; undefined where the function is not defined. @internal */
export interface LinePoint { readonly length: number; readonly value: number; readonly slope: number }

/** @internal */
export interface LineOptions { readonly c1: number; readonly c2: number; readonly most: number; readonly first: number }

/** Factor of a step that is too short. */
const EXPANSION = 4;

/**
 * A point of the line that lowers the function as c1 asks and, if trials suffice, has a slope as c2 asks. Undefined where
 * none of `most` trials lowers it. `start` is the point of length 0.
 *
 * @internal
 */
export function lineSearch(start: LinePoint, at: (length: number) => LinePoint | undefined, { c1, c2, most, first }: LineOptions): LinePoint | undefined {
  const lowers = (point: LinePoint) => point.value <= start.value + c1 * point.length * start.slope;
  const isFlat = (point: LinePoint) => Math.abs(point.slope) <= -c2 * start.slope;
  // `low` is the best point so far that lowers the function, `high` the other end, once the minimum is between them.
  let low = start, high: LinePoint | undefined, limit = Infinity, length = first;
  for (let trial = 0; trial < most; trial++) {
    const point = at(length);
    if (!point) limit = length;
    else if (!lowers(point) || point.value >= low.value) high = point;
    else {
      if (isFlat(point)) return point;
      // Where it rises, or comes back towards `low`, the minimum is behind.
      if (point.slope * (point.length - low.length) >= 0) high = low;
      low = point;
    }
    length = high ? between(low, high) : limit < Infinity ? (low.length + limit) / 2 : EXPANSION * length;
  }
  return low === start ? undefined : low;
}

/** Minimiser of the cubic through two points, kept away from both. */
function between(a: LinePoint, b: LinePoint): number {
  const width = b.length - a.length, d1 = a.slope + b.slope - (3 * (a.value - b.value)) / (a.length - b.length), square = d1 * d1 - a.slope * b.slope;
  const middle = a.length + width / 2;
  if (!(square >= 0)) return middle;
  const d2 = Math.sign(width) * Math.sqrt(square), length = b.length - width * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2));
  const share = (length - a.length) / width;
  return share > 0.1 && share < 0.9 ? length : share > 0 && share <= 0.1 ? a.length + 0.1 * width : middle;
}
