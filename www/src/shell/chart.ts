/** The chart of costs by term over the steps, with a logarithmic axis. */
import { el } from "./dom.js";
import { colour, onTheme } from "./theme.js";

const KEPT = 400;
const COLOURS = ["series-1", "series-2", "series-3", "series-4", "series-5"];
/** Costs below this share of the greatest one are at the bottom. */
const DECADES = 8;

export class Chart {
  readonly element: HTMLElement;
  readonly #canvas = el("canvas", { class: "chart", role: "img", "aria-label": "Cost of every term over the steps" });
  readonly #legend = el("ul", { class: "legend" });
  #points: { step: number; costs: { readonly [term: string]: number } }[] = [];

  constructor() {
    this.element = el("div", {}, this.#canvas, this.#legend);
    new ResizeObserver(() => this.#draw()).observe(this.#canvas);
    onTheme(() => this.#draw());
  }

  /** Points that are shown. */
  get length(): number { return this.#points.length; }

  clear(): void { this.#points = []; this.#draw(); }

  push(step: number, costs: { readonly [term: string]: number }): void {
    // After a rewind the later points are those of a future that was left.
    while (this.#points.length && this.#points.at(-1)!.step >= step) this.#points.pop();
    this.#points.push({ step, costs });
    if (this.#points.length > KEPT) this.#points = this.#points.filter((_, k) => k % 2 === 0 || k > KEPT / 2);
    this.#draw();
  }

  #draw(): void {
    const { clientWidth: width, clientHeight: height } = this.#canvas, ratio = devicePixelRatio;
    if (!width || !height) return;
    this.#canvas.width = width * ratio;
    this.#canvas.height = height * ratio;
    const context = this.#canvas.getContext("2d")!;
    context.scale(ratio, ratio);
    context.font = "11px system-ui, sans-serif";
    const terms = [...new Set(this.#points.flatMap(({ costs }) => Object.keys(costs)))];
    const values = this.#points.flatMap(({ costs }) => Object.values(costs)).filter((value) => value > 0);
    const high = Math.ceil(Math.log10(Math.max(...values, 1e-12))), low = Math.max(high - DECADES, Math.floor(Math.log10(Math.min(...values, 10 ** high / 10))));
    const [left, bottom] = [38, height - 18], last = this.#points.at(-1)?.step ?? 1, first = this.#points[0]?.step ?? 0;
    const x = (step: number) => left + ((step - first) / Math.max(1, last - first)) * (width - left - 8);
    const y = (cost: number) => 6 + ((high - Math.max(low, Math.log10(Math.max(cost, 1e-300)))) / Math.max(1, high - low)) * (bottom - 6);
    context.strokeStyle = colour("line");
    context.fillStyle = colour("muted");
    context.textAlign = "right";
    for (let decade = low; decade <= high; decade += Math.max(1, Math.ceil((high - low) / 5))) {
      const at = Math.round(y(10 ** decade)) + 0.5;
      context.beginPath();
      context.moveTo(left, at);
      context.lineTo(width - 8, at);
      context.stroke();
      context.fillText(`1e${decade}`, left - 5, at + 4);
    }
    context.fillText(`step ${last.toLocaleString("en")}`, width - 8, height - 4);
    terms.forEach((term, k) => {
      context.strokeStyle = colour(COLOURS[k % COLOURS.length]!);
      context.lineWidth = 1.75;
      context.beginPath();
      this.#points.forEach(({ step, costs }, at) => context[at ? "lineTo" : "moveTo"](x(step), y(costs[term] ?? 0)));
      context.stroke();
    });
    const shown = this.#points.at(-1)?.costs;
    this.#legend.replaceChildren(...terms.map((term, k) => el("li", { style: `--key: var(--${COLOURS[k % COLOURS.length]})` }, term, el("span", {}, (shown?.[term] ?? 0).toPrecision(3)))));
  }
}
