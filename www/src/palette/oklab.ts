/** Oklab (Ottosson 2020), where equal distances look equally different, and back. */
type Three = readonly [number, number, number];
type Matrix = readonly [Three, Three, Three];

const TO_CONES: Matrix = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]];
const TO_LAB: Matrix = [[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099], [0.0259040371, 0.7827717662, -0.808675766]];
const FROM_LAB: Matrix = [[1, 0.3963377774, 0.2158037573], [1, -0.1055613458, -0.0638541728], [1, -0.0894841775, -1.291485548]];
const FROM_CONES: Matrix = [[4.0767416621, -3.3077115913, 0.2309699292], [-1.2684380046, 2.6097574011, -0.3413193965], [-0.0041960863, -0.7034186147, 1.707614701]];

const times = (m: Matrix, v: Three): Three => [0, 1, 2].map((row) => m[row as 0][0] * v[0] + m[row as 0][1] * v[1] + m[row as 0][2] * v[2]) as unknown as Three;
const each = (v: Three, f: (value: number) => number): Three => [f(v[0]), f(v[1]), f(v[2])];
const linear = (v: number) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const gamma = (v: number) => (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055);

/** Of sRGB from 0 to 255. */
export const toOklab = (rgb: Three): Three => times(TO_LAB, each(times(TO_CONES, each(rgb, (v) => linear(v / 255))), Math.cbrt));
/** sRGB from 0 to 255, clipped. */
export const fromOklab = (lab: Three): Three => each(times(FROM_CONES, each(times(FROM_LAB, lab), (v) => v ** 3)), (v) => Math.round(255 * Math.min(1, Math.max(0, gamma(v)))));
export const hex = (rgb: Three): string => `#${rgb.map((v) => v.toString(16).padStart(2, "0")).join("")}`;
