/**
 * Mesh files: OBJ, PLY, STL and glTF by three.js' loaders, which are loaded when they are needed, and OFF.
 *
 * `npm install three`: an optional peer of this package.
 * @packageDocumentation
 */
import { LeastwiseError, reading, wordsOf } from "../errors.js";
import { describe } from "../instruction.js";
import { checked, flag, oneOf, takesNoMore } from "../options.js";
import { clean } from "./clean.js";
import type { Mesh } from "./input.js";
import { readOff } from "./off.js";

const FORMATS = ["obj", "ply", "stl", "off", "gltf"] as const;

/**
 * Format of a mesh file; `"gltf"` is JSON (.gltf) and binary (.glb) alike.
 *
 * @example
 * const format: MeshFormat = formatOf("bunny.ply");
 */
export type MeshFormat = (typeof FORMATS)[number];

const READ = { format: oneOf(...FORMATS), clean: flag } as const;

/**
 * Reads a mesh file that is in memory: `await readMesh(await file.arrayBuffer(), { format: formatOf(file.name) })`.
 *
 * All objects of a file become one mesh, moved to their places in the scene; polygons become triangles (of PLY, those of four corners); materials, normals
 * and texture coordinates are left out. Places are of single precision, as three has them (but for OFF). glTF: what it needs has to be in the file;
 * Draco and Meshopt are not read.
 *
 * - `format`: see {@link formatOf}.
 * - `clean`: merges vertices at one place and leaves broken faces out ({@link clean}). OBJ and STL files need it: their faces come with vertices
 *   of their own. Vertices are then numbered by their first use. Default true.
 *
 * @throws `load` if three is not installed; `file-format` and others of `file-…` for what can't be read, or has no triangles
 * @example
 * const bunny = await readMesh(bytes, { format: "ply" });
 */
export async function readMesh(data: ArrayBuffer | ArrayBufferView | string, options: { format: MeshFormat; clean?: boolean }): Promise<Mesh> {
  const call = "readMesh(data, options)";
  takesNoMore(call, 2, arguments);
  const { format, clean: isCleaned = true } = checked(`${call}: options`, options, READ, { prefix: `${call}: ` });
  if (format === undefined) throw new LeastwiseError("invalid-option", `${call}: format must be one of "${FORMATS.join("\", \"")}": formatOf(name) tells it by a file's name`);
  const read = await parse(format, bytesOf(call, data));
  if (read.triangles.length === 0) throw new LeastwiseError("file-format", `${format}: the file has no triangles`);
  const bad = read.positions.findIndex((value) => !Number.isFinite(value));
  if (bad >= 0) throw new LeastwiseError("file-corrupt", `${format}: vertex ${Math.floor(bad / 3)} has the coordinate ${read.positions[bad]}`);
  if (!isCleaned) return read;
  const { positions, triangles } = clean(read);
  return { positions, triangles };
}

/**
 * Format of a file by the end of its name (or its address), in any case.
 *
 * @throws `file-format` for another
 * @example
 * const mesh = await readMesh(bytes, { format: formatOf("model.glb") });
 */
export function formatOf(name: string): MeshFormat {
  takesNoMore("formatOf(name)", 1, arguments);
  const end = typeof name === "string" ? /\.([a-z]+)(?:[?#].*)?$/i.exec(name)?.[1]?.toLowerCase() : undefined, format = end === "glb" ? "gltf" : end;
  const found = FORMATS.find((known) => known === format);
  if (!found) throw new LeastwiseError("file-format", `${typeof name === "string" ? JSON.stringify(name.slice(-60)) : describe(name)} is no mesh file that is read: .obj, .ply, .stl, .off, .gltf or .glb`);
  return found;
}

function bytesOf(call: string, data: unknown): ArrayBuffer {
  return reading(`${call}: data`, () => {
    if (typeof data === "string") return new TextEncoder().encode(data).buffer as ArrayBuffer;
    if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice().buffer as ArrayBuffer;
    if (Object.prototype.toString.call(data) === "[object ArrayBuffer]") return data as ArrayBuffer;
    throw new LeastwiseError("invalid-option", `${call}: data must be the bytes of a file (an ArrayBuffer or a view of one) or its text, not ${describe(data)}`);
  });
}

async function parse(format: MeshFormat, bytes: ArrayBuffer): Promise<Mesh> {
  const text = (): string => new TextDecoder().decode(bytes);
  if (format === "off") return readOff(text());
  const parts: ThreeGeometry[] = [], collect = (root: ThreeObject): void => {
    root.updateMatrixWorld(true);
    root.traverse((object) => { if (object.isMesh && object.geometry) parts.push(object.geometry.applyMatrix4(object.matrixWorld)); });
  };
  // Written out, so that bundlers find them.
  const load = {
    obj: async () => { const { OBJLoader } = await three(import("three/addons/loaders/OBJLoader.js")); return () => collect(new OBJLoader().parse(text())); },
    ply: async () => { const { PLYLoader } = await three(import("three/addons/loaders/PLYLoader.js")); return () => { parts.push(withFaces(bytes, new PLYLoader().parse(bytes))); }; },
    stl: async () => { const { STLLoader } = await three(import("three/addons/loaders/STLLoader.js")); return () => { parts.push(new STLLoader().parse(bytes)); }; },
    gltf: async () => {
      const { GLTFLoader } = await three(import("three/addons/loaders/GLTFLoader.js"));
      return async () => collect((await new GLTFLoader().register(withoutBrowser).parseAsync(bytes, "")).scene);
    },
  };
  const work = await load[format]();
  try {
    await work();
    return joined(parts);
  } catch (thrown) {
    throw thrown instanceof LeastwiseError ? thrown : new LeastwiseError("file-format", `${format}: three's loader can't read the file: ${wordsOf(thrown)}`, { cause: thrown });
  }
}

/** A plugin of three's loader for what needs a browser: textures, which are not wanted here, and buffers that are written into the file. */
function withoutBrowser({ json: { bufferViews, buffers } }: GltfParser): object {
  const loaded = new Map<string, Promise<ArrayBuffer>>();
  const fetched = (uri: string): Promise<ArrayBuffer> => {
    const found = loaded.get(uri) ?? fetch(uri).then((response) => response.arrayBuffer());
    loaded.set(uri, found);
    return found;
  };
  return {
    name: "leastwise-without-browser",
    loadTexture: () => Promise.resolve(null),
    loadBufferView(index: number): Promise<ArrayBuffer> | null {
      const { buffer, byteOffset = 0, byteLength } = bufferViews![index]!, { uri } = buffers![buffer]!;
      return uri?.startsWith("data:") ? fetched(uri).then((bytes) => bytes.slice(byteOffset, byteOffset + byteLength)) : null;
    },
  };
}

/** What three read of a PLY file, if it has the faces that the file announces: three leaves polygons of five corners or more out without a word. */
function withFaces(bytes: ArrayBuffer, geometry: ThreeGeometry): ThreeGeometry {
  const header = new TextDecoder("latin1").decode(bytes.slice(0, 65536)), faces = Number(/^element\s+face\s+(\d+)/m.exec(header)?.[1] ?? 0), found = (geometry.index?.count ?? 0) / 3;
  if (faces === 0) throw new LeastwiseError("file-format", "ply: the file has no faces");
  if (found < faces) throw new LeastwiseError("file-format", `ply: of ${faces} faces only ${found} triangles were read: polygons of five corners or more are not read, so save it with triangles`);
  return geometry;
}

async function three<T>(module: Promise<T>): Promise<T> {
  try {
    return await module;
  } catch (thrown) {
    throw new LeastwiseError("load", `readMesh(data, options): mesh files are read by three.js, which can't be loaded: npm install three (${wordsOf(thrown)})`, { cause: thrown });
  }
}

/** All parts one after the other. A part without an index has three vertices a face. */
function joined(parts: readonly ThreeGeometry[]): Mesh {
  const positions: number[] = [], triangles: number[] = [];
  for (const { attributes: { position }, index } of parts) {
    if (!position) continue;
    const first = positions.length / 3, count = index ? index.count : position.count;
    for (let k = 0; k < position.count; k++) positions.push(position.getX(k), position.getY(k), position.getZ(k));
    for (let k = 0; k + 2 < count; k += 3) {
      for (let j = k; j < k + 3; j++) triangles.push(first + (index ? index.getX(j) : j));
    }
  }
  const bad = triangles.findIndex((v) => !(v < positions.length / 3));
  if (bad >= 0) throw new LeastwiseError("file-corrupt", `face ${Math.floor(bad / 3)} has the vertex ${triangles[bad]}, but there are ${positions.length / 3}`);
  return { positions: Float64Array.from(positions), triangles: Uint32Array.from(triangles) };
}
