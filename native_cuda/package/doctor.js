#!/usr/bin/env node
// `leastwise-cuda doctor`: what is there, and whether it computes. Ends with 0 where CUDA works, with 1 where it does not.
// `leastwise-cuda run` is in run.js.
const [command, ...rest] = process.argv.slice(2);
if (command === "run") {
  const { Refused, run, USAGE } = await import("./run.js");
  try {
    process.exit(await run(rest));
  } catch (error) {
    if (error instanceof Refused) console.error(`leastwise-cuda run: ${error.message}\n\n${USAGE}`);
    else console.error(`leastwise-cuda run: ${error.message}`);
    process.exit(error instanceof Refused ? 2 : 1);
  }
}
if (command !== "doctor" || rest.length) {
  console.error("leastwise-cuda doctor   says what was found of CUDA and runs a self-test\nleastwise-cuda run      starts a script on several GPUs");
  process.exit(2);
}

const line = (name, text) => console.log(`${`${name}:`.padEnd(12)}${text}`);

/** A sheet of springs that was pulled out of shape: its cost and where its points end. */
async function sheet(lw, side) {
  const problem = lw.problem();
  const at = (i, j) => side * i + j;
  const points = [], over = [];
  for (let i = 0; i < side; i++) {
    for (let j = 0; j < side; j++) {
      points.push(i + 0.3 * Math.sin(3 * j), j + 0.3 * Math.cos(5 * i), 0.2 * Math.sin(i * j));
      if (i) over.push(at(i - 1, j), at(i, j));
      if (j) over.push(at(i, j - 1), at(i, j));
    }
  }
  const x = problem.variables("points", { shape: 3, values: Float64Array.from(points) });
  problem.residuals("springs", { over: Uint32Array.from(over), of: [x, x] }, ([a, b]) => a.sub(b).norm().sub(1));
  const corners = [at(0, 0), at(0, side - 1), at(side - 1, 0), at(side - 1, side - 1)];
  const target = corners.map((corner) => [Math.floor(corner / side), corner % side, 0]).flat();
  const { column } = await import("leastwise");
  problem.residuals("corners", { of: [x.at(corners)], data: { target: column(Float64Array.from(target), 3) }, weight: 10 }, ([p], { target }) => p.sub(target));
  const report = await problem.solve({ linear: "pcg", maxIterations: 20, costTolerance: 0 });
  const found = { cost: report.cost, initialCost: report.initialCost, points: await x.read(new Float64Array(points.length)), ms: report.time.solveMs };
  problem.dispose();
  return found;
}

/** Two solves there and one in WebAssembly: the former to the bit the same, and all three alike. */
async function selfTest(options) {
  const { init } = await import("leastwise");
  const reference = await init({ backend: "cpu", precision: "f64" });
  const lw = await init({ ...options, backend: "cuda", precision: "f64" });
  try {
    const expected = await sheet(reference, 24), [first, second] = [await sheet(lw, 24), await sheet(lw, 24)];
    if (!first.points.every((value, k) => value === second.points[k])) throw new Error("two solves of the same differ");
    const error = Math.abs(first.cost - expected.cost) / expected.initialCost;
    if (!(error < 1e-6)) throw new Error(`the cost is ${first.cost}, and ${expected.cost} was expected`);
    return `passed: a cost of ${first.cost.toExponential(6)} in ${second.ms.toFixed(1)} ms, ${error.toExponential(1)} from what WebAssembly finds`;
  } finally {
    lw.dispose();
    reference.dispose();
  }
}

let works = false;
try {
  const { probe } = await import("./index.js");
  const found = probe();
  line("driver", found.driver ? `CUDA ${found.driver}` : "not found");
  line("NVRTC", found.nvrtc ?? "not found");
  line("kernels", found.images ?? "none came compiled: NVRTC compiles all");
  line("cuBLAS", found.cublas ?? "not found (nothing depends on it)");
  line("NCCL", found.nccl ?? "not found (several GPUs need it, one does not)");
  for (const { index, name, architecture, bytes } of found.gpus) line(`GPU ${index}`, `${name}, ${(bytes / 2 ** 30).toFixed(1)} GiB, compute capability ${architecture.join(".")}`);
  if (found.missing) {
    line("CUDA", `can't be used: ${found.missing}`);
    process.env.LEASTWISE_ADDON = "cpu";
    line("self-test", `of the addon on the CPU ${await selfTest({})}`);
  } else {
    works = true;
    for (const { index } of found.gpus) {
      const outcome = await selfTest({ cudaDevice: index }).catch((error) => {
        works = false;
        return `failed: ${error.message}`;
      });
      line("self-test", `of GPU ${index} ${outcome}`);
    }
  }
} catch (error) {
  works = false;
  line("failed", error.code === "ERR_MODULE_NOT_FOUND" && error.message.includes("package 'leastwise'") ? "leastwise is not installed beside it (npm install leastwise)" : error.message);
}
line("verdict", works ? "init({ backend: \"cuda\" }) works here" : "init({ backend: \"cuda\" }) does not work here");
process.exitCode = works ? 0 : 1;
