// Drags the bunny's ears round a loop, frame by frame, and writes what the solver makes of it as an animated PNG. The solver stays warm: each
// frame edits targets, and nothing is compiled again. The film's colours are a codebook that the package makes of its pixels.
import { writeFileSync } from "node:fs";
import bunny from "bunny";
import { column, init, rotateXYZ } from "leastwise";
import { edges } from "leastwise/mesh";
import { animatedPng } from "./apng.mjs";
import { arapProblem, isTop } from "./arap.mjs";
import { extent, Picture, toView, vertexNormals } from "./raster.mjs";

const FRAMES = 20, WIDTH = 480, HEIGHT = 360, COLOURS = 48, MOST_BYTES = 400_000;
const PAINT = { body: [226, 214, 196], base: [66, 112, 178], top: [232, 104, 52] };

const { rest, triangles, handles } = arapProblem(bunny);
const held = new Set(handles), paint = Array.from({ length: rest.length / 3 }, (_, i) => PAINT[held.has(i) ? (isTop(rest, i) ? "top" : "base") : "body"]);

const lw = await init({ backend: "cpu" });
const problem = lw.problem();
const x = problem.variables("position", { shape: 3, values: rest });
const turn = problem.variables("rotation", { shape: 3, values: new Float32Array(rest.length) });
const restAt = problem.constants("rest", { shape: 3, values: rest });
problem.residuals("arap", { over: edges(triangles, { directed: true }), of: [x, x, turn.at(0), restAt.at(0), restAt.at(1)] },
  ([a, b, w, a0, b0]) => a.sub(b).sub(rotateXYZ(w, a0.sub(b0))));
const pull = problem.residuals("handles", { of: [x.at(handles)], data: { target: column([...handles].map((v) => [rest[3 * v], rest[3 * v + 1], rest[3 * v + 2]]), 3) }, weight: 5 }, ([p], { target }) => p.sub(target));
const solver = problem.solver({ linear: "pcg", costTolerance: 1e-4, maxIterations: 30 });

/** The ears' way: to the right, back over the middle, and a little to the left. */
const wayAt = (part) => {
  const angle = 2 * Math.PI * part;
  return [0.16 + 0.24 * Math.sin(angle - 0.73), 0.05 * Math.sin(2 * angle), 0.08 * Math.cos(angle)];
};

const poses = [];
// One round to begin with, so that the film's end is its start.
for (let frame = -4; frame < FRAMES; frame++) {
  const way = wayAt(((frame + FRAMES) % FRAMES) / FRAMES);
  const target = [...handles].map((v) => [0, 1, 2].map((k) => rest[3 * v + k] + (isTop(rest, v) ? way[k] : 0)));
  pull.set({ target: column(target, 3) });
  const report = await solver.solve();
  if (!(report.cost <= report.initialCost)) throw new Error(`frame ${frame}: the cost rose from ${report.initialCost} to ${report.cost}`);
  if (frame >= 0) poses.push(toView(await x.read({ as: "f64" })));
}

const all = poses.flat(), [left, right] = extent(all, 0), [low, high] = extent(all, 1);
const scale = 0.9 * Math.min(WIDTH / (right - left), HEIGHT / (high - low)), samples = 2;
const frames = poses.map((points) => {
  const picture = new Picture(WIDTH, HEIGHT, samples);
  picture.draw({ points, normals: vertexNormals(points, triangles), colours: paint, triangles },
    (p) => [samples * (WIDTH / 2 + scale * (p[0] - (left + right) / 2)), samples * (HEIGHT / 2 - scale * (p[1] - (low + high) / 2)), p[2]]);
  return picture.bytes();
});
const sample = Float32Array.from(frames.flatMap((bytes) => Array.from({ length: bytes.length / 30 }, (_, k) => [...bytes.subarray(30 * k, 30 * k + 3)]).flat()));
const { centroids } = await lw.cluster(sample, { dim: 3, clusters: COLOURS, method: "lloyd", seed: 1, maxIterations: 10 });
lw.dispose();

const file = animatedPng(frames, { width: WIDTH, height: HEIGHT, palette: centroids, milliseconds: 70 });
if (file.length > MOST_BYTES) throw new Error(`the film has ${file.length} bytes, and at most ${MOST_BYTES} are allowed`);
const [output = "bunny-drag.png"] = process.argv.slice(2);
writeFileSync(output, file);
console.log(`film: ${output}, ${frames.length} frames, ${file.length} bytes`);
