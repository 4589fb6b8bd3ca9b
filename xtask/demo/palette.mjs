// Palettes of an image: 8, 16 and 64 colours, found by clustering its pixels where equal distances look equally different (Oklab).
// `npm run demo -- palette [IMAGE.png]`; without an image, it paints one.
import { readFileSync, writeFileSync } from "node:fs";
import { init } from "leastwise";
import { PNG } from "pngjs";
import { scene } from "./scene.mjs";

const SIZES = [8, 16, 64];
const WIDTH = 480, HEIGHT = 320;

/** Björn Ottosson's Oklab, of sRGB bytes. */
function toOklab(bytes) {
  const linear = Float64Array.from({ length: 256 }, (_, v) => (v <= 10 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  const lab = new Float32Array(bytes.length);
  for (let at = 0; at < bytes.length; at += 3) {
    const [r, g, b] = [linear[bytes[at]], linear[bytes[at + 1]], linear[bytes[at + 2]]];
    const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
    const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
    const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
    lab[at] = 0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s;
    lab[at + 1] = 1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s;
    lab[at + 2] = 0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s;
  }
  return lab;
}

function fromOklab(lab) {
  const byte = (v) => Math.round(255 * Math.min(1, Math.max(0, v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055)));
  const bytes = new Uint8Array(lab.length);
  for (let at = 0; at < lab.length; at += 3) {
    const [L, a, b] = lab.subarray(at, at + 3);
    const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s = (L - 0.0894841775 * a - 1.2914855480 * b) ** 3;
    bytes[at] = byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s);
    bytes[at + 1] = byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s);
    bytes[at + 2] = byte(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s);
  }
  return bytes;
}

function load(path) {
  if (path === undefined) return { width: WIDTH, height: HEIGHT, colours: scene(WIDTH, HEIGHT) };
  const { width, height, data } = PNG.sync.read(readFileSync(path));
  const colours = new Uint8Array(3 * width * height);
  for (let pixel = 0; pixel < width * height; pixel++) colours.set(data.subarray(4 * pixel, 4 * pixel + 3), 3 * pixel);
  return { width, height, colours };
}

/** Pictures in a square, the palette of each in a strip below it. */
function sheet(path, { width, height }, pictures) {
  const gap = 8, strip = Math.round(height / 16);
  const png = new PNG({ width: 2 * width + gap, height: 2 * (height + strip) + gap });
  png.data.fill(255);
  pictures.forEach(({ colours, palette }, k) => {
    const [left, top] = [(k % 2) * (width + gap), (k >> 1) * (height + strip + gap)];
    const put = (x, y, from, at) => png.data.set([...from.subarray(3 * at, 3 * at + 3), 255], 4 * ((top + y) * png.width + left + x));
    for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) put(x, y, colours, y * width + x);
    for (let y = 4; palette && y < strip; y++) for (let x = 0; x < width; x++) put(x, height + y, palette, Math.floor((x * palette.length) / 3 / width));
  });
  writeFileSync(path, PNG.sync.write(png));
}

const [output = "palette.png", input] = process.argv.slice(2);
const image = load(input);
const pixels = image.width * image.height, lab = toOklab(image.colours);
const different = new Set(Array.from({ length: pixels }, (_, p) => (image.colours[3 * p] << 16) | (image.colours[3 * p + 1] << 8) | image.colours[3 * p + 2])).size;
const lw = await init({ backend: "cpu" });
console.log(`${image.width} × ${image.height} pixels of ${different} colours`);

const pictures = [{ colours: image.colours }];
let before = Infinity;
for (const clusters of SIZES) {
  const found = await lw.cluster(lab, { dim: 3, clusters });
  const palette = fromOklab(found.centroids);
  const colours = new Uint8Array(image.colours.length);
  found.labels.forEach((label, pixel) => colours.set(palette.subarray(3 * label, 3 * label + 3), 3 * pixel));
  const error = colours.reduce((sum, v, k) => sum + (v - image.colours[k]) ** 2, 0) / colours.length;
  const bits = Math.ceil(Math.log2(found.clusters)) * pixels + 24 * found.clusters;
  console.log(`${String(found.clusters).padStart(3)} colours: energy ${found.energy.toExponential(3)}, ${(10 * Math.log10(255 ** 2 / error)).toFixed(1)} dB, ${((100 * bits) / (24 * pixels)).toFixed(1)} % of the bits, ${found.ms.toFixed(0)} ms (${found.termination})`);
  // Written so that a NaN fails, too.
  if (!(found.energy < before)) throw new Error(`${clusters} colours are no better than fewer: ${found.energy} after ${before}`);
  before = found.energy;
  pictures.push({ colours, palette });
}
sheet(output, image, pictures);
console.log(`picture: ${output}`);
lw.dispose();
