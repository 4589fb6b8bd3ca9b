/** The loss curve: every step's loss, their mean, and how many digits are named right after each epoch. */
import { colour as colourOf, onTheme } from "../shell/theme.js";
import type { Session } from "./session.js";

/** Colours as the theme has them now. */
const palette = () => ({ grid: colourOf("line"), text: colourOf("muted"), raw: `${colourOf("series-1")}55`, mean: colourOf("series-1"), test: colourOf("series-2") });
/** Losses that are marked, as far as they are in sight; the axis is logarithmic. */
const MARKS = [10, 3, 1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001];
const ROOM = { left: 44, right: 16, top: 30, bottom: 34 };

/** What there is to draw. */
export type Curve = Pick<Session, "curve" | "smoothed" | "tests" | "total">;

const NOTHING: Curve = { curve: [], smoothed: [], tests: [], total: 100 };

export class Chart {
  #shown: Curve = NOTHING;
  #asked = false;

  constructor(readonly canvas: HTMLCanvasElement) {
    new ResizeObserver(() => this.show(this.#shown)).observe(canvas);
    onTheme(() => this.show(this.#shown));
  }

  /** Draws a session in the next frame. */
  show(curve: Curve): void {
    this.#shown = curve;
    if (this.#asked) return;
    this.#asked = true;
    requestAnimationFrame(() => {
      this.#asked = false;
      this.#draw();
    });
  }

  #draw(): void {
    const { canvas } = this, { clientWidth: width, clientHeight: height } = canvas;
    const ratio = Math.min(devicePixelRatio, 3), context = canvas.getContext("2d")!;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    context.scale(ratio, ratio);
    context.font = "12px system-ui, sans-serif";
    const { curve, smoothed, tests, total } = this.#shown, colours = palette();
    const [low, high] = sight(curve);
    const x = (step: number) => ROOM.left + (step / total) * (width - ROOM.left - ROOM.right);
    const y = (loss: number) => ROOM.top + (Math.log(high / Math.min(Math.max(loss, low), high)) / Math.log(high / low)) * (height - ROOM.top - ROOM.bottom);
    const text = (words: string, at: readonly [number, number], align: CanvasTextAlign, colour = colours.text) => {
      context.fillStyle = colour;
      context.textAlign = align;
      context.fillText(words, ...at);
    };
    const line = (points: readonly (readonly [number, number])[], colour: string, thickness: number, dash: number[] = []) => {
      context.beginPath();
      for (const point of points) context.lineTo(...point);
      Object.assign(context, { strokeStyle: colour, lineWidth: thickness, lineJoin: "round" });
      context.setLineDash(dash);
      context.stroke();
    };

    for (const mark of MARKS.filter((mark) => mark >= low && mark <= high)) {
      line([[ROOM.left, y(mark)], [width - ROOM.right, y(mark)]], colours.grid, 1);
      text(String(mark), [ROOM.left - 8, y(mark) + 4], "right");
    }
    for (const step of marksOf(total, width)) text(step.toLocaleString("en"), [x(step), height - ROOM.bottom + 18], "center");
    text("loss", [8, 18], "left");
    text("steps", [width - ROOM.right, height - 3], "right");

    const narrow = width < 80 * tests.length;
    for (const { step, accuracy } of tests) {
      line([[x(step), ROOM.top], [x(step), height - ROOM.bottom]], colours.test, 1, [3, 4]);
      const isLast = step === total;
      text(`${(100 * accuracy).toFixed(1)}${narrow ? "" : " %"}`, [x(step) + (isLast ? ROOM.right - 4 : 0), 18], isLast ? "right" : "center", colours.test);
    }
    line(curve.map((loss, k) => [x(k + 1), y(loss)] as const), colours.raw, 1);
    line(smoothed.map((loss, k) => [x(k + 1), y(loss)] as const), colours.mean, 2);
  }
}

/** The losses in sight: a little more than there are, and as wide as it has to be not to jump about. */
function sight(curve: readonly number[]): [number, number] {
  let [low, high] = [0.2, 3];
  for (const loss of curve) {
    low = Math.min(low, loss);
    high = Math.max(high, loss);
  }
  const below = MARKS.find((mark) => mark <= low) ?? 0.001;
  return [below, high];
}

/** Round numbers of steps, a few. */
function marksOf(total: number, width: number): number[] {
  const most = Math.max(2, Math.floor(width / 90));
  const size = [10, 20, 50, 100, 200, 500, 1000].find((size) => total / size <= most) ?? 2000;
  return Array.from({ length: Math.floor(total / size) + 1 }, (_, k) => k * size);
}
