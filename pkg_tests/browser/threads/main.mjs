// Solves the mesh that the test hands over on threads, as a user's page would.
import { init } from "leastwise/threads";
import { arap } from "../../problems.mjs";

window.solve = async (options, mesh) => {
  const lw = await init(options);
  const { problem, x, turn } = arap(lw, mesh);
  const report = await problem.solve({ linear: "pcg", maxIterations: 4 });
  const [positions, angles] = [await x.read(new Float64Array(3 * x.count)), await turn.read(new Float64Array(3 * turn.count))];
  // What else hands arrays of the module's memory to the page.
  const index = await lw.compress(Float32Array.from(positions), { dim: 3, code: "bits", bits: 6, clusters: 8 });
  const saved = await index.save();
  const text = new TextDecoder().decode(saved.subarray(0, 8));
  const tensor = lw.tensor([1, 2, 3]).mul(2);
  const result = {
    backend: lw.backend, threads: lw.threads, isolated: crossOriginIsolated, cost: report.cost, term: report.costByTerm,
    positions: [...positions], angles: [...angles], saved: [...saved], text, doubled: [...await tensor.read()],
  };
  lw.dispose();
  return result;
};
