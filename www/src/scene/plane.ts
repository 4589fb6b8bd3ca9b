/** A plane to draw on: coordinates, axes, and a canvas as sharp as the screen. */
import { el } from "../shell/dom.js";
import { mark } from "../shell/marks.js";
import { colour, onTheme } from "../shell/theme.js";

export interface Range { readonly x: readonly [number, number]; readonly y: readonly [number, number] }

export class Plane {
  readonly canvas = el("canvas", { tabIndex: 0 });
  range: Range = { x: [0, 1], y: [0, 1] };
  /** Pixels of CSS around what is drawn. */
  margin = { left: 46, right: 16, top: 16, bottom: 30 };
  width = 1;
  height = 1;
  #asked = 0;

  /** `draw` is called when a picture is due: with a context in pixels of CSS. `equal`: units of both axes have one length. */
  constructor(stage: HTMLElement, label: string, private readonly paint: (context: CanvasRenderingContext2D) => void, private readonly equal = false) {
    this.canvas.setAttribute("aria-label", label);
    stage.append(this.canvas);
    new ResizeObserver(() => {
      this.width = Math.max(1, stage.clientWidth);
      this.height = Math.max(1, stage.clientHeight);
      this.redraw();
    }).observe(stage);
    onTheme(() => this.redraw());
  }

  redraw(): void {
    this.#asked ||= requestAnimationFrame(() => {
      this.#asked = 0;
      const ratio = devicePixelRatio, { canvas, width, height } = this;
      if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
      }
      const context = canvas.getContext("2d")!;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, width, height);
      context.font = "12px system-ui, sans-serif";
      context.lineJoin = "round";
      this.paint(context);
      mark("picture");
    });
  }

  #scales(): { sx: number; sy: number; ox: number; oy: number } {
    const { left, right, top, bottom } = this.margin, { x, y } = this.range;
    let sx = (this.width - left - right) / (x[1] - x[0] || 1), sy = (this.height - top - bottom) / (y[1] - y[0] || 1), ox = left, oy = this.height - bottom;
    if (this.equal) {
      const s = Math.min(sx, sy);
      ox += ((sx - s) * (x[1] - x[0])) / 2;
      oy -= ((sy - s) * (y[1] - y[0])) / 2;
      sx = sy = s;
    }
    return { sx, sy, ox, oy };
  }

  to(x: number, y: number): [number, number] {
    const { sx, sy, ox, oy } = this.#scales();
    return [ox + (x - this.range.x[0]) * sx, oy - (y - this.range.y[0]) * sy];
  }

  /** The same of many points, given as x y x y …. */
  all(points: ArrayLike<number>): Float32Array {
    const { sx, sy, ox, oy } = this.#scales(), { x: [left], y: [low] } = this.range, found = new Float32Array(points.length);
    for (let k = 0; k < points.length; k += 2) {
      found[k] = ox + (points[k]! - left) * sx;
      found[k + 1] = oy - (points[k + 1]! - low) * sy;
    }
    return found;
  }

  /** Coordinates of a point of the window. */
  from(event: { clientX: number; clientY: number }): [number, number] {
    const box = this.canvas.getBoundingClientRect(), { sx, sy, ox, oy } = this.#scales();
    return [(event.clientX - box.left - ox) / sx + this.range.x[0], (oy - event.clientY + box.top) / sy + this.range.y[0]];
  }

  /** Where coordinates are in the window. */
  onScreen(x: number, y: number): { x: number; y: number } {
    const box = this.canvas.getBoundingClientRect(), [px, py] = this.to(x, y);
    return { x: px + box.left, y: py + box.top };
  }

  /** Units of a CSS pixel. */
  get unit(): number { return 1 / this.#scales().sx; }

  axes(context: CanvasRenderingContext2D): void {
    const { left, right, top, bottom } = this.margin;
    context.strokeStyle = colour("line");
    context.fillStyle = colour("muted");
    context.lineWidth = 1;
    for (const value of ticks(this.range.x, (this.width - left - right) / 80)) {
      const [at] = this.to(value, 0);
      line(context, [[Math.round(at) + 0.5, top], [Math.round(at) + 0.5, this.height - bottom]]);
      context.textAlign = "center";
      context.fillText(say(value), at, this.height - bottom + 17);
    }
    for (const value of ticks(this.range.y, (this.height - top - bottom) / 50)) {
      const [, at] = this.to(0, value);
      line(context, [[left, Math.round(at) + 0.5], [this.width - right, Math.round(at) + 0.5]]);
      context.textAlign = "right";
      context.fillText(say(value), left - 7, at + 4);
    }
  }
}

export function line(context: CanvasRenderingContext2D, points: readonly (readonly [number, number])[], { close = false, fill = false } = {}): void {
  context.beginPath();
  points.forEach(([x, y], k) => context[k ? "lineTo" : "moveTo"](x, y));
  if (close) context.closePath();
  if (fill) context.fill();
  else context.stroke();
}

const say = (value: number) => String(Number(value.toPrecision(6)));

/** Round numbers within a range, about so many. */
function ticks([low, high]: readonly [number, number], about: number): number[] {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [];
  const raw = span / Math.max(2, about), power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].map((k) => k * power).find((one) => one >= raw)!;
  return Array.from({ length: Math.floor(high / step) - Math.ceil(low / step) + 1 }, (_, k) => (Math.ceil(low / step) + k) * step);
}

/** The range of values, with some room around it. */
export function around(values: readonly number[], room = 0.08): [number, number] {
  const low = Math.min(...values), high = Math.max(...values), more = (high - low || Math.abs(high) || 1) * room;
  return [low - more, high + more];
}
