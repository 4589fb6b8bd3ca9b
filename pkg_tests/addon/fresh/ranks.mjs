// A rank of two, as `leastwise-cuda run --ranks 2` starts it: prints what it found as a line of JSON. The second one dies in the end, with 3.
import { createHash } from "node:crypto";
import { init } from "leastwise";
import { world } from "leastwise-cuda";
import { arap, arapMesh, icosphere } from "../../problems.mjs";

const mesh = arapMesh(icosphere(3)), { rank } = world();
const PCG = { linear: "pcg", preconditioner: "block-jacobi", forcing: 1e-3, maxIterations: 8 };
const hashOf = async ({ x }) => createHash("sha256").update(new Uint8Array((await x.read(new Float64Array(3 * x.count))).buffer)).digest("hex");
const failure = (promise) => promise.then(() => "none", (error) => error);

const lw = await init({ backend: "cuda", world: world() });
const one = arap(lw, mesh), { cost } = await one.problem.solve(PCG);
const hash = await hashOf(one);
const found = { rank, cost, hash };
one.handles.set({ target: mesh.targets.map((value) => 0.9 * value) });
found.again = (await one.problem.solve(PCG)).cost;
// Data of which one number is another one on the second rank, and then is not.
const others = mesh.targets.slice();
others[0] += rank;
const two = arap(lw, { ...mesh, targets: others });
found.differs = (await failure(two.problem.solve(PCG))).code;
// The engine is in f64, and clusters are found in f32.
const { centroids } = await lw.cluster(Float32Array.from({ length: 64 }, (_, k) => k % 7 + rank), { dim: 2, clusters: 3, method: "lloyd", ranks: true });
found.clusters = [...centroids].join(" ");
if (rank === 0) {
  const alone = await init({ backend: "cuda" }), by = arap(alone, mesh);
  found.alone = (await by.problem.solve(PCG)).cost;
  alone.dispose();
}
const three = arap(lw, mesh);
if (rank === 1) {
  await three.problem.solve({ ...PCG, costTolerance: 0, maxIterations: 1000, onIteration: ({ index }) => {
    if (index < 3) return;
    console.log(JSON.stringify(found));
    process.exit(3);
  } });
}
const began = performance.now(), lost = await failure(three.problem.solve({ ...PCG, costTolerance: 0, maxIterations: 1000 }));
found.lost = lost.code;
found.message = lost.message;
found.lostMs = performance.now() - began;
found.finite = (await three.x.read(new Float64Array(3 * three.x.count))).every(Number.isFinite);
lw.dispose();
const next = await init({ backend: "cuda" });
found.goesOn = (await arap(next, mesh).problem.solve(PCG)).cost > 0;
next.dispose();
console.log(JSON.stringify(found));
