/** The palette page: the colours that stand for a picture best. */
import type { Engine } from "leastwise";
import { App, expose, type CommonState, type Page } from "../shell/app.js";
import { button, choice, el, note, section, slider } from "../shell/dom.js";
import { say, tell } from "../shell/notices.js";
import { Plane } from "../scene/plane.js";
import { fromOklab, hex, toOklab } from "./oklab.js";

export interface PaletteState extends CommonState {
  readonly picture: string;
  readonly colours: number;
  readonly seed: number;
  readonly show: string;
}

const PICTURES = [["sunset", "Sunset"], ["poppies", "Poppies"], ["harbour", "Harbour"]] as const;
const DEFAULTS: PaletteState = { backend: "cpu", code: "", picture: "sunset", colours: 8, seed: 1, show: "picture" };
/** Pixels that are clustered; all of them are coloured afterwards. */
const SAMPLE = 6000;
const LARGEST = 900;
const MOST_BYTES = 40 * 2 ** 20;

type Rgb = readonly [number, number, number];
interface Swatch { readonly rgb: Rgb; readonly lab: Rgb; readonly share: number }

class PalettePage implements Page<PaletteState> {
  palette: Swatch[] = [];
  energy = 0;
  /** Clusterings so far. */
  clusterings = 0;
  #image: ImageData | undefined;
  #own: ImageData | undefined;
  #sample = new Float32Array();
  #stop: AbortController | undefined;
  readonly #canvas = el("canvas", { class: "picture", role: "img", "aria-label": "The picture" });
  readonly #plane: Plane;
  readonly #swatches = el("ol", { class: "swatches", "aria-label": "The palette" });
  readonly #css = el("textarea", { rows: 6, readOnly: true, "aria-label": "The palette as CSS" });
  readonly #controls;

  constructor(private readonly app: App<PaletteState>) {
    const left = el("div", { class: "half gallery-half" }, this.#canvas), right = el("div", { class: "half" });
    app.stage.classList.add("split");
    app.stage.append(left, right);
    this.#plane = new Plane(right, "Colours of the picture in Oklab: from green to red, and from blue to yellow", (context) => this.#paint(context), true);
    this.#plane.range = { x: [-0.3, 0.3], y: [-0.3, 0.3] };
    const file = el("input", { type: "file", accept: "image/*", hidden: true, onchange: () => { const chosen = file.files?.[0]; if (chosen) void this.take(chosen); file.value = ""; } });
    this.#controls = {
      picture: choice<string>("Picture", PICTURES, (picture) => app.set({ picture })),
      colours: slider("Colours", { min: 2, max: 32, step: 1 }, (colours) => app.set({ colours }, { undoable: false })),
      show: choice<string>("Show", [["picture", "the picture"], ["reduced", "in its palette"]], (show) => app.set({ show })),
    };
    app.controls.append(
      section("Picture", this.#controls.picture.element, el("div", { class: "buttons" }, button("Open a picture…", () => file.click()), file), note("Or drop one, or paste it. It stays on this machine.")),
      section("Palette", this.#controls.colours.element, this.#controls.show.element, this.#swatches, el("div", { class: "buttons" }, button("Copy CSS", () => void navigator.clipboard.writeText(this.#css.value).then(() => say("The palette is copied."), () => this.#css.select()))), this.#css),
      note("Deterministic annealing in Oklab: clusters split as the temperature falls (Rose 1998). The same seed gives the same colours, to the bit."),
    );
    app.stage.addEventListener("dragover", (event) => event.preventDefault());
    app.stage.addEventListener("drop", (event) => { event.preventDefault(); const dropped = event.dataTransfer?.files[0]; if (dropped) void this.take(dropped); });
    addEventListener("paste", (event) => { const pasted = event.clipboardData?.files[0]; if (pasted?.type.startsWith("image/")) void this.take(pasted); });
    this.#choose(app.state);
  }

  open(_engine: Engine): void {}
  close(): void { this.#stop?.abort(); }

  async build(state: PaletteState): Promise<undefined> {
    this.#stop?.abort();
    const stop = (this.#stop = new AbortController()), colours = Math.min(32, Math.max(2, Math.round(state.colours)));
    const started = performance.now();
    const { centroids, labels, energy } = await this.app.engine!.cluster(this.#sample, { dim: 3, clusters: colours, seed: Math.abs(Math.round(state.seed)), signal: stop.signal });
    const counts = new Float64Array(centroids.length / 3);
    for (const label of labels) counts[label]!++;
    this.palette = Array.from(counts, (count, k) => {
      const lab = [centroids[3 * k]!, centroids[3 * k + 1]!, centroids[3 * k + 2]!] as const;
      return { lab, rgb: fromOklab(lab), share: count / labels.length };
    }).filter(({ share }) => share > 0).sort((a, b) => b.share - a.share);
    this.energy = energy;
    this.clusterings++;
    this.app.tellFacts(`${this.palette.length} colours · ${(performance.now() - started).toFixed(0)} ms · mean distance ${Math.sqrt(energy).toFixed(3)} · ${(this.#sample.length / 3).toLocaleString("en")} pixels sampled`);
    return undefined;
  }

  started(): void { this.#tell(); }

  show(state: PaletteState): void {
    const list = this.#controls.picture.select;
    if (state.picture === "own" && !list.querySelector("[value=own]")) list.append(el("option", { value: "own" }, "Your own"));
    this.#controls.picture.show(state.picture);
    this.#controls.colours.show(state.colours);
    this.#controls.show.show(state.show);
  }

  apply(state: PaletteState, before: PaletteState): boolean {
    if (state.picture !== before.picture) this.#choose(state);
    if (state.picture !== before.picture || state.colours !== before.colours || state.seed !== before.seed) return false;
    this.#draw();
    return true;
  }

  reset(): void { this.app.set({ ...DEFAULTS, backend: this.app.state.backend }); }

  async take(file: Blob): Promise<void> {
    const name = file instanceof File ? file.name : "The picture";
    if (file.size > MOST_BYTES) return tell(`${name} has ${(file.size / 2 ** 20).toFixed(0)} MiB; this page takes pictures of up to ${MOST_BYTES / 2 ** 20} MiB.`);
    say(`Reading ${name}…`);
    try {
      const bitmap = await createImageBitmap(file), scale = Math.min(1, LARGEST / Math.max(bitmap.width, bitmap.height));
      const [width, height] = [Math.max(1, Math.round(bitmap.width * scale)), Math.max(1, Math.round(bitmap.height * scale))];
      const canvas = el("canvas", { width, height }), context = canvas.getContext("2d")!;
      context.drawImage(bitmap, 0, 0, width, height);
      bitmap.close();
      this.#own = context.getImageData(0, 0, width, height);
      say("");
      if (this.app.state.picture === "own") { this.#choose(this.app.state); void this.app.rebuild(); } else this.app.set({ picture: "own" });
    } catch {
      tell(`${name} is no picture that this browser reads.`);
    }
  }

  #choose(state: PaletteState): void {
    if (state.picture === "own" && !this.#own) tell("This link is of a picture of somebody's own: open it again to see it.");
    this.#image = state.picture === "own" && this.#own ? this.#own : paint(PICTURES.some(([id]) => id === state.picture) ? state.picture : "sunset");
    const { data } = this.#image, count = data.length / 4, step = Math.max(1, count / SAMPLE), found: number[] = [];
    for (let k = 0; k < count; k += step) {
      const at = 4 * Math.floor(k);
      if (data[at + 3]! > 127) found.push(...toOklab([data[at]!, data[at + 1]!, data[at + 2]!]));
    }
    this.#sample = Float32Array.from(found.length ? found : [0, 0, 0]);
    this.#draw();
  }

  #tell(): void {
    this.#swatches.replaceChildren(...this.palette.map(({ rgb, lab, share }) => el("li", {}, el("button", {
      type: "button", style: `background: ${hex(rgb)}; color: ${lab[0] > 0.62 ? "#000" : "#fff"}`, title: `${(100 * share).toFixed(1)} %`,
      onclick: () => void navigator.clipboard.writeText(hex(rgb)).then(() => say(`${hex(rgb)} is copied.`), () => say(hex(rgb))),
    }, hex(rgb)))));
    this.#css.value = `:root {\n${this.palette.map(({ rgb }, k) => `  --colour-${k + 1}: ${hex(rgb)};`).join("\n")}\n}\n`;
    this.#draw();
  }

  #draw(): void {
    const image = this.#image;
    if (!image) return;
    Object.assign(this.#canvas, { width: image.width, height: image.height });
    const context = this.#canvas.getContext("2d")!;
    if (this.app.state?.show === "reduced" && this.palette.length) {
      const reduced = new ImageData(image.width, image.height), known = new Map<number, Rgb>();
      for (let k = 0; k < image.data.length; k += 4) {
        // Colours that are nearly alike have the same neighbour.
        const [r, g, b] = [image.data[k]!, image.data[k + 1]!, image.data[k + 2]!], key = ((r >> 2) << 12) | ((g >> 2) << 6) | (b >> 2);
        let nearest = known.get(key);
        if (!nearest) {
          const lab = toOklab([r, g, b]), far = (one: Swatch) => one.lab.reduce((sum, value, axis) => sum + (value - lab[axis]!) ** 2, 0);
          nearest = this.palette.reduce((best, one) => (far(one) < far(best) ? one : best)).rgb;
          known.set(key, nearest);
        }
        reduced.data.set([...nearest, image.data[k + 3]!], k);
      }
      context.putImageData(reduced, 0, 0);
    } else context.putImageData(image, 0, 0);
    this.#plane.redraw();
  }

  #paint(context: CanvasRenderingContext2D): void {
    const plane = this.#plane, sample = this.#sample;
    let reach = 0.05;
    for (let k = 0; k < sample.length; k += 3) reach = Math.max(reach, Math.abs(sample[k + 1]!), Math.abs(sample[k + 2]!));
    plane.range = { x: [-1.1 * reach, 1.1 * reach], y: [-1.1 * reach, 1.1 * reach] };
    plane.axes(context);
    for (let k = 0; k < sample.length; k += 6) {
      const [x, y] = plane.to(sample[k + 1]!, sample[k + 2]!);
      context.fillStyle = hex(fromOklab([sample[k]!, sample[k + 1]!, sample[k + 2]!]));
      context.fillRect(x - 1, y - 1, 2.2, 2.2);
    }
    for (const { lab, rgb, share } of this.palette) {
      const [x, y] = plane.to(lab[1], lab[2]);
      context.beginPath();
      context.arc(x, y, 7 + 26 * Math.sqrt(share), 0, 2 * Math.PI);
      context.fillStyle = hex(rgb);
      context.globalAlpha = 0.92;
      context.fill();
      context.globalAlpha = 1;
      context.strokeStyle = "#fff";
      context.lineWidth = 2.5;
      context.stroke();
      context.strokeStyle = "#0008";
      context.lineWidth = 0.8;
      context.stroke();
    }
  }
}

/** A picture, painted by arithmetic. */
function paint(id: string): ImageData {
  const [width, height] = [480, 360], image = new ImageData(width, height);
  let state = 7;
  const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const mix = (a: Rgb, b: Rgb, t: number): Rgb => [0, 1, 2].map((k) => a[k]! + (b[k]! - a[k]!) * Math.min(1, Math.max(0, t))) as unknown as Rgb;
  const blooms = Array.from({ length: 70 }, () => { const y = 0.42 + 0.58 * random() ** 0.7; return { x: random(), y, r: 0.012 + 0.055 * (y - 0.4), red: random() }; });
  const houses = Array.from({ length: 14 }, (_, k) => ({ from: k / 14, high: 0.25 + 0.25 * random(), tint: [[214, 92, 64], [232, 178, 92], [86, 128, 150], [240, 226, 200], [120, 152, 106]][Math.floor(5 * random())] as unknown as Rgb }));
  const painters: { [id: string]: (x: number, y: number) => Rgb } = {
    sunset: (x, y) => {
      const glow = Math.hypot(x - 0.62, (y - 0.5) * 1.1), sky = mix(mix([255, 214, 130], [240, 120, 90], glow * 2.2), [40, 44, 104], (0.62 - y) * 1.5);
      if (glow < 0.07) return [255, 244, 205];
      if (y < 0.6 - 0.05 * Math.sin(7 * x) - 0.03 * Math.sin(23 * x + 1)) return y > 0.5 && Math.sin(40 * x) > 2 ? [0, 0, 0] : sky;
      if (y < 0.63) return mix([58, 38, 78], [96, 52, 84], x);
      return mix([26, 34, 72], [250, 158, 104], 0.75 - 3.2 * Math.abs(x - 0.62) * (1.4 - y) + 0.3 * Math.sin(190 * y + 9 * Math.sin(12 * x)));
    },
    poppies: (x, y) => {
      for (const { x: cx, y: cy, r, red } of blooms) {
        const d = Math.hypot((x - cx) * 1.33, y - cy) / r;
        if (d < 0.25) return [36, 22, 30];
        if (d < 1) return mix([236, 58, 40], [178, 20, 34], d * 0.7 + 0.3 * red);
      }
      if (y < 0.4) return mix([120, 178, 226], [216, 232, 240], y * 2.4 + 0.12 * Math.sin(9 * x + 20 * y));
      return mix([164, 176, 84], [52, 92, 46], (y - 0.4) * 1.3 + 0.25 * Math.sin(160 * x + 60 * y) * Math.sin(50 * y));
    },
    harbour: (x, y) => {
      const house = houses[Math.min(13, Math.floor(x * 14))]!, up = y > 0.6 ? 1.2 - y : y, water = y > 0.6;
      const base = up > 0.58 - house.high && up <= 0.6 ? (Math.abs(((x - house.from) * 14) % 0.33 - 0.16) < 0.06 && (up * 22) % 1 < 0.5 ? [52, 54, 70] as Rgb : house.tint) : mix([150, 190, 214], [234, 220, 204], up * 1.4);
      return water ? mix(base, [32, 78, 98], 0.5 + 0.25 * Math.sin(240 * y + 14 * Math.sin(10 * x))) : base;
    },
  };
  const painter = painters[id]!;
  for (let k = 0; k < width * height; k++) {
    const grain = 10 * (random() - 0.5), colour = painter((k % width) / width, Math.floor(k / width) / height);
    image.data.set([colour[0] + grain, colour[1] + grain, colour[2] + grain, 255], 4 * k);
  }
  return image;
}

new App<PaletteState>(DEFAULTS, (app) => expose(app, new PalettePage(app)), { live: false, code: false });
