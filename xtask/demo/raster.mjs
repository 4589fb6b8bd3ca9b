// A small software renderer: meshes with smooth shading, many samples a pixel, into PNG files.
import { writeFileSync } from "node:fs";
import { PNG } from "pngjs";

const VIEW = { yaw: -0.45, pitch: 0.22 };
const SKY = [250, 250, 252], FLOOR = [214, 220, 230];

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const scaled = (a, s) => a.map((v) => v * s);
const unit = (a) => scaled(a, 1 / (Math.hypot(...a) || 1));

const LIGHTS = [{ from: unit([-0.5, 0.75, 0.65]), strength: 0.85 }, { from: unit([0.8, 0.1, 0.4]), strength: 0.25 }];
const AMBIENT = 0.24;

/** Vectors of a flat array in camera space: x right, y up, z towards the eye. Points and directions alike. */
export function toView(flat) {
  const [cy, sy, cp, sp] = [Math.cos(VIEW.yaw), Math.sin(VIEW.yaw), Math.cos(VIEW.pitch), Math.sin(VIEW.pitch)];
  return Array.from({ length: flat.length / 3 }, (_, i) => {
    const [x, y, z] = [flat[3 * i], flat[3 * i + 1], flat[3 * i + 2]];
    const [x1, z1] = [cy * x + sy * z, -sy * x + cy * z];
    return [x1, cp * y - sp * z1, sp * y + cp * z1];
  });
}

/** Normals of vertices: those of their triangles, by area. */
export function vertexNormals(points, triangles) {
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

/** Where a mesh's extent along an axis begins and ends. */
export const extent = (points, axis) => [Math.min(...points.map((p) => p[axis])), Math.max(...points.map((p) => p[axis]))];

export class Picture {
  /** `samples`² samples a pixel, before a background that darkens to the floor. */
  constructor(width, height, samples = 2) {
    Object.assign(this, { pixels: [width, height], samples, width: width * samples, height: height * samples });
    this.depth = new Float64Array(this.width * this.height).fill(-Infinity);
    this.colour = new Float32Array(3 * this.width * this.height);
    for (let y = 0; y < this.height; y++) {
      const t = y / this.height;
      const shade = SKY.map((v, k) => v + (FLOOR[k] - v) * t * t);
      for (let x = 0; x < this.width; x++) this.colour.set(shade, 3 * (y * this.width + x));
    }
  }

  /** Draws a mesh of camera space: a position, a normal and a colour (0 to 255) a vertex; `place` maps positions to samples. */
  draw({ points, normals, colours, triangles }, place) {
    const screen = points.map(place);
    for (let t = 0; t < triangles.length; t += 3) {
      const ids = [triangles[t], triangles[t + 1], triangles[t + 2]];
      const [a, b, c] = ids.map((i) => screen[i]);
      const area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
      if (area === 0) continue;
      const facing = area < 0 ? 1 : -1;                            // both sides are lit, should the mesh have holes
      const xs = [a[0], b[0], c[0]], ys = [a[1], b[1], c[1]];
      const [x0, x1] = [Math.max(0, Math.ceil(Math.min(...xs))), Math.min(this.width - 1, Math.floor(Math.max(...xs)))];
      const [y0, y1] = [Math.max(0, Math.ceil(Math.min(...ys))), Math.min(this.height - 1, Math.floor(Math.max(...ys)))];
      for (let y = y0; y <= y1; y++) {
        for (let x = x0; x <= x1; x++) {
          const wb = ((x - a[0]) * (c[1] - a[1]) - (y - a[1]) * (c[0] - a[0])) / area;
          const wc = ((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])) / area;
          const wa = 1 - wb - wc;
          if (wa < 0 || wb < 0 || wc < 0) continue;
          const depth = wa * a[2] + wb * b[2] + wc * c[2];
          const at = y * this.width + x;
          if (depth <= this.depth[at]) continue;
          this.depth[at] = depth;
          const mix = (values) => [0, 1, 2].map((k) => wa * values[ids[0]][k] + wb * values[ids[1]][k] + wc * values[ids[2]][k]);
          const normal = scaled(unit(mix(normals)), facing);
          const light = LIGHTS.reduce((sum, { from, strength }) => sum + strength * Math.max(0, dot(normal, from)), AMBIENT);
          mix(colours).forEach((value, k) => { this.colour[3 * at + k] = Math.min(255, value * light); });
        }
      }
    }
  }

  /** Meshes side by side, all in one scale so that they can be compared, each in the middle of its column. */
  drawBeside(meshes) {
    const size = (axis) => Math.max(...meshes.map(({ points }) => extent(points, axis)[1] - extent(points, axis)[0]));
    const column = this.width / meshes.length;
    const scale = 0.86 * Math.min(column / size(0), this.height / size(1));
    meshes.forEach((mesh, k) => {
      const middle = [0, 1].map((axis) => (extent(mesh.points, axis)[0] + extent(mesh.points, axis)[1]) / 2);
      const centre = [column * (k + 0.5), this.height / 2];
      this.draw(mesh, (p) => [centre[0] + scale * (p[0] - middle[0]), centre[1] - scale * (p[1] - middle[1]), p[2]]);
    });
  }

  /** Three bytes a pixel: the mean of its samples. */
  bytes() {
    const [width, height] = this.pixels, bytes = new Uint8Array(3 * width * height);
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const sum = [0, 0, 0];
        for (let sy = 0; sy < this.samples; sy++) {
          for (let sx = 0; sx < this.samples; sx++) {
            const at = 3 * ((y * this.samples + sy) * this.width + x * this.samples + sx);
            for (let k = 0; k < 3; k++) sum[k] += this.colour[at + k];
          }
        }
        bytes.set(sum.map((v) => Math.round(v / this.samples ** 2)), 3 * (y * width + x));
      }
    }
    return bytes;
  }

  write(path) {
    const [width, height] = this.pixels, bytes = this.bytes(), png = new PNG({ width, height });
    for (let k = 0; k < width * height; k++) png.data.set([bytes[3 * k], bytes[3 * k + 1], bytes[3 * k + 2], 255], 4 * k);
    writeFileSync(path, PNG.sync.write(png));
  }
}
