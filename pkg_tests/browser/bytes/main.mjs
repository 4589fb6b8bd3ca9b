// Four small programs, of which the test counts what they fetch.
import { cauchy, init, quaternion, rotateXYZ } from "leastwise";

const count = 300;
const next = Uint32Array.from({ length: count - 1 }, (_, k) => k + 1), own = next.map((k) => k - 1);

async function solve(options) {
  const lw = await init(options);
  const problem = lw.problem(), values = Float64Array.from({ length: 3 * count }, (_, k) => Math.sin(k));
  const x = problem.variables("x", { shape: 3, values }), turn = problem.variables("turn", { shape: 3, values: new Float64Array(3 * count) });
  const pose = problem.variables("pose", { shape: quaternion, values: Float64Array.from({ length: 4 * count }, (_, k) => (k % 4 === 3 ? 0.8 : k % 4 === 0 ? 0.6 : 0)) });
  problem.residuals("edges", { of: [x.at(own), x.at(next), turn.at(own)], loss: cauchy(1) }, ([a, b, w]) => a.sub(b).sub(rotateXYZ(w, a)));
  problem.residuals("poses", { of: [pose.at(own), pose.at(next)] }, ([a, b]) => a.conjugate().mul(b).toAngleAxis());
  problem.residuals("poses held", { of: [pose] }, ([a]) => a.toAngleAxis());
  problem.residuals("held", { of: [x, turn] }, ([a, w]) => [a.x.sub(1), a.y, a.z, w.x, w.y, w.z]);
  const { linear, converged } = await problem.solve({ linear: "pcg" });
  const moved = (await x.read()).some((value, k) => value !== values[k]);
  lw.dispose();
  return { linear, converged, moved };
}

window.programs = {
  webgpu: () => solve({ backend: "webgpu" }),
  webgpuInF32: () => solve({ backend: "webgpu", precision: "f32" }),
  cpu: () => solve({ backend: "cpu" }),
  async clusters() {
    const lw = await init({ backend: "cpu" });
    const { clusters } = await lw.cluster(Float32Array.from({ length: 800 }, (_, k) => Math.sin(k * k)), { dim: 4, clusters: 5 });
    lw.dispose();
    return { clusters };
  },
};
