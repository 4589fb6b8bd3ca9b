/** A pad to draw a digit on, by mouse, pen or finger. */
import { PIXELS, SIDE } from "../../../examples/digits/data.mjs";

const STROKE = 22;
/** MNIST's digits fill this square, and their centre of mass is in the middle of the image. */
const BOX = 20;

export class Pad {
  readonly #context: CanvasRenderingContext2D;
  #pointer: number | undefined;

  /** `onDrawn` is told after every stroke. */
  constructor(readonly canvas: HTMLCanvasElement, onDrawn: () => void) {
    this.#context = canvas.getContext("2d", { willReadFrequently: true })!;
    Object.assign(this.#context, { strokeStyle: "#fff", lineWidth: STROKE, lineCap: "round", lineJoin: "round" });
    canvas.addEventListener("pointerdown", (event) => {
      if (this.#pointer !== undefined || event.button !== 0) return;
      this.#pointer = event.pointerId;
      canvas.setPointerCapture(event.pointerId);
      this.#context.beginPath();
      this.#context.moveTo(...this.#at(event));
      this.#to(event);
    });
    canvas.addEventListener("pointermove", (event) => { if (event.pointerId === this.#pointer) this.#to(event); });
    const lift = (event: PointerEvent) => {
      if (event.pointerId !== this.#pointer) return;
      this.#pointer = undefined;
      onDrawn();
    };
    canvas.addEventListener("pointerup", lift);
    canvas.addEventListener("pointercancel", lift);
  }

  clear(): void { this.#context.clearRect(0, 0, this.canvas.width, this.canvas.height); }

  /** What is drawn, as MNIST has digits: scaled into a box and moved to the middle. Nothing where nothing is drawn. */
  pixels(): Float32Array | undefined {
    const { width, height } = this.canvas;
    const ink = alphas(this.#context, width, height);
    const box = boundsOf(ink, width, height);
    if (!box) return undefined;
    const scale = BOX / Math.max(box.width, box.height);
    const small = new OffscreenCanvas(SIDE, SIDE).getContext("2d", { willReadFrequently: true })!;
    const draw = (x: number, y: number) => {
      small.clearRect(0, 0, SIDE, SIDE);
      small.imageSmoothingQuality = "high";
      small.drawImage(this.canvas, box.x, box.y, box.width, box.height, x, y, box.width * scale, box.height * scale);
      return alphas(small, SIDE, SIDE);
    };
    const corner = [(SIDE - box.width * scale) / 2, (SIDE - box.height * scale) / 2] as const;
    const centre = centreOf(draw(...corner));
    return draw(corner[0] + SIDE / 2 - centre.x, corner[1] + SIDE / 2 - centre.y);
  }

  #at(event: PointerEvent): [number, number] {
    const { left, top, width, height } = this.canvas.getBoundingClientRect();
    return [((event.clientX - left) / width) * this.canvas.width, ((event.clientY - top) / height) * this.canvas.height];
  }

  #to(event: PointerEvent): void {
    this.#context.lineTo(...this.#at(event));
    this.#context.stroke();
  }
}

/** How much ink every pixel has, from 0 to 1. */
function alphas(context: CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D, width: number, height: number): Float32Array {
  const { data } = context.getImageData(0, 0, width, height);
  return Float32Array.from({ length: width * height }, (_, k) => data[4 * k + 3]! / 255);
}

function boundsOf(ink: Float32Array, width: number, height: number): { x: number; y: number; width: number; height: number } | undefined {
  let [left, right, top, bottom] = [width, -1, height, -1];
  ink.forEach((value, k) => {
    if (value === 0) return;
    const [x, y] = [k % width, Math.floor(k / width)];
    [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), Math.max(bottom, y)];
  });
  return right < 0 ? undefined : { x: left, y: top, width: right - left + 1, height: bottom - top + 1 };
}

function centreOf(ink: Float32Array): { x: number; y: number } {
  let [sum, x, y] = [0, 0, 0];
  for (let k = 0; k < PIXELS; k++) {
    const value = ink[k]!;
    sum += value;
    x += value * (k % SIDE + 0.5);
    y += value * (Math.floor(k / SIDE) + 0.5);
  }
  return { x: x / sum, y: y / sum };
}
