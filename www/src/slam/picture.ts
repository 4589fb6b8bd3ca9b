/** A world's picture: places as they are between two steps, in the plane or turned in space, with links and ellipses. */
import { calm, colour } from "../shell/theme.js";
import { around, line, Plane } from "../scene/plane.js";
import type { World } from "./worlds.js";

/** Milliseconds in which the picture moves from one step to the next; nobody waits for them who asked for less motion. */
export const filmMs = (): number => (calm() ? 0 : 220);
/** Points of a bundle that are drawn at most. */
const MOST_POINTS = 12_000;
/** Ellipses that are drawn at most. */
const MOST_ELLIPSES = 160;
/** Share of places at either end that the frame of a bundle leaves out: some are far away. */
const FAR = 0.02;
/** Radians of a pixel that is dragged, and of a key. */
const DRAG = 0.008, KEY = 0.12;

export class Picture {
  readonly plane: Plane;
  world: World | undefined;
  /** What each suspect weighs. */
  weights: ArrayLike<number> | undefined;
  /** Covariances of the poses' numbers, for a plane. */
  ellipses: Float64Array | undefined;
  /** Links that were drawn as believed, and as not. */
  drawn = { links: 0, without: 0, points: 0 };
  #places: Float64Array = new Float64Array();
  #from: Float64Array = new Float64Array();
  #shown: Float64Array = new Float64Array();
  #moved = 0;
  #yaw = 0.6;
  #pitch = 0.45;
  /** True once a drag turned the view: then it was no click. */
  #turned = false;

  constructor(stage: HTMLElement, private readonly on: { redraw(): void; click(event: MouseEvent): void }) {
    this.plane = new Plane(stage, "The robot's way and the places that it recognised, or cameras and the points that they see", (context) => this.#paint(context), true);
    this.plane.margin = { left: 18, right: 18, top: 18, bottom: 18 };
    const { canvas } = this.plane;
    let last: { x: number; y: number; id: number } | undefined;
    canvas.addEventListener("pointerdown", (event) => { last = { x: event.clientX, y: event.clientY, id: event.pointerId }; this.#turned = false; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointermove", (event) => {
      if (last?.id !== event.pointerId || this.world?.space !== 3) return;
      const [dx, dy] = [event.clientX - last.x, event.clientY - last.y];
      if (!this.#turned && Math.hypot(dx, dy) < 4) return;
      this.#turned = true;
      last = { ...last, x: event.clientX, y: event.clientY };
      this.turn(DRAG * dx, DRAG * dy);
    });
    for (const name of ["pointerup", "pointercancel"] as const) canvas.addEventListener(name, () => { last = undefined; });
    canvas.addEventListener("click", (event) => { if (!this.#turned) this.on.click(event); });
    canvas.addEventListener("keydown", (event) => {
      const turn = { ArrowLeft: [-KEY, 0], ArrowRight: [KEY, 0], ArrowUp: [0, -KEY], ArrowDown: [0, KEY] }[event.key] as [number, number] | undefined;
      if (!turn || this.world?.space !== 3) return;
      event.preventDefault();
      this.turn(...turn);
    });
  }

  /** Turns the view of a space. */
  turn(yaw: number, pitch: number): void {
    this.#yaw += yaw;
    this.#pitch = Math.max(-1.5, Math.min(1.5, this.#pitch + pitch));
    this.#range(1);
    this.plane.redraw();
  }

  /** Shows a world where it begins. */
  show(world: World, places: Float64Array): void {
    this.world = world;
    this.weights = this.ellipses = undefined;
    this.plane.canvas.style.touchAction = world.space === 3 ? "none" : "";
    this.#places = this.#from = this.#shown = places;
    this.#range(1);
    this.plane.redraw();
  }

  /** Places after a step: the picture moves there. */
  take(places: Float64Array): void {
    this.#from = calm() ? places : this.#shown;
    this.#places = places;
    this.#moved = performance.now();
    this.ellipses = undefined;
  }

  /** One picture; true while it still moves. */
  draw(now: number): boolean {
    const share = Math.min(1, (now - this.#moved) / Math.max(1, filmMs())), eased = share * (2 - share), { world } = this;
    this.#shown = share < 1 ? this.#places.map((value, k) => this.#from[k]! + (value - this.#from[k]!) * eased) : this.#places;
    if (world) this.#range(calm() ? 1 : 0.15);
    this.plane.redraw();
    return share < 1;
  }

  /** The suspect whose link is nearest to a click, if one is near. */
  nearest(event: MouseEvent, within = 12): number | undefined {
    const { links } = this.world!, box = this.plane.canvas.getBoundingClientRect(), at = [event.clientX - box.left, event.clientY - box.top] as const;
    let best: number | undefined, least = within;
    for (let k = 0; k < links.length / 2; k++) {
      const p = this.#place(links[2 * k]!), q = this.#place(links[2 * k + 1]!), d = [q[0] - p[0], q[1] - p[1]] as const, length = d[0] ** 2 + d[1] ** 2 || 1;
      const t = Math.min(1, Math.max(0, ((at[0] - p[0]) * d[0] + (at[1] - p[1]) * d[1]) / length)), far = Math.hypot(at[0] - p[0] - t * d[0], at[1] - p[1] - t * d[1]);
      if (far < least) { least = far; best = k; }
    }
    return best;
  }

  /** Coordinates in the plane of the screen: from above, or turned. */
  #flat(places: Float64Array, k: number): [number, number] {
    const [x, y, z] = [places[3 * k]!, places[3 * k + 1]!, places[3 * k + 2]!];
    if (this.world!.space === 2) return [x, y];
    // A sphere of poses stands on its z axis, a bundle on its y axis.
    const [right, up, deep] = this.world!.way ? [x, z, -y] : [x, y, z];
    const [cos, sin] = [Math.cos(this.#yaw), Math.sin(this.#yaw)], away = -sin * right + cos * deep;
    return [cos * right + sin * deep, Math.cos(this.#pitch) * up - Math.sin(this.#pitch) * away];
  }

  #place(k: number): [number, number] { return this.plane.to(...this.#flat(this.#shown, k)); }

  /** Has the frame follow what is shown, by a share of the way, so that the eye can. */
  #range(share: number): void {
    const { truth, way } = this.world!, x: number[] = [], y: number[] = [];
    for (const list of truth ? [this.#shown, truth] : [this.#shown]) {
      const count = list.length / 3, step = Math.max(1, Math.floor(count / 4000));
      for (let k = 0; k < count; k += step) { const [u, v] = this.#flat(list, k); x.push(u); y.push(v); }
    }
    const within = (values: number[]) => {
      if (way) return around(values, 0.03);
      const sorted = values.sort((a, b) => a - b), out = Math.floor(FAR * sorted.length);
      return around(sorted.slice(out, sorted.length - out), 0.08);
    };
    const [x0, x1] = within(x), [y0, y1] = within(y), old = this.plane.range, follow = (from: number, to: number) => from + share * (to - from);
    this.plane.range = { x: [follow(old.x[0], x0), follow(old.x[1], x1)], y: [follow(old.y[0], y0), follow(old.y[1], y1)] };
  }

  #paint(context: CanvasRenderingContext2D): void {
    const { world } = this;
    this.drawn = { links: 0, without: 0, points: 0 };
    if (!world || !this.#shown.length) return;
    if (world.truth && world.space === 2) {
      context.strokeStyle = colour("line");
      context.lineWidth = 3;
      line(context, Array.from({ length: world.truth.length / 3 }, (_, k) => this.plane.to(...this.#flat(world.truth!, k))));
    }
    this.#links(context, world);
    if (!world.way) this.#cloud(context, world);
    context.strokeStyle = colour("series-1");
    context.lineWidth = world.space === 2 ? 1.8 : 1.3;
    if (world.way) line(context, Array.from({ length: world.poses }, (_, k) => this.#place(k)));
    if (this.ellipses?.length === 16 * world.poses) {
      context.strokeStyle = colour("series-4");
      context.lineWidth = 1;
      context.globalAlpha = 0.6;
      for (let k = 1; k < world.poses; k += Math.max(1, Math.floor(world.poses / MOST_ELLIPSES))) this.#ellipse(context, k, this.ellipses.subarray(16 * k, 16 * k + 16));
      context.globalAlpha = 1;
    }
    context.fillStyle = colour("handle");
    for (const k of world.way ? [world.poses - 1] : Array.from({ length: world.poses }, (_, k) => k)) {
      const [x, y] = this.#place(k);
      context.beginPath();
      context.arc(x, y, world.way ? 6 : 3.5, 0, 2 * Math.PI);
      context.fill();
    }
  }

  /** Links that are believed, and dashed those that are not; each in one stroke. */
  #links(context: CanvasRenderingContext2D, { links, space }: World): void {
    for (const believed of [true, false]) {
      context.strokeStyle = colour(believed ? "series-3" : "series-2");
      context.globalAlpha = believed ? (space === 2 ? 0.75 : 0.45) : 0.35;
      context.lineWidth = space === 2 ? 1.2 : 0.8;
      context.setLineDash(believed ? [] : [4, 4]);
      context.beginPath();
      for (let k = 0; k < links.length / 2; k++) {
        if ((this.weights?.[k] ?? 1) > 0.5 !== believed) continue;
        this.drawn[believed ? "links" : "without"]++;
        context.moveTo(...this.#place(links[2 * k]!));
        context.lineTo(...this.#place(links[2 * k + 1]!));
      }
      context.stroke();
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  #cloud(context: CanvasRenderingContext2D, { poses }: World): void {
    const count = this.#shown.length / 3 - poses, step = Math.max(1, Math.ceil(count / MOST_POINTS)), size = count > 4000 ? 1.6 : 3;
    context.fillStyle = colour("series-1");
    context.globalAlpha = 0.75;
    for (let k = 0; k < count; k += step) {
      const [x, y] = this.#place(poses + k);
      context.fillRect(x - size / 2, y - size / 2, size, size);
      this.drawn.points++;
    }
    context.globalAlpha = 1;
  }

  /** One standard deviation of a place: rows and columns x, y of a block of cos, sin, x, y. */
  #ellipse(context: CanvasRenderingContext2D, k: number, block: Float64Array): void {
    const [a, b, c] = [block[10]!, block[11]!, block[15]!], mean = (a + c) / 2, apart = Math.hypot((a - c) / 2, b), scale = 1 / this.plane.unit;
    const [x, y] = this.#place(k);
    context.beginPath();
    context.ellipse(x, y, scale * Math.sqrt(Math.max(0, mean + apart)), scale * Math.sqrt(Math.max(0, mean - apart)), -Math.atan2(2 * b, a - c) / 2, 0, 2 * Math.PI);
    context.stroke();
  }
}
