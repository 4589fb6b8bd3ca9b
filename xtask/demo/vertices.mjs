// A mesh's vertex attributes in about a fifth of their bytes: normals and colours by codebooks of 256, a byte a vertex; positions by
// an index with codes of 8 bits a component. Draws the bunny from the originals and from what is left of them.
import bunny from "bunny";
import { init } from "leastwise";
import { fromHalf, toHalf } from "leastwise/vectors";
import { arapProblem } from "./arap.mjs";
import { Picture, toView, vertexNormals } from "./raster.mjs";

const CODEBOOK = 256;

const { rest: positions, triangles } = arapProblem(bunny);
const count = positions.length / 3;
const points = Array.from({ length: count }, (_, i) => [...positions.subarray(3 * i, 3 * i + 3)]);
const normals = Float32Array.from(vertexNormals(points, triangles).flat());

/** Bands of glaze, by height and direction: thousands of different colours. */
const colours = Float32Array.from(points.flatMap(([x, y, z], i) => {
  const band = 0.5 + 0.5 * Math.sin(18 * y + 3 * Math.sin(7 * x) + 2 * Math.cos(9 * z));
  const facing = 0.5 + 0.5 * normals[3 * i];
  return [70 + 170 * band * facing + 15 * y, 90 + 90 * (1 - band) + 60 * y, 110 + 130 * (1 - facing) * (1 - band)];
}));

/** What is kept of attributes: centroids in half precision, and a byte a vertex that says which. */
const kept = ({ centroids, labels }) => ({ centroids: toHalf(centroids), labels: Uint8Array.from(labels) });
const bytesOf = ({ centroids, labels }) => centroids.bits.byteLength + labels.byteLength;

/** Attributes by what is kept of them: of each vertex, the centroid. */
function looked({ centroids: halves, labels }) {
  const centroids = fromHalf(halves);
  return Float32Array.from({ length: 3 * labels.length }, (_, k) => centroids[3 * labels[Math.floor(k / 3)] + (k % 3)]);
}

const rootMeanSquare = (a, b) => Math.sqrt(a.reduce((sum, v, k) => sum + (v - b[k]) ** 2, 0) / count);

const lw = await init({ backend: "cpu" });
console.log(`bunny: ${count} vertices with position, normal and colour`);
const books = {};
for (const [name, values] of Object.entries({ normals, colours })) {
  const { clusters, energy, ms, ...found } = await lw.cluster(values, { dim: 3, clusters: CODEBOOK });
  books[name] = kept(found);
  const error = rootMeanSquare(values, looked(books[name]));
  // The energy is what it is said to be, but for the rounding of centroids.
  if (!(Math.abs(error ** 2 - energy) <= 1e-2 * energy)) throw new Error(`${name}: energy ${energy}, but a mean squared distance of ${error ** 2}`);
  console.log(`${name}: ${clusters} centroids, off by ${error.toPrecision(3)} (root mean square${name === "colours" ? ", of 255" : ""}), ${ms.toFixed(0)} ms`);
}
const index = await lw.compress(positions, { dim: 3, code: "int8" });
const placed = index.reconstruct(Uint32Array.from({ length: count }, (_, i) => i));
const off = rootMeanSquare(positions, placed);
console.log(`positions: 8 bits a component, off by ${off.toExponential(1)} of the height (root mean square)`);
if (!(off < 2e-3)) throw new Error(`positions are off by ${off} of the height`);

const before = positions.length * 4 + normals.byteLength + colours.byteLength, after = index.bytes + bytesOf(books.normals) + bytesOf(books.colours);
console.log(`${before} bytes → ${after}: positions ${index.bytes}, normals ${bytesOf(books.normals)}, colours ${bytesOf(books.colours)}; ${((100 * after) / before).toFixed(1)} %`);

const meshes = [[positions, normals, colours], [placed, looked(books.normals), looked(books.colours)]].map(([at, facing, paint]) => ({
  points: toView(at), normals: toView(facing), colours: Array.from({ length: count }, (_, i) => paint.subarray(3 * i, 3 * i + 3)), triangles,
}));
const picture = new Picture(1600, 800);
picture.drawBeside(meshes);
const [output = "vertices.png"] = process.argv.slice(2);
picture.write(output);
console.log(`picture: ${output}`);
lw.dispose();
