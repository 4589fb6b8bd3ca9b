// Solves with products and with a factorisation on the host, and prints the bits of what it found.
import { createHash } from "node:crypto";
import { init } from "leastwise";
import { arap, arapMesh, icosphere } from "../../node/support.mjs";

const lw = await init({ backend: "cuda" });
const hash = createHash("sha256");
for (const linear of ["pcg", "sparse-cholesky"]) {
  const { problem, x } = arap(lw, arapMesh(icosphere(4)));
  await problem.solve({ linear, maxIterations: 3 });
  hash.update(await x.read(new Float64Array(3 * x.count)));
}
console.log(hash.digest("hex"));
lw.dispose();
