/** Meshes to choose from, and those of visitors: read, checked, scaled to height 1 on the ground. */
import { boundingBox, components, decimate, grid, icosphere, inspect, subdivide, type Mesh } from "leastwise/mesh";
import bunny from "bunny";
import { counted } from "../shell/words.js";

/** Vertices that the pages take; larger meshes are decimated on consent. */
export const MOST_VERTICES = 20_000;
/** Bytes of a file that are read at all. */
export const MOST_BYTES = 64 * 2 ** 20;

export const CHOICES = [["bunny", "Stanford bunny"], ["icosphere", "Icosphere"], ["torus", "Torus"], ["hand", "Five tentacles"], ["bar", "Bar"], ["sheet", "Sheet"]] as const;
export type MeshId = (typeof CHOICES)[number][0];

export interface Model { readonly name: string; readonly mesh: Mesh; readonly note: string }

export function generate(id: MeshId): Model {
  const name = CHOICES.find(([one]) => one === id)![1];
  const make = { bunny: theBunny, icosphere: () => icosphere({ subdivisions: 4, radius: 0.5 }), torus, hand: tentacles, bar, sheet: () => grid({ columns: 40, width: 1.4, height: 1 }) }[id];
  return { name, mesh: placed(make()), note: "" };
}

/** Moved to stand on the ground around the origin, with a height of 1 or, if it is wider, a width of 1.5. */
export function placed(mesh: Mesh): Mesh {
  const { min, max } = boundingBox(mesh);
  const size = [0, 1, 2].map((axis) => max[axis]! - min[axis]!), scale = 1 / Math.max(size[1]!, size[0]! / 1.5, size[2]! / 1.5, 1e-12);
  const origin = [(min[0]! + max[0]!) / 2, min[1]!, (min[2]! + max[2]!) / 2];
  return { positions: mesh.positions.map((value, k) => (value - origin[k % 3]!) * scale), triangles: mesh.triangles };
}

/** What is wrong with a mesh for these pages, or undefined. */
export function faults({ triangles, positions }: Mesh): string | undefined {
  if (positions.length < 9 || triangles.length < 3) return "it has no triangles";
  const { nonManifoldEdges, misorientedEdges } = inspect(triangles, positions.length / 3);
  if (nonManifoldEdges) return `${counted(nonManifoldEdges, "of its edges has", "of its edges have")} three faces or more`;
  return misorientedEdges ? `${counted(misorientedEdges, "of its edges has", "of its edges have")} faces that are turned against each other` : undefined;
}

/** A visitor's file as a mesh. Throws in words for people. */
export async function read(file: File): Promise<Model> {
  if (file.size > MOST_BYTES) throw new Error(`${file.name} has ${(file.size / 2 ** 20).toFixed(0)} MiB; this page reads files of up to ${MOST_BYTES / 2 ** 20} MiB`);
  const { readMesh, formatOf } = await import("leastwise/mesh/files");
  const mesh = await readMesh(await file.arrayBuffer(), { format: formatOf(file.name) });
  return { name: file.name, mesh: placed(mesh), note: describe(mesh) };
}

/** The mesh with at most so many vertices. */
export function smaller(model: Model): Model {
  const { triangles, positions } = model.mesh;
  const mesh = decimate(model.mesh, { faces: Math.floor((triangles.length / 3) * (MOST_VERTICES / (positions.length / 3)) * 0.97) });
  return { name: `${model.name}, decimated`, mesh: { positions: mesh.positions, triangles: mesh.triangles }, note: describe(mesh) };
}

function describe({ triangles, positions }: Mesh): string {
  const { boundaryEdges } = inspect(triangles), { count } = components(triangles, positions.length / 3);
  return `${count === 1 ? "one component" : `${count} components`}, ${boundaryEdges ? counted(boundaryEdges, "boundary edge") : "closed"}`;
}

const theBunny = (): Mesh => ({ positions: Float64Array.from(bunny.positions.flat()), triangles: Uint32Array.from(bunny.cells.flat()) });

/** A surface over a rectangle of cells that closes around in `v`, and in `u` if it is asked to. */
function tube(us: number, vs: number, closed: boolean, place: (u: number, v: number) => readonly [number, number, number]): Mesh {
  const positions: number[] = [], triangles: number[] = [], rows = closed ? us : us + 1;
  for (let i = 0; i < rows; i++) for (let j = 0; j < vs; j++) positions.push(...place(i / us, j / vs));
  for (let i = 0; i < us; i++) {
    for (let j = 0; j < vs; j++) {
      const [a, b, c, d] = [i * vs + j, i * vs + ((j + 1) % vs), ((i + 1) % rows) * vs + j, ((i + 1) % rows) * vs + ((j + 1) % vs)];
      triangles.push(a, b, d, a, d, c);
    }
  }
  return { positions: Float64Array.from(positions), triangles: Uint32Array.from(triangles) };
}

const torus = (): Mesh => tube(64, 28, true, (u, v) => {
  const [p, q] = [2 * Math.PI * u, 2 * Math.PI * v], wide = 0.5 + 0.2 * Math.cos(q);
  return [wide * Math.cos(p), wide * Math.sin(p), 0.2 * Math.sin(q)];
});

const bar = (): Mesh => tube(60, 24, false, (u, v) => {
  const q = 2 * Math.PI * v, wide = 0.14 / Math.max(Math.abs(Math.cos(q)), Math.abs(Math.sin(q))) ** 0.8;
  return [wide * Math.cos(q), 1.2 * u, wide * Math.sin(q)];
});

/** A sphere with five bumps, drawn out. */
function tentacles(): Mesh {
  const ball = subdivide(icosphere({ subdivisions: 3, radius: 0.3 }), { scheme: "loop" });
  const tips = [0, 1, 2, 3, 4].map((k) => [Math.sin(0.55 * (k - 2)), Math.cos(0.55 * (k - 2)), 0.25 * ((k % 2) - 0.5)] as const);
  return {
    triangles: ball.triangles,
    positions: ball.positions.map((value, at) => {
      const v = 3 * Math.floor(at / 3), p = [0, 1, 2].map((axis) => ball.positions[v + axis]! / 0.3);
      const bump = Math.max(...tips.map((tip) => Math.exp(-26 * (1 - tip.reduce((dot, one, axis) => dot + one * p[axis]!, 0) / Math.hypot(...tip)))));
      return value * (1 + 1.5 * bump);
    }),
  };
}
