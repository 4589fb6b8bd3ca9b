// A picture with many colours that nobody has to be asked for: a sunset over a lake, between mountains.

/** A smooth random function of the plane: values at integer points, interpolated. */
function noise(x, y) {
  const lattice = (i, j) => {
    const s = Math.sin(127.1 * i + 311.7 * j) * 43758.5453;
    return s - Math.floor(s);
  };
  const [i, j] = [Math.floor(x), Math.floor(y)];
  const ease = (t) => t * t * (3 - 2 * t);
  const [u, v] = [ease(x - i), ease(y - j)];
  return (lattice(i, j) * (1 - u) + lattice(i + 1, j) * u) * (1 - v) + (lattice(i, j + 1) * (1 - u) + lattice(i + 1, j + 1) * u) * v;
}

/** Several octaves of it. */
function fractal(x, y, octaves = 5) {
  let sum = 0;
  for (let k = 0, scale = 1; k < octaves; k++, scale *= 2) sum += noise(x * scale + 17 * k, y * scale) / (2 * scale);
  return sum;
}

const mix = (a, b, t) => a.map((v, k) => v + (b[k] - v) * Math.min(1, Math.max(0, t)));
const HORIZON = 0.62, SUN = [0.68, 0.5];

function sky(x, y) {
  const height = y / HORIZON;
  let colour = mix(mix([24, 36, 92], [128, 76, 140], height * 1.6), [255, 176, 92], height * 1.8 - 0.85);
  const clouds = fractal(3 * x, 12 * y + 3);
  colour = mix(colour, [255, 214, 190], (clouds - 0.52) * 3 * height);
  const far = Math.hypot((x - SUN[0]) * 1.5, y - SUN[1]);
  return mix(colour, [255, 250, 220], far < 0.045 ? 1 : 0.9 * Math.exp(-9 * far));
}

/** Three ranges, the nearer the darker. */
const RANGES = [[0.5, 0.16, 2.2, [116, 88, 138]], [0.55, 0.13, 4.1, [66, 62, 96]], [0.6, 0.1, 7.3, [24, 40, 44]]];

function land(x, y) {
  let colour = sky(x, y);
  for (const [base, rise, frequency, shade] of RANGES) {
    const ridge = base - rise * (fractal(frequency * x + 5 * frequency, 1) - 0.35);
    if (y > ridge) colour = mix(shade, mix(shade, [90, 120, 70], 0.5), (fractal(40 * x, 40 * y, 3) - 0.4) * 2 * (y - ridge) * 12);
  }
  return colour;
}

/** Colours of `width` × `height` pixels, three bytes each. */
export function scene(width, height) {
  const bytes = new Uint8Array(3 * width * height);
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const [x, y] = [column / width * 1.5, row / height];
      const depth = (y - HORIZON) / (1 - HORIZON);
      // The lake mirrors what is above it, shaken by ripples that grow towards the eye.
      const shake = (fractal(6 * x, 220 * y) - 0.5) * 0.05 * depth;
      const colour = y < HORIZON ? land(x, y) : mix(land(x + shake, 2 * HORIZON - y * 0.98 + shake - 0.012), [16, 44, 66], 0.25 + 0.5 * depth);
      bytes.set(colour.map((v) => Math.round(Math.min(255, Math.max(0, v)))), 3 * (row * width + column));
    }
  }
  return bytes;
}
