// `leastwise/mesh/files`: one mesh, written in every format, is read again; what is none is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { icosphere, inspect } from "leastwise/mesh";
import { formatOf, readMesh } from "leastwise/mesh/files";
import { inFreshProcess, refuses, rejects } from "./support.mjs";

const ball = icosphere({ subdivisions: 1 }), vertices = 42, faces = 80;
const point = (v) => [...ball.positions.subarray(3 * v, 3 * v + 3)].map(Math.fround);
const corners = (f) => [...ball.triangles.subarray(3 * f, 3 * f + 3)];
const all = (count, each) => Array.from({ length: count }, (_, k) => each(k));

/** The bytes of numbers, each of a kind, little-endian. */
function bytes(...parts) {
  const sizes = { f32: 4, u32: 4, u16: 2, u8: 1 }, view = new DataView(new ArrayBuffer(parts.reduce((sum, [kind, ...values]) => sum + sizes[kind] * values.length, 0)));
  let at = 0;
  for (const [kind, ...values] of parts) {
    for (const value of values) {
      view[{ f32: "setFloat32", u32: "setUint32", u16: "setUint16", u8: "setUint8" }[kind]](at, value, true);
      at += sizes[kind];
    }
  }
  return new Uint8Array(view.buffer);
}
const joined = (...parts) => Uint8Array.from(parts.flatMap((part) => [...(typeof part === "string" ? new TextEncoder().encode(part) : part)]));

const header = (format) => `ply\nformat ${format} 1.0\nelement vertex ${vertices}\nproperty float x\nproperty float y\nproperty float z\nelement face ${faces}\nproperty list uchar int vertex_indices\nend_header\n`;
const buffer = joined(bytes(["f32", ...all(vertices, point).flat()]), bytes(["u16", ...ball.triangles]));
/** A scene with a mesh that is moved, and a texture that is nowhere. */
const gltf = (uri) => ({
  asset: { version: "2.0" }, scene: 0, scenes: [{ nodes: [0] }], nodes: [{ translation: [1, 2, 3], children: [1] }, { mesh: 0, scale: [2, 2, 2] }],
  meshes: [{ primitives: [{ attributes: { POSITION: 0 }, indices: 1, material: 0 }] }], materials: [{ pbrMetallicRoughness: { baseColorTexture: { index: 0 } } }], textures: [{ source: 0 }], images: [{ uri: "nowhere.png" }],
  buffers: [{ byteLength: buffer.length, ...(uri && { uri }) }], bufferViews: [{ buffer: 0, byteOffset: 0, byteLength: 12 * vertices }, { buffer: 0, byteOffset: 12 * vertices, byteLength: 6 * faces }],
  accessors: [{ bufferView: 0, componentType: 5126, count: vertices, type: "VEC3", min: [-1, -1, -1], max: [1, 1, 1] }, { bufferView: 1, componentType: 5123, count: 3 * faces, type: "SCALAR" }],
});
function glb() {
  const text = JSON.stringify(gltf()), json = joined(text + " ".repeat((4 - (text.length % 4)) % 4)), bin = joined(buffer, new Uint8Array((4 - (buffer.length % 4)) % 4));
  return joined(bytes(["u32", 0x46546c67, 2, 28 + json.length + bin.length, json.length, 0x4e4f534a]), json, bytes(["u32", bin.length, 0x004e4942]), bin);
}

const moved = (v) => point(v).map((value, k) => 2 * value + k + 1);
const FILES = {
  "an OBJ of two objects": ["obj", `# a comment\no first\n${all(vertices, (v) => `v ${point(v).join(" ")}\n`).join("")}${all(40, (f) => `f ${corners(f).map((v) => v + 1).join(" ")}\n`).join("")}o second\n${all(40, (f) => `f ${corners(f + 40).map((v) => `${v - 42}`).join(" ")}\n`).join("")}`],
  "a PLY of text": ["ply", header("ascii") + all(vertices, (v) => `${point(v).join(" ")}\n`).join("") + all(faces, (f) => `3 ${corners(f).join(" ")}\n`).join("")],
  "a binary PLY": ["ply", joined(header("binary_little_endian"), bytes(["f32", ...all(vertices, point).flat()]), ...all(faces, (f) => bytes(["u8", 3], ["u32", ...corners(f)])))],
  "an STL of text": ["stl", `solid ball\n${all(faces, (f) => `facet normal 0 0 0\nouter loop\n${corners(f).map((v) => `vertex ${point(v).join(" ")}\n`).join("")}endloop\nendfacet\n`).join("")}endsolid ball\n`],
  "a binary STL": ["stl", joined(new Uint8Array(80), bytes(["u32", faces]), ...all(faces, (f) => bytes(["f32", 0, 0, 0, ...corners(f).flatMap(point)], ["u16", 0])))],
  "an OFF": ["off", `OFF # a comment\n\n${vertices} ${faces} 0\n${all(vertices, (v) => `${point(v).join(" ")}\n`).join("")}${all(faces, (f) => `3 ${corners(f).join(" ")} 255 0 0\n`).join("")}`],
  "a glTF": ["gltf", JSON.stringify(gltf(`data:application/octet-stream;base64,${Buffer.from(buffer).toString("base64")}`)), moved],
  "a GLB": ["gltf", glb(), moved],
};

for (const [name, [format, data, place = point]] of Object.entries(FILES)) {
  test(`${name}: every face is where it was`, async () => {
    // From a part of a larger buffer too, which must not be read beyond its ends.
    const inside = typeof data === "string" ? data : joined([1, 2, 3], data, [4, 5]).subarray(3, 3 + data.length);
    const { positions, triangles } = await readMesh(inside, { format });
    assert.deepEqual(inspect(triangles, positions.length / 3), inspect(ball.triangles, vertices));
    triangles.forEach((v, k) => place(ball.triangles[k]).forEach((value, axis) => assert.ok(Math.abs(positions[3 * v + axis] - value) < 1e-6, `corner ${k}`)));
  });
}

test("polygons become triangles, and without cleaning OBJ's faces have vertices of their own", async () => {
  const quad = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n";
  assert.deepEqual((await readMesh(quad, { format: "obj" })), { positions: Float64Array.of(0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0), triangles: Uint32Array.of(0, 1, 2, 0, 2, 3) });
  assert.equal((await readMesh(quad, { format: "obj", clean: false })).positions.length, 18);
  const { triangles } = await readMesh("NOFF 5 1 0\n0 0 0 0 0 1\n1 0 0 0 0 1\n2 1 0 0 0 1\n1 2 0 0 0 1\n0 1 0 0 0 1\n5 0 1 2 3 4\n", { format: "off" });
  assert.deepEqual([...triangles], [0, 1, 2, 0, 2, 3, 0, 3, 4]);
});

test("formats by names", () => {
  assert.deepEqual(["a.obj", "B.PLY", "x/y.z.stl", "a.off", "a.gltf", "a.glb", "https://example.org/a.glb?v=1#x"].map((name) => formatOf(name)), ["obj", "ply", "stl", "off", "gltf", "gltf", "gltf"]);
  refuses(() => formatOf("a.fbx"), "file-format", '"a.fbx" is no mesh file that is read: .obj, .ply, .stl, .off, .gltf or .glb');
  refuses(() => formatOf(3), "file-format", /^3 is no mesh file|a number/);
});

test("what is no mesh is refused, and why", async () => {
  for (const format of ["obj", "ply", "stl", "off", "gltf"]) {
    for (const data of ["", "nonsense", new Uint8Array(100), new Uint8Array(7).fill(255)]) {
      await assert.rejects(readMesh(data, { format }), (error) => error.name === "LeastwiseError" && /^file-/.test(error.code), `${format} of ${data}`);
    }
  }
  await rejects(readMesh("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 3\n", { format: "off" }), "file-corrupt", "OFF: face 0 has the vertex 3, but there are 3 (0 to 2)");
  await rejects(readMesh("OFF\n3 1 0\n0 0 0\n", { format: "off" }), "file-truncated", "OFF: 3 vertices and 1 faces are announced, but there are 3 lines");
  await rejects(readMesh("OFF\n1 0 0\n0 zero 0\n", { format: "off" }), "file-format", 'OFF: vertex 0: "0 zero 0" must have 3 numbers');
  await rejects(readMesh("OFF BINARY\n", { format: "off" }), "file-format", /binary files are not read/);
  await rejects(readMesh(header("ascii").replace(/element vertex \d+/, "element vertex 5").replace(/element face \d+/, "element face 1") + "0 0 0\n1 0 0\n2 1 0\n1 2 0\n0 1 0\n5 0 1 2 3 4\n", { format: "ply" }), "file-format", /^ply: of 1 faces only 0 triangles were read: polygons of five corners/);
  await rejects(readMesh("ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\n0 0 0\n", { format: "ply" }), "file-format", "ply: the file has no faces");
  await rejects(readMesh("v 0 0 0\nv 1 0 0\nv 0 nan 0\nf 1 2 3\n", { format: "obj" }), "file-corrupt", /^obj: vertex 2 has the coordinate NaN$/);
  await rejects(readMesh("", {}), "invalid-option", /format must be one of "obj", "ply", "stl", "off", "gltf": formatOf\(name\)/);
  await rejects(readMesh(3, { format: "obj" }), "invalid-option", /data must be the bytes of a file/);
});

test("without three it says what to install, and OFF is read all the same", async () => {
  const hook = "export async function resolve(name, context, next) { if (name.startsWith('three')) throw new Error(`Cannot find package '${name}'`); return next(name, context); }";
  const flags = ["--import", `data:text/javascript,${encodeURIComponent(`import { register } from "node:module"; register("data:text/javascript,${encodeURIComponent(hook)}");`)}`];
  const said = JSON.parse(await inFreshProcess("fresh/mesh-files.mjs", [], { flags }));
  assert.equal(said.code, "load");
  assert.match(said.message, /^readMesh\(data, options\): mesh files are read by three\.js, which can't be loaded: npm install three \(Cannot find package 'three\/addons\/loaders\/STLLoader\.js'/);
  assert.equal(said.triangles, 1);
});
