// Solves the mesh that the test hands over, as a user's page would.
import { column, init, rotateXYZ } from "leastwise";
import { edges } from "leastwise/mesh";

window.solve = async (backend, mesh) => {
  const values = Float32Array.from(mesh.rest);
  const lw = await init({ backend });
  const problem = lw.problem();
  const x = problem.variables("position", { shape: 3, values });
  const turn = problem.variables("rotation", { shape: 3, values: new Float32Array(values.length) });
  const rest = problem.constants("rest", { shape: 3, values });
  problem.residuals("arap", { over: edges(mesh.triangles, { directed: true }), of: [x, x, turn.at(0), rest.at(0), rest.at(1)] },
    ([a, b, w, a0, b0]) => a.sub(b).sub(rotateXYZ(w, a0.sub(b0))));
  problem.residuals("handles", { of: [x.at(mesh.handles)], data: { target: column(mesh.targets, 3) }, weight: 5 },
    ([p], { target }) => p.sub(target));
  const report = await problem.solve({ linear: "pcg", costTolerance: 1e-7, maxIterations: 200 });
  const [positions, angles] = [await x.read(new Float64Array(values.length)), await turn.read(new Float64Array(values.length))];
  const result = { backend: lw.backend, reason: lw.reason, converged: report.converged, report: String(report), positions: [...positions], angles: [...angles] };
  lw.dispose();
  return result;
};
