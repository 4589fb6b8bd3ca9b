// A small software renderer: rest pose on the left, result on the right, handles coloured.
import { writeFileSync } from "node:fs";
import { PNG } from "pngjs";
import { isTop } from "./arap.mjs";

const WIDTH = 1600, HEIGHT = 800, SAMPLES = 2;                 // SAMPLES² samples a pixel
const VIEW = { yaw: -0.45, pitch: 0.22 };
const COLOURS = { body: [226, 214, 196], base: [66, 112, 178], top: [232, 104, 52], sky: [250, 250, 252], floor: [214, 220, 230] };

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const scaled = (a, s) => a.map((v) => v * s);
const unit = (a) => scaled(a, 1 / (Math.hypot(...a) || 1));

const LIGHTS = [{ from: unit([-0.5, 0.75, 0.65]), strength: 0.85 }, { from: unit([0.8, 0.1, 0.4]), strength: 0.25 }];
const AMBIENT = 0.24;

/** Camera space: x right, y up, z towards the eye. */
function toView([x, y, z]) {
  const [cy, sy, cp, sp] = [Math.cos(VIEW.yaw), Math.sin(VIEW.yaw), Math.cos(VIEW.pitch), Math.sin(VIEW.pitch)];
  const [x1, z1] = [cy * x + sy * z, -sy * x + cy * z];
  return [x1, cp * y - sp * z1, sp * y + cp * z1];
}

function vertexNormals(points, triangles) {
  const normals = points.map(() => [0, 0, 0]);
  for (let t = 0; t < triangles.length; t += 3) {
    const corners = [0, 1, 2].map((k) => triangles[t + k]);
    const [a, b, c] = corners.map((i) => points[i]);
    const [u, v] = [b.map((n, k) => n - a[k]), c.map((n, k) => n - a[k])];
    const area = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];   // weighs by area
    for (const i of corners) area.forEach((n, k) => { normals[i][k] += n; });
  }
  return normals.map(unit);
}

/** Draws one mesh into the samples, `place` maps view space to sample coordinates. */
function rasterise(canvas, points, triangles, colours, place) {
  const normals = vertexNormals(points, triangles);
  const screen = points.map(place);
  for (let t = 0; t < triangles.length; t += 3) {
    const ids = [triangles[t], triangles[t + 1], triangles[t + 2]];
    const [a, b, c] = ids.map((i) => screen[i]);
    const area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    if (area === 0) continue;
    const facing = area < 0 ? 1 : -1;                            // both sides are lit, should the mesh have holes
    const xs = [a[0], b[0], c[0]], ys = [a[1], b[1], c[1]];
    const [x0, x1] = [Math.max(0, Math.ceil(Math.min(...xs))), Math.min(canvas.width - 1, Math.floor(Math.max(...xs)))];
    const [y0, y1] = [Math.max(0, Math.ceil(Math.min(...ys))), Math.min(canvas.height - 1, Math.floor(Math.max(...ys)))];
    for (let y = y0; y <= y1; y++) {
      for (let x = x0; x <= x1; x++) {
        const wb = ((x - a[0]) * (c[1] - a[1]) - (y - a[1]) * (c[0] - a[0])) / area;
        const wc = ((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])) / area;
        const wa = 1 - wb - wc;
        if (wa < 0 || wb < 0 || wc < 0) continue;
        const depth = wa * a[2] + wb * b[2] + wc * c[2];
        const at = y * canvas.width + x;
        if (depth <= canvas.depth[at]) continue;
        canvas.depth[at] = depth;
        const mix = (values) => [0, 1, 2].map((k) => wa * values[ids[0]][k] + wb * values[ids[1]][k] + wc * values[ids[2]][k]);
        const normal = scaled(unit(mix(normals)), facing);
        const light = LIGHTS.reduce((sum, { from, strength }) => sum + strength * Math.max(0, dot(normal, from)), AMBIENT);
        mix(colours).forEach((value, k) => { canvas.colour[3 * at + k] = Math.min(255, value * light); });
      }
    }
  }
}

/** Writes the picture. `positions` are the deformed vertices, flat. */
export function drawBeforeAndAfter(path, { rest, triangles, handles }, positions) {
  const canvas = { width: WIDTH * SAMPLES, height: HEIGHT * SAMPLES };
  canvas.depth = new Float64Array(canvas.width * canvas.height).fill(-Infinity);
  canvas.colour = new Float32Array(3 * canvas.width * canvas.height);
  for (let y = 0; y < canvas.height; y++) {
    const t = y / canvas.height;
    const shade = COLOURS.sky.map((v, k) => v + (COLOURS.floor[k] - v) * t * t);
    for (let x = 0; x < canvas.width; x++) canvas.colour.set(shade, 3 * (y * canvas.width + x));
  }
  const vertices = (flat) => Array.from({ length: flat.length / 3 }, (_, i) => toView([flat[3 * i], flat[3 * i + 1], flat[3 * i + 2]]));
  const poses = [vertices(rest), vertices(positions)];
  const pinned = new Set(handles);
  const colours = poses[0].map((_, i) => (pinned.has(i) ? (isTop(rest, i) ? COLOURS.top : COLOURS.base) : COLOURS.body));

  // One scale for both, so that they can be compared; each is centred in its half.
  const extent = (pose, axis) => [Math.min(...pose.map((p) => p[axis])), Math.max(...pose.map((p) => p[axis]))];
  const size = (axis) => Math.max(...poses.map((pose) => extent(pose, axis)[1] - extent(pose, axis)[0]));
  const scale = 0.86 * Math.min(canvas.width / 2 / size(0), canvas.height / size(1));
  poses.forEach((pose, half) => {
    const middle = [0, 1].map((axis) => (extent(pose, axis)[0] + extent(pose, axis)[1]) / 2);
    const centre = [canvas.width * (0.25 + half / 2), canvas.height / 2];
    rasterise(canvas, pose, triangles, colours, (p) => [centre[0] + scale * (p[0] - middle[0]), centre[1] - scale * (p[1] - middle[1]), p[2]]);
  });

  const png = new PNG({ width: WIDTH, height: HEIGHT });
  for (let y = 0; y < HEIGHT; y++) {
    for (let x = 0; x < WIDTH; x++) {
      const sum = [0, 0, 0];
      for (let sy = 0; sy < SAMPLES; sy++) {
        for (let sx = 0; sx < SAMPLES; sx++) {
          const at = 3 * ((y * SAMPLES + sy) * canvas.width + x * SAMPLES + sx);
          for (let k = 0; k < 3; k++) sum[k] += canvas.colour[at + k];
        }
      }
      png.data.set([...sum.map((v) => Math.round(v / SAMPLES ** 2)), 255], 4 * (y * WIDTH + x));
    }
  }
  writeFileSync(path, PNG.sync.write(png));
}
