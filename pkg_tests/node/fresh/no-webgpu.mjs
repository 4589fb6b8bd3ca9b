// Runs where `leastwise` is installed and `webgpu` is not. Prints what "auto" takes and what "webgpu" says.
import { init } from "leastwise";

const lw = await init();
const problem = lw.problem();
const u = problem.variables("u", { shape: 1, values: [1, 2] });
problem.residuals("t", { of: [u] }, ([a]) => a.sub(3));
const { converged } = await problem.solve();
const refused = await init({ backend: "webgpu" }).catch(({ code, message }) => ({ code, message }));
console.log(JSON.stringify({ backend: lw.backend, reason: lw.reason, device: lw.device === undefined, converged, refused }));
