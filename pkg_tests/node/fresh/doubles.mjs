// A fit and a mesh in double-floats, or in what f32 goes on in: prints each one's precision and the bits of what it found. Arguments: the
// precision, and which of the two.
import { createHash } from "node:crypto";
import { init } from "leastwise";
import { nist, readNist } from "../../problems/nist.mjs";
import { arap, arapMesh, icosphere } from "../support.mjs";

const [precision, ...names] = process.argv.slice(2);
const lw = await init({ backend: "webgpu", ...(precision === "unasked" ? {} : { precision }) });
// No change of the cost is small enough: f32 goes on until it can't.
const options = { costTolerance: 0, stepTolerance: 0, gradientTolerance: 0, maxIterations: 60 };
const problems = {
  fit: () => { const { problem, b } = nist(lw, "Lanczos1", readNist("Lanczos1"), 0); return [problem, b, {}]; },
  mesh: () => { const { problem, x } = arap(lw, arapMesh(icosphere(1))); return [problem, x, { linear: "pcg", ...options }]; },
};
for (const name of names) {
  const [problem, table, how] = problems[name]();
  const report = await problem.solve(how);
  const hash = createHash("sha256").update(await table.read());
  hash.update(JSON.stringify([report.costByTerm, report.iterations.map(({ ms, ...numbers }) => numbers)]));
  console.log(report.precision, hash.digest("hex"));
}
lw.dispose();
