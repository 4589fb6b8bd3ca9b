/** Digits as small pictures, and what the network says of them. */
import { PIXELS, SIDE, type Digits } from "../../../examples/digits/data.mjs";
import { byId } from "../shell/notices.js";

const SHOWN = 20;

/** Shows the first of the tests' digits, and those that are wrong; without names, what there is to be named. */
export function showDigits(testing: Digits, names?: Uint8Array): void {
  const first = Array.from({ length: SHOWN }, (_, k) => k);
  byId("seen").replaceChildren(...first.map((k) => digit(testing, k, names)));
  const wrong = names ? Array.from(names.keys()).filter((k) => names[k] !== testing.labels[k]) : [];
  byId("wrong-title").hidden = wrong.length === 0;
  byId("wrong-title").textContent = `Where it is wrong: ${wrong.length} of ${testing.count.toLocaleString("en")}`;
  byId("wrong").replaceChildren(...wrong.slice(0, SHOWN).map((k) => digit(testing, k, names)));
}

function digit({ images, labels }: Digits, k: number, names?: Uint8Array): HTMLElement {
  const figure = document.createElement("figure");
  const caption = document.createElement("figcaption");
  const [name, label] = [names?.[k], labels[k]];
  if (name === undefined) caption.textContent = "?";
  else if (name === label) caption.textContent = String(name);
  else caption.replaceChildren(String(name), Object.assign(document.createElement("small"), { textContent: `not ${label}` }));
  figure.classList.toggle("wrong", name !== undefined && name !== label);
  figure.append(picture(images.subarray(k * PIXELS, (k + 1) * PIXELS)), caption);
  return figure;
}

/** Pixels from 0 to 1 as light on dark. */
function picture(pixels: Float32Array): HTMLCanvasElement {
  const canvas = Object.assign(document.createElement("canvas"), { width: SIDE, height: SIDE });
  const context = canvas.getContext("2d")!, image = context.createImageData(SIDE, SIDE);
  pixels.forEach((value, k) => image.data.set([255, 255, 255, 255 * value], 4 * k));
  context.putImageData(image, 0, 0);
  return canvas;
}
