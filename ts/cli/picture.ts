/** Pictures of meshes: drawn in software, shown in a terminal or written as PNG. */
import { deflateSync } from "node:zlib";

export interface Mesh { readonly positions: ArrayLike<number>; readonly triangles: Uint32Array; readonly colours: readonly Colour[] }
export type Colour = readonly [number, number, number];

/** Three bytes a pixel, row by row from the top. */
export interface Picture { readonly width: number; readonly height: number; readonly pixels: Uint8Array; /** 1 where a mesh is. */ readonly covered: Uint8Array }

const LIGHT = [-0.42, 0.63, 0.65] as const, AMBIENT = 0.28, GROUND: Colour = [246, 247, 250];
/** The eye looks down a little. */
const PITCH = 0.2, YAW = -0.5;
/** Samples a pixel along each axis. */
const SAMPLES = 2;

/** Draws meshes side by side in one scale. */
export function draw(meshes: readonly Mesh[], width: number, height: number): Picture {
  const wide = width * SAMPLES, high = height * SAMPLES;
  const depth = new Float64Array(wide * high).fill(-Infinity), colour = new Float32Array(3 * wide * high);
  const seen = meshes.map(({ positions }) => turned(positions));
  const range = (axis: number) => seen.map((points) => points.reduce<readonly [number, number]>(([low, high], p) => [Math.min(low, p[axis]!), Math.max(high, p[axis]!)], [Infinity, -Infinity]));
  const [across, up] = [range(0), range(1)];
  const column = wide / meshes.length, bottom = Math.min(...up.map(([low]) => low)), top = Math.max(...up.map(([, high]) => high));
  const scale = 0.9 * Math.min(column / Math.max(...across.map(([low, high]) => high - low)), high / (top - bottom));
  meshes.forEach(({ triangles, colours }, k) => {
    const points = seen[k]!, normals = normalsOf(points, triangles), centre = (across[k]![0] + across[k]![1]) / 2;
    const screen = points.map(([x, y, z]) => [column * (k + 0.5) + scale * (x! - centre), high / 2 - scale * (y! - (bottom + top) / 2), z!] as const);
    for (let t = 0; t < triangles.length; t += 3) {
      const ids = [triangles[t]!, triangles[t + 1]!, triangles[t + 2]!] as const;
      const [a, b, c] = ids.map((i) => screen[i]!) as [readonly [number, number, number], readonly [number, number, number], readonly [number, number, number]];
      const area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
      if (area === 0) continue;
      const [y0, y1] = [Math.max(0, Math.ceil(Math.min(a[1], b[1], c[1]))), Math.min(high - 1, Math.floor(Math.max(a[1], b[1], c[1])))];
      const [x0, x1] = [Math.max(0, Math.ceil(Math.min(a[0], b[0], c[0]))), Math.min(wide - 1, Math.floor(Math.max(a[0], b[0], c[0])))];
      for (let y = y0; y <= y1; y++) {
        for (let x = x0; x <= x1; x++) {
          const v = ((x - a[0]) * (c[1] - a[1]) - (y - a[1]) * (c[0] - a[0])) / area;
          const w = ((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])) / area;
          const u = 1 - v - w, at = y * wide + x, z = u * a[2] + v * b[2] + w * c[2];
          if (u < 0 || v < 0 || w < 0 || z <= depth[at]!) continue;
          depth[at] = z;
          const mixed = (of: readonly (readonly number[])[]) => [0, 1, 2].map((axis) => u * of[ids[0]]![axis]! + v * of[ids[1]]![axis]! + w * of[ids[2]]![axis]!);
          const normal = mixed(normals), length = Math.hypot(...normal) || 1;
          const light = AMBIENT + 0.8 * Math.max(0, normal.reduce((sum, value, axis) => sum + value * LIGHT[axis]!, 0) / length);
          mixed(colours).forEach((value, axis) => { colour[3 * at + axis] = Math.min(255, value * light); });
        }
      }
    }
  });
  return reduced(wide, high, depth, colour);
}

function turned(positions: ArrayLike<number>): readonly (readonly number[])[] {
  const [cy, sy, cp, sp] = [Math.cos(YAW), Math.sin(YAW), Math.cos(PITCH), Math.sin(PITCH)];
  return Array.from({ length: positions.length / 3 }, (_, i) => {
    const [x, y, z] = [positions[3 * i]!, positions[3 * i + 1]!, positions[3 * i + 2]!];
    const [x1, z1] = [cy * x + sy * z, cy * z - sy * x];
    return [x1, cp * y - sp * z1, sp * y + cp * z1];
  });
}

/** Normals of vertices, outwards: those of their triangles, by area. */
function normalsOf(points: readonly (readonly number[])[], triangles: Uint32Array): readonly (readonly number[])[] {
  const normals = points.map(() => [0, 0, 0]);
  for (let t = 0; t < triangles.length; t += 3) {
    const ids = [triangles[t]!, triangles[t + 1]!, triangles[t + 2]!], [a, b, c] = ids.map((i) => points[i]!) as [number[], number[], number[]];
    const [u, v] = [b.map((value, axis) => value - a[axis]!), c.map((value, axis) => value - a[axis]!)] as [[number, number, number], [number, number, number]];
    const cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    for (const i of ids) cross.forEach((value, axis) => { normals[i]![axis]! += value; });
  }
  return normals;
}

function reduced(wide: number, high: number, depth: Float64Array, colour: Float32Array): Picture {
  const width = wide / SAMPLES, height = high / SAMPLES;
  const pixels = new Uint8Array(3 * width * height), covered = new Uint8Array(width * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const sum = [0, 0, 0];
      let hits = 0;
      for (let k = 0; k < SAMPLES * SAMPLES; k++) {
        const at = (y * SAMPLES + Math.floor(k / SAMPLES)) * wide + x * SAMPLES + (k % SAMPLES), hit = depth[at]! > -Infinity;
        if (hit) hits++;
        for (let axis = 0; axis < 3; axis++) sum[axis]! += hit ? colour[3 * at + axis]! : GROUND[axis]!;
      }
      pixels.set(sum.map((value) => Math.round(value / SAMPLES ** 2)), 3 * (y * width + x));
      covered[y * width + x] = 2 * hits >= SAMPLES ** 2 ? 1 : 0;
    }
  }
  return { width, height, pixels, covered };
}

/** Lines for a terminal: two pixels a character in colours, or letters by brightness. */
export function lines({ width, height, pixels, covered }: Picture, colours: boolean): string {
  const rgb = (at: number) => `${pixels[3 * at]};${pixels[3 * at + 1]};${pixels[3 * at + 2]}`;
  const light = (at: number) => (covered[at] ? (pixels[3 * at]! + pixels[3 * at + 1]! + pixels[3 * at + 2]!) / 3 : -1);
  const RAMP = ".:-=+*#%@";
  const shown = (above: number, below: number) => {
    if (!colours) {
      const bright = (light(above) + light(below)) / 2;
      return bright < 0 ? " " : RAMP[Math.min(RAMP.length - 1, Math.floor((bright / 256) * RAMP.length))]!;
    }
    if (covered[above] && covered[below]) return `\x1b[38;2;${rgb(above)};48;2;${rgb(below)}m▀\x1b[0m`;
    return covered[above] ? `\x1b[38;2;${rgb(above)}m▀\x1b[0m` : covered[below] ? `\x1b[38;2;${rgb(below)}m▄\x1b[0m` : " ";
  };
  return Array.from({ length: Math.floor(height / 2) }, (_, row) =>
    Array.from({ length: width }, (_, x) => shown(2 * row * width + x, (2 * row + 1) * width + x)).join("").trimEnd()).join("\n");
}

/** A file of the picture. */
export function png({ width, height, pixels }: Picture): Buffer {
  const rows = Buffer.alloc(height * (1 + 3 * width));
  for (let y = 0; y < height; y++) rows.set(pixels.subarray(3 * width * y, 3 * width * (y + 1)), y * (1 + 3 * width) + 1);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", header), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}

function chunk(type: string, data: Uint8Array): Buffer {
  const made = Buffer.alloc(12 + data.length);
  made.writeUInt32BE(data.length, 0);
  made.write(type, 4, "latin1");
  made.set(data, 8);
  made.writeUInt32BE(crc32(made.subarray(4, 8 + data.length)), 8 + data.length);
  return made;
}

/** Node's own is not in version 20. */
function crc32(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
