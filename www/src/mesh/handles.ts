/** Handles: groups of vertices that are held, moved and turned; as text in the page's state. */
import * as THREE from "three/webgpu";

/** Vertices, how far their middle is from where it is at rest, and how they are turned around it. */
export interface Handle {
  readonly v: readonly number[];
  readonly t: readonly [number, number, number];
  readonly q: readonly [number, number, number, number];
}

const UNTURNED = [0, 0, 0, 1] as const;
/** Share of the height that is held at the base, and that moves at the top, where nothing else was chosen. */
const BASE = 0.05;
const TOP = 0.86;

const rounded = (value: number) => Number(value.toFixed(4));

export const write = (handles: readonly Handle[]): string => JSON.stringify(handles.map(({ v, t, q }) => [v, t.map(rounded), q.map(rounded)]));

/** What a state says, as far as it makes sense for so many vertices; handles of the base and the top for an empty text. */
export function parse(text: string, positions: Float64Array): Handle[] {
  if (!text) return automatic(positions);
  const count = positions.length / 3, numbers = (list: unknown, length: number): list is number[] => Array.isArray(list) && list.length === length && list.every((one) => Number.isFinite(one));
  let raw: unknown;
  try { raw = JSON.parse(text); } catch { return automatic(positions); }
  if (!Array.isArray(raw)) return automatic(positions);
  return raw.flatMap((one: unknown) => {
    const [v, t, q] = Array.isArray(one) ? one as unknown[] : [];
    const inside = Array.isArray(v) ? v.filter((at) => Number.isInteger(at) && at >= 0 && at < count) as number[] : [];
    return inside.length && numbers(t, 3) && numbers(q, 4) ? [{ v: inside, t: t as unknown as Handle["t"], q: q as unknown as Handle["q"] }] : [];
  });
}

function automatic(positions: Float64Array): Handle[] {
  const all = Array.from({ length: positions.length / 3 }, (_, v) => v), heights = all.map((v) => positions[3 * v + 1]!);
  const high = heights.reduce((a, b) => Math.max(a, b), 0);
  // A flat sheet on the ground is held at its left and right.
  const along = high > 0.2 ? heights : all.map((v) => positions[3 * v]! + 0.5 * 1.5), scale = high > 0.2 ? high : along.reduce((a, b) => Math.max(a, b), 0);
  const groups = [all.filter((v) => along[v]! < BASE * scale), all.filter((v) => along[v]! > TOP * scale)];
  return groups.filter((v) => v.length).map((v) => handleOf(v));
}

export const handleOf = (v: readonly number[], t: Handle["t"] = [0, 0, 0]): Handle => ({ v, t, q: UNTURNED });

/** The middle of a handle's vertices. */
export function middle({ v }: Pick<Handle, "v">, positions: ArrayLike<number>): THREE.Vector3 {
  const sum = new THREE.Vector3();
  for (const at of v) sum.add(new THREE.Vector3(positions[3 * at]!, positions[3 * at + 1]!, positions[3 * at + 2]!));
  return sum.divideScalar(v.length);
}

/** Writes where the vertices of all handles are to be, and which have a target at all. */
export function targets(handles: readonly Handle[], rest: Float64Array, target: Float32Array, pull: Float32Array, weight: number): void {
  pull.fill(0);
  const turn = new THREE.Quaternion(), p = new THREE.Vector3();
  for (const handle of handles) {
    const centre = middle(handle, rest);
    turn.fromArray(handle.q as unknown as number[]).normalize();
    for (const at of handle.v) {
      p.fromArray(rest, 3 * at).sub(centre).applyQuaternion(turn).add(centre);
      target.set([p.x + handle.t[0], p.y + handle.t[1], p.z + handle.t[2]], 3 * at);
      pull[at] = weight;
    }
  }
}

/** The balls at the middles of handles, and the ring to turn the chosen one by; all of one size on the screen. */
export class Knobs {
  readonly group = new THREE.Group();
  readonly #ball = new THREE.SphereGeometry(1, 24, 16);
  readonly #ring = new THREE.Mesh(new THREE.TorusGeometry(1, 0.045, 10, 64), knobMaterial());
  #balls: THREE.Mesh<THREE.SphereGeometry, THREE.MeshBasicMaterial>[] = [];
  static readonly BALL = 9;
  static readonly RING = 46;
  /** Half of what a finger needs. */
  static readonly REACH = 22;

  constructor() { this.#ring.renderOrder = 2; this.group.add(this.#ring); }

  get places(): readonly THREE.Vector3[] { return this.#balls.map(({ position }) => position); }

  show(handles: readonly Handle[], rest: Float64Array, selected: number, colours: { pin: string; handle: string }): void {
    while (this.#balls.length > handles.length) this.group.remove(this.#balls.pop()!);
    while (this.#balls.length < handles.length) {
      const ball = new THREE.Mesh(this.#ball, knobMaterial());
      ball.renderOrder = 3;
      this.#balls.push(ball);
      this.group.add(ball);
    }
    handles.forEach((handle, k) => {
      const ball = this.#balls[k]!;
      ball.position.copy(middle(handle, rest)).add(new THREE.Vector3(...handle.t));
      ball.material.color.set(k === selected ? colours.handle : colours.pin);
    });
    const chosen = this.#balls[selected];
    this.#ring.visible = chosen !== undefined;
    if (chosen) this.#ring.position.copy(chosen.position);
    this.#ring.material.color.set(colours.handle);
  }

  /** Before a picture: sizes and the ring's direction. */
  face(camera: THREE.Camera, pixel: (at: THREE.Vector3) => number): void {
    for (const ball of this.#balls) ball.scale.setScalar(Knobs.BALL * pixel(ball.position));
    this.#ring.scale.setScalar(Knobs.RING * pixel(this.#ring.position));
    this.#ring.quaternion.copy(camera.quaternion);
  }
}

const knobMaterial = () => new THREE.MeshBasicMaterial({ depthTest: false, transparent: true, opacity: 0.92 });
