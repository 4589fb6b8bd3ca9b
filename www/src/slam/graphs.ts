/** Pose graphs in the plane: drawn by a generator that is the same every time. */

export type Pose = readonly [angle: number, x: number, y: number];
export interface Graph { readonly truth: readonly Pose[]; readonly edges: readonly (readonly [number, number])[]; readonly measured: readonly Pose[]; readonly odometry: number; readonly wrong: Uint8Array; readonly driven: readonly Pose[] }

export const ANGLE = 0.012, PLACE = 0.04;

/** a · b and a⁻¹ · b of rigid motions. */
export const times = (a: Pose, b: Pose): Pose => [a[0] + b[0], a[1] + Math.cos(a[0]) * b[1] - Math.sin(a[0]) * b[2], a[2] + Math.sin(a[0]) * b[1] + Math.cos(a[0]) * b[2]];
export const from = (a: Pose, b: Pose): Pose => {
  const [x, y] = [b[1] - a[1], b[2] - a[2]];
  return [b[0] - a[0], Math.cos(a[0]) * x + Math.sin(a[0]) * y, Math.cos(a[0]) * y - Math.sin(a[0]) * x];
};

export type World = "streets" | "spiral" | "eight";

/** A robot that drives around for `count` poses, and recognises places; a share of what it recognises is wrong. */
export function makeGraph(world: World, count: number, outliers: number): Graph {
  let state = 424243;
  const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
  const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());
  const noisy = (pose: Pose): Pose => [pose[0] + ANGLE * normal(), pose[1] + PLACE * normal(), pose[2] + PLACE * normal()];
  const truth: Pose[] = [[0, 0, 0]];
  const side = Math.max(6, Math.round(Math.sqrt(count) / 3));
  for (let k = 1; k < count; k++) {
    const last = truth[k - 1]!;
    if (world === "eight") truth.push(times(last, [(Math.floor(k / (count / 8)) % 2 ? -1 : 1) * ((2 * Math.PI) / (count / 8)), 0.6, 0]));
    else if (world === "spiral") truth.push(times(last, [0.14 / (1 + k / 160), 0.6, 0]));
    else {
      // Blocks of four poses: straight on or around a corner, within the town.
      const turns = k % 4 ? [0] : [0, Math.PI / 2, -Math.PI / 2].filter((turn) => { const [, x, y] = times(last, [turn, 4, 0]), ahead = times([last[0] + turn, last[1], last[2]], [0, 4, 0]); return Math.abs(ahead[1] - side * 2) <= side * 2 && Math.abs(ahead[2] - side * 2) <= side * 2 && Number.isFinite(x + y); });
      const turn = turns.length ? turns[Math.floor(random() * turns.length)]! : Math.PI;
      truth.push(times([last[0] + turn, last[1], last[2]], [0, 1, 0]));
    }
  }
  const edges: [number, number][] = [], measured: Pose[] = [];
  for (let k = 0; k + 1 < count; k++) { edges.push([k, k + 1]); measured.push(noisy(from(truth[k]!, truth[k + 1]!))); }
  const odometry = edges.length;
  // Places close to an earlier one are recognised, each every few poses.
  for (let k = 30; k < count; k += 3) {
    const near = truth.slice(0, k - 25).findIndex(([, x, y], j) => (j + k) % 2 === 0 && Math.hypot(x - truth[k]![1], y - truth[k]![2]) < 1.2);
    if (near >= 0) { edges.push([near, k]); measured.push(noisy(from(truth[near]!, truth[k]!))); }
  }
  const wrong = new Uint8Array(edges.length), more = Math.round(outliers * (edges.length - odometry));
  const all = [...wrong];
  for (let k = 0; k < more; k++) {
    const [a, b] = [Math.floor(random() * count), Math.floor(random() * count)];
    if (Math.abs(a - b) < 10) continue;
    edges.push([Math.min(a, b), Math.max(a, b)]);
    measured.push(noisy([2 * Math.PI * (random() - 0.5), 2 * normal(), 2 * normal()]));
    all.push(1);
  }
  const driven: Pose[] = [truth[0]!];
  for (let k = 0; k < odometry; k++) driven.push(times(driven[k]!, measured[k]!));
  return { truth, edges, measured, odometry, wrong: Uint8Array.from(all), driven };
}
