// An engine whose host forbids compiling what the engine writes, as a page's content policy does; prints how often it was asked, the
// reasons that a report gives, and the programs that a tuning table knows.
const { init, preload } = await import("leastwise");
const { arap, arapMesh, icosphere } = await import("../support.mjs");
const lw = await init({ backend: "cpu" });
// The engine's own parts are there before.
await preload({ everything: true });
let asked = 0;
const refuse = (where) => {
  asked += 1;
  return new WebAssembly.CompileError(`${where}(): Wasm code generation disallowed by embedder`);
};
const { instantiate } = WebAssembly;
// Node's own fetch, which may still be on its way, imports `env`.
WebAssembly.instantiate = (module, imports) => (imports?.env ? instantiate(module, imports) : Promise.reject(refuse("WebAssembly.instantiate")));
WebAssembly.Module = class { constructor() { throw refuse("WebAssembly.Module"); } };
const { problem } = arap(lw, arapMesh(icosphere(3)));
const solve = () => problem.solve({ linear: "pcg", maxIterations: 2 });
await solve();
const report = await solve();
const reasons = report.evaluators.filter(({ instances }) => instances >= 256).map(({ evaluator, reason }) => (evaluator === "interpreted" ? reason : evaluator));
const table = await lw.tune(problem);
console.log(JSON.stringify({ asked, reasons: [...new Set(reasons)], tuned: Object.keys(table.evaluators ?? {}) }));
lw.dispose();
