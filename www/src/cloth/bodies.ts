/** Bodies that the cloth falls on: a sphere, and a bunny that is covered by balls which touch its surface from within. */
import { select, type Engine, type Problem, type Table, type Variables, type Vec3 } from "leastwise";
import { formulas } from "leastwise/energies";
import { boundingBox } from "leastwise/mesh";
import * as THREE from "three/webgpu";
import { normalsOnHost } from "../scene/normals.js";

/** Distance at which the barrier of a contact begins. */
export const RANGE = 0.02;
/** Weight of the barriers. */
export const HARDNESS = 300;
/** A surface is drawn so much below the one that vertices keep off, since edges between them cut corners. */
const SKIN = 0.012;
/** Friction, relative to inertia: a vertex that slides loses about this share of its velocity in a frame. */
const FRICTION = 0.7;
/** Smallest ball: a vertex of the cloth must not pass a thin ear within one frame. */
const THIN = 0.03;
/** Distance from a ball's surface within which vertices of the mesh count as covered by it. */
const COVERED = 0.014;
/** Every so many vertices of the mesh propose a ball. */
const EVERY = 3;
const HEIGHT = 0.66;

export interface Body {
  /** Centre and radius of each ball. */
  readonly balls: readonly (readonly [x: number, y: number, z: number, radius: number])[];
  readonly object: THREE.Object3D;
  readonly note?: string;
}

export const isBody = (scene: string): boolean => scene === "sphere" || scene === "bunny";

/** The body of a scene, if it has one. */
export async function bodyOf(scene: string, engine: Engine, size: number): Promise<Body | undefined> {
  if (scene === "sphere") return sphere();
  return scene === "bunny" ? bunny(ballsFor(engine, size)) : undefined;
}

/** Number of balls: contacts are pairs of a vertex and a ball, so a finer cloth meets fewer of them. */
const ballsFor = (engine: Engine, size: number): number => (!engine.device ? 24 : size <= 64 ? 48 : size <= 128 ? 32 : 16);

const surface = (color: number): THREE.MeshStandardMaterial => new THREE.MeshStandardMaterial({ color, roughness: 0.5 });

function sphere(): Body {
  const [y, radius] = [0.42, 0.28], object = new THREE.Mesh(new THREE.SphereGeometry(radius - SKIN, 48, 32), surface(0x5b7bd6));
  object.position.y = y;
  return { balls: [[0, y, 0, radius]], object };
}

async function bunny(count: number): Promise<Body> {
  const { generate } = await import("../scene/meshes.js"), { mesh } = generate("bunny");
  const { min, max } = boundingBox(mesh), scale = HEIGHT / (max[1]! - min[1]!);
  const positions = Float32Array.from(mesh.positions, (value) => value * scale), normals = new Float32Array(positions.length);
  const triangles = Uint32Array.from(mesh.triangles);
  normalsOnHost(positions, triangles, normals);
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(positions, 3));
  geometry.setAttribute("normal", new THREE.BufferAttribute(normals, 3));
  geometry.setIndex(new THREE.BufferAttribute(triangles, 1));
  const balls = cover(positions, normals, count);
  return { balls: balls.map(([x, y, z, radius]) => [x, y, z, Math.max(radius, THIN) + SKIN] as const), object: new THREE.Mesh(geometry, surface(0xb08968)), note: `Contact with the bunny is with ${balls.length} balls that touch it from within.` };
}

/**
 * Balls that touch the surface from within and together cover most of its vertices. Candidates are the shrinking balls of Ma, Bae and Choi
 * (2012), which approximate the medial axis; each round takes the one that covers the most vertices not covered yet.
 */
function cover(positions: ArrayLike<number>, normals: ArrayLike<number>, most: number): [number, number, number, number][] {
  const count = positions.length / 3, candidates: [number, number, number, number][] = [];
  for (let v = 0; v < count; v += EVERY) candidates.push(shrink(positions, normals, v));
  const reach = candidates.map(([x, y, z, radius]) => {
    const near: number[] = [];
    for (let k = 0; k < count; k++) {
      const distance = Math.hypot(positions[3 * k]! - x, positions[3 * k + 1]! - y, positions[3 * k + 2]! - z);
      if (distance - Math.max(radius, THIN) < COVERED) near.push(k);
    }
    return near;
  });
  const covered = new Uint8Array(count), chosen: [number, number, number, number][] = [];
  while (chosen.length < most) {
    const gains = reach.map((near) => near.reduce((sum, v) => sum + (covered[v] ? 0 : 1), 0)), best = gains.indexOf(Math.max(...gains));
    if (!gains[best]) break;
    chosen.push(candidates[best]!);
    for (const v of reach[best]!) covered[v] = 1;
  }
  return chosen;
}

/** The largest ball inside that touches the surface at a vertex: shrunk until no other vertex is within. */
function shrink(positions: ArrayLike<number>, normals: ArrayLike<number>, v: number): [number, number, number, number] {
  const [px, py, pz] = [positions[3 * v]!, positions[3 * v + 1]!, positions[3 * v + 2]!], [nx, ny, nz] = [normals[3 * v]!, normals[3 * v + 1]!, normals[3 * v + 2]!];
  let radius = HEIGHT / 2;
  for (let round = 0; round < 12; round++) {
    const [cx, cy, cz] = [px - radius * nx, py - radius * ny, pz - radius * nz];
    let nearest = v, least = radius * radius * (1 - 1e-4);
    for (let k = 0; k < positions.length; k += 3) {
      const squared = (positions[k]! - cx) ** 2 + (positions[k + 1]! - cy) ** 2 + (positions[k + 2]! - cz) ** 2;
      if (squared < least) { least = squared; nearest = k / 3; }
    }
    if (nearest === v) break;
    const [dx, dy, dz] = [px - positions[3 * nearest]!, py - positions[3 * nearest + 1]!, pz - positions[3 * nearest + 2]!];
    const along = dx * nx + dy * ny + dz * nz;
    if (along <= 0) break;
    radius = (dx * dx + dy * dy + dz * dz) / (2 * along);
  }
  return [px - radius * nx, py - radius * ny, pz - radius * nz, radius];
}

/**
 * Contact of all vertices with all balls, by log barriers, and friction that is lagged: vertices that were in contact at the last frame pay
 * for what they move along the surface since then.
 */
export function touch(problem: Problem, { balls }: Body, { x, last, inertia }: { readonly x: Variables<Vec3>; readonly last: Table<Vec3>; /** m/h² of a vertex. */ readonly inertia: number }): void {
  const centres = problem.constants("balls", { shape: 3, values: balls.flatMap(([cx, cy, cz]) => [cx, cy, cz]) });
  const pairs = new Uint32Array(2 * x.count * balls.length), radius = new Float32Array(x.count * balls.length);
  for (let v = 0, k = 0; v < x.count; v++) for (let b = 0; b < balls.length; b++, k++) { pairs[2 * k] = v; pairs[2 * k + 1] = b; radius[k] = balls[b]![3]; }
  problem.energy("contact", { over: pairs, of: [x, centres, last.at(0)], data: { radius, range: RANGE, grip: FRICTION * inertia / HARDNESS }, weight: HARDNESS }, ([p, centre, before], { radius, range, grip }) => {
    const out = before.sub(centre), distance = out.norm(), way = p.sub(before), along = way.dot(out).div(distance);
    const sliding = way.normSq().sub(along.square()).mul(grip).mul(0.5);
    return formulas.sphereContact([p], { center: centre, radius, range }).add(select(distance.sub(radius).lt(range), sliding, 0));
  });
}
