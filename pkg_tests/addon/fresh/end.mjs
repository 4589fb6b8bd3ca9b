// Must end by itself. "leave": after a solve. "leave-solving": a solve that nobody waits for is done first. "exit-solving": by process.exit() in the
// midst of one. "dispose-solving": an engine disposed in the midst of one.
import { init } from "leastwise";
import { arap, arapMesh, icosphere } from "../../node/support.mjs";

const [how] = process.argv.slice(2);
const lw = await init({ backend: "cuda" });
const { problem } = arap(lw, arapMesh(icosphere(3)));
if (how === "leave") {
  await problem.solve({ maxIterations: 3 });
  globalThis.gc?.();
  console.log("done");
} else {
  const solving = problem.solve(how === "leave-solving" ? { maxIterations: 3 } : { maxIterations: 1e6, costTolerance: 0, gradientTolerance: 0, stepTolerance: 0 });
  if (how === "leave-solving") void solving.then(() => console.log("done"));
  else {
    setTimeout(() => {
      console.log("done");
      if (how === "exit-solving") process.exit();
      lw.dispose();
    }, 50);
    await solving.catch((error) => { if (error.code !== "disposed") throw error; });
  }
}
