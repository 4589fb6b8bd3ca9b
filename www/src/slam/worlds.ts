/** Worlds of the page: pose graphs in the plane and in space, and bundles of views, generated or from a file. */
import { se2, se3, type Problem, type Variables } from "leastwise";
import { runCode, type Made } from "../shell/code.js";
import { counted } from "../shell/words.js";
import { ANGLE, makeGraph, PLACE, type Pose, type World as PlaneWorld } from "./graphs.js";
import { conjugate, fromAngleAxis, from, random, rotate, scaled, times, type Motion, type Point } from "./rotations.js";

/** What a world is to the page: terms to solve, and what is drawn of their variables. */
export interface World {
  readonly name: string;
  /** 2 for a plane, which is seen from above. */
  readonly space: 2 | 3;
  /** The term whose instances may be wrong, and how large a residual of a right one is at most. */
  readonly suspects: "closures" | "views";
  readonly threshold: number;
  /** Two drawn places for each instance of the suspects; empty for views, which are too many. */
  readonly links: Uint32Array;
  /** How many suspects there are, and which are wrong, if that is known. */
  readonly count: number;
  readonly wrong: Uint8Array | undefined;
  /** Numbers of links that are drawn one after the other as a way: all poses, or none. */
  readonly way: boolean;
  /** True places, if they are known. */
  readonly truth: Float64Array | undefined;
  readonly code: string;
  /** Values of tables by their names, as the page and a project of its own write them. */
  readonly tables: { readonly [name: string]: { readonly width: number; readonly values: Float64Array } };
  /** What the code has in scope besides tables. */
  readonly scope: { readonly [name: string]: unknown };
  /** Places of what is drawn, three numbers each, of the tables' values; in the order of `tables`. */
  places(values: readonly ArrayLike<number>[]): Float64Array;
  /** Of the places, how many come first that are poses or cameras; the others are points. */
  readonly poses: number;
  /** What the strip says of the state. */
  said(places: Float64Array, cost: number | undefined): string;
}

/** A pose graph in the plane or in space. */
export interface PoseGraph {
  readonly name: string;
  /** Numbers of a pose: 4 (cos, sin, x, y) or 7 (quaternion, place). */
  readonly width: 4 | 7;
  readonly start: Float64Array;
  readonly edges: readonly (readonly [number, number])[];
  readonly motions: Float64Array;
  /** Upper triangles R, row by row, with RᵀR the information matrix; or standard deviations that all edges share. */
  readonly roots?: Float64Array;
  readonly wrong?: Uint8Array;
  readonly truth?: Float64Array;
}

const PLANE_CODE = `// In scope: problem, pose (SE(2) in the plane), odometry and closures (edges and motions), sigma.
// The error of a motion from pose a to pose b, over its standard deviations.
const error = ([a, b], { motion }) => {
  const e = motion.inverse().mul(a.inverse().mul(b));
  return [e.r.angle().div(sigma.angle), e.t.div(sigma.place)];
};
problem.residuals("odometry", { over: odometry.edges, of: [pose, pose], data: { motion: column(odometry.motions, se2) } }, error);
// One weight a closure, so that each can be taken out.
const weight = new Float64Array(closures.edges.length / 2).fill(1);
problem.residuals("closures", { over: closures.edges, of: [pose, pose], data: { motion: column(closures.motions, se2) }, weight }, error);`;

/** Code for edges with information matrices of their own. */
const rootCode = (group: "se2" | "se3"): string => `// In scope: problem, pose (${group === "se2" ? "SE(2)" : "SE(3)"}), odometry and closures: edges, motions, and roots R of information matrices RᵀR.
const error = ([a, b], { motion, root }) => {
  const e = motion.inverse().mul(a.inverse().mul(b));
  const errors = ${group === "se2" ? "[e.t.x, e.t.y, e.r.angle()]" : "[e.t.x, e.t.y, e.t.z, e.q.x.mul(2), e.q.y.mul(2), e.q.z.mul(2)]"};
  // Rows of R, an upper triangle that is stored row by row.
  let k = 0;
  return errors.map((_, i) => sum(errors.slice(i).map((one) => one.mul(root.at(k++)))));
};
const data = ({ motions, roots }) => ({ motion: column(motions, ${group}), root: column(roots, ${group === "se2" ? 6 : 21}) });
if (odometry.edges.length) problem.residuals("odometry", { over: odometry.edges, of: [pose, pose], data: data(odometry) }, error);
// One weight a closure, so that each can be taken out.
const weight = new Float64Array(closures.edges.length / 2).fill(1);
if (closures.edges.length) problem.residuals("closures", { over: closures.edges, of: [pose, pose], data: data(closures), weight }, error);`;

/** χ² of the residual's rows: 99.9 % of right closures are below. */
const THRESHOLDS = { 4: Math.sqrt(16.27), 7: Math.sqrt(22.46) };

/** The world of a pose graph. Edges from a pose to the next one are its odometry, the others closures. */
export function graphWorld({ name, width, start, edges, motions, roots, wrong, truth }: PoseGraph): World {
  const isStep = ([a, b]: readonly [number, number]) => b - a === 1, steps = edges.flatMap((edge, k) => (isStep(edge) ? [k] : [])), others = edges.flatMap((edge, k) => (isStep(edge) ? [] : [k]));
  const stride = roots ? roots.length / edges.length : 0;
  const part = (list: readonly number[]) => ({
    edges: Uint32Array.from(list.flatMap((k) => edges[k]!)),
    motions: Float64Array.from(list.flatMap((k) => [...motions.subarray(width * k, width * (k + 1))])),
    ...(roots && { roots: Float64Array.from(list.flatMap((k) => [...roots.subarray(stride * k, stride * (k + 1))])) }),
  });
  const closures = part(others), poses = start.length / width, first = width - (width === 4 ? 2 : 3);
  return {
    name, space: width === 4 ? 2 : 3, suspects: "closures", threshold: THRESHOLDS[width], links: closures.edges, count: others.length, wrong: wrong && Uint8Array.from(others, (k) => wrong[k]!), way: true, truth,
    code: roots ? rootCode(width === 4 ? "se2" : "se3") : PLANE_CODE,
    tables: { pose: { width, values: start } },
    scope: { odometry: part(steps), closures, ...(!roots && { sigma: { angle: ANGLE, place: PLACE } }) },
    poses,
    places: ([values]) => Float64Array.from({ length: 3 * poses }, (_, k) => (k % 3 === 2 && width === 4 ? 0 : values![width * Math.floor(k / 3) + first + (k % 3)]!)),
    said: (places) => `${counted(poses, "pose")}, ${counted(others.length, "closure")}${truth ? ` · ${meanOff(places, truth).toFixed(2)} m off` : ""}`,
  };
}

/** The mean distance from the true places. */
export function meanOff(places: ArrayLike<number>, truth: Float64Array): number {
  let sum = 0;
  for (let k = 0; k < truth.length; k += 3) sum += Math.hypot(places[k]! - truth[k]!, places[k + 1]! - truth[k + 1]!, places[k + 2]! - truth[k + 2]!);
  return sum / (truth.length / 3);
}

/** Poses in the plane as the engine stores them. */
const stored = (poses: readonly Pose[]): Float64Array => Float64Array.from(poses.flatMap(([angle, x, y]) => [Math.cos(angle), Math.sin(angle), x, y]));

/** A robot that drives in the plane; with 3,500 poses in streets it is like the M3500 of Olson. */
export function planeWorld(world: PlaneWorld, count: number, outliers: number): World {
  const { truth, edges, measured, wrong, driven } = makeGraph(world, count, outliers);
  return graphWorld({ name: world, width: 4, start: stored(driven), edges, motions: stored(measured), wrong, truth: Float64Array.from(truth.flatMap(([, x, y]) => [x, y, 0])) });
}

const SPHERE = { radius: 5, place: 0.03, turn: 0.012, seed: 424243 };

/** A robot that winds around a sphere, as in sphere2500: measured from pose to pose, and from each pose to the one a round above. */
export function sphereWorld(count: number, outliers: number): World {
  const laps = Math.max(4, Math.round(Math.sqrt(count))), total = laps * laps, { normal, point, uniform } = random(SPHERE.seed);
  const truth: Motion[] = Array.from({ length: total }, (_, k) => {
    const up = Math.PI * ((k + 0.5) / total - 0.5) * 0.9, q = timesTurns([0, 0, (2 * Math.PI * k) / laps], [0, -up, 0]);
    return { q, t: rotate(q, [SPHERE.radius, 0, 0]) };
  });
  const edges: [number, number][] = [], measured: Motion[] = [], wrong: number[] = [];
  const measure = (a: number, b: number, motion: Motion, isWrong: 0 | 1) => {
    edges.push([a, b]);
    measured.push(times(motion, { q: fromAngleAxis(point(SPHERE.turn)), t: point(SPHERE.place) }));
    wrong.push(isWrong);
  };
  for (let k = 1; k < total; k++) measure(k - 1, k, from(truth[k - 1]!, truth[k]!), 0);
  for (let k = laps; k < total; k++) measure(k - laps, k, from(truth[k - laps]!, truth[k]!), 0);
  for (let k = Math.round(outliers * (total - laps)); k > 0; k--) {
    const [a, b] = [Math.floor(uniform() * total), Math.floor(uniform() * total)];
    if (Math.abs(a - b) >= 2) measure(Math.min(a, b), Math.max(a, b), { q: fromAngleAxis(point(1)), t: [2 * normal(), 2 * normal(), 2 * normal()] }, 1);
  }
  const driven = [truth[0]!];
  for (let k = 1; k < total; k++) driven.push(times(driven[k - 1]!, measured[k - 1]!));
  // Half the rotation vector is the quaternion's: twice the latter has the deviation of the former.
  const diagonal = [1 / SPHERE.place, 1 / SPHERE.place, 1 / SPHERE.place, 1 / SPHERE.turn, 1 / SPHERE.turn, 1 / SPHERE.turn], root = diagonal.flatMap((value, i) => [value, ...new Array<number>(5 - i).fill(0)]);
  const flat = (list: readonly Motion[]) => Float64Array.from(list.flatMap(({ q, t }) => [...q, ...t]));
  return graphWorld({ name: "sphere", width: 7, start: flat(driven), edges, motions: flat(measured), roots: Float64Array.from(edges.flatMap(() => root)), wrong: Uint8Array.from(wrong), truth: Float64Array.from(truth.flatMap(({ t }) => t)) });
}

const timesTurns = (a: Point, b: Point): Motion["q"] => times({ q: fromAngleAxis(a), t: [0, 0, 0] }, { q: fromAngleAxis(b), t: [0, 0, 0] }).q;

/** Views of points by cameras, as in "Bundle Adjustment in the Large". */
export interface Bundle {
  readonly name: string;
  /** Rows of a rotation vector, a translation, a focal length and two coefficients of distortion. */
  readonly cameras: Float64Array;
  readonly points: Float64Array;
  /** Rows of a camera and a point; and the pixels at which it sees it. */
  readonly pairs: Uint32Array;
  readonly seen: Float64Array;
  readonly wrong?: Uint8Array;
}

const BUNDLE_CODE = `// In scope: problem, camera (rotation vector, translation, focal length, two coefficients
// of distortion), point, pairs (of a camera and a point), seen (pixels), weight (of each view).
// A camera looks along −z (Agarwal et al. 2010, Bundle Adjustment in the Large).
problem.residuals("views", { over: pairs, of: [camera, point], data: { seen: column(seen, 2) }, weight }, ([c, x], { seen }) => {
  const part = (k) => vec(c.at(k), c.at(k + 1), c.at(k + 2));
  const p = fromAngleAxis(part(0)).rotate(x).add(part(3)), image = p.xy.div(p.z.neg()), square = image.normSq();
  return image.mul(square.mul(c.at(8)).add(c.at(7)).mul(square).add(1).mul(c.at(6))).sub(seen);
});`;

/** Pixels that a right view is off at most: four standard deviations of half a pixel, and as much again. */
const PIXELS = 4;

export function bundleWorld({ name, cameras, points, pairs, seen, wrong }: Bundle): World {
  const count = cameras.length / 9, views = pairs.length / 2;
  return {
    name, space: 3, suspects: "views", threshold: PIXELS, links: new Uint32Array(), count: views, wrong, way: false, truth: undefined, code: BUNDLE_CODE,
    tables: { camera: { width: 9, values: cameras }, point: { width: 3, values: points } },
    scope: { pairs, seen, weight: new Float64Array(views).fill(1) },
    poses: count,
    places: ([cameras, points]) => {
      const places = new Float64Array(3 * count + points!.length);
      for (let c = 0; c < count; c++) {
        const at = (k: number) => cameras![9 * c + k]!, back = conjugate(fromAngleAxis([at(0), at(1), at(2)]));
        places.set(scaled(rotate(back, [at(3), at(4), at(5)]), -1), 3 * c);
      }
      places.set(points as Float64Array, 3 * count);
      return places;
    },
    said: (_, cost) => `${counted(count, "camera")}, ${counted(points.length / 3, "point")}, ${counted(views, "view")}${cost === undefined ? "" : ` · ${Math.sqrt((2 * cost) / views).toFixed(2)} pixels off (RMS)`}`,
  };
}

/** A world in a problem: its tables, the terms that the code made, and where the first pose is held. */
export interface Placed { readonly tables: readonly Variables<unknown>[]; readonly made: Made[] }

/** Puts a world into a problem, with a visitor's code in place of its own. */
export async function place(problem: Problem, { tables, scope, code }: World, edited: string): Promise<Placed> {
  const made = Object.entries(tables).map(([name, { width, values }]) => [name, problem.variables(name, { shape: name === "pose" ? (width === 4 ? se2 : se3) : width, values }) as Variables<unknown>] as const);
  for (const [name, table] of made) if (name === "pose") table.fix([0]);
  return { tables: made.map(([, table]) => table), made: await runCode(edited, code, problem, { ...Object.fromEntries(made), ...scope }) };
}
