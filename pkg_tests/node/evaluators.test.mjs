// What runs the programs of terms on the CPU: the block interpreter, or WebAssembly that the engine writes. The same bits, what reports and
// tuning tables say, and what happens where compiling is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { atan2, cauchy, column, exp, init, log, pow, sin, sqrt } from "leastwise";
import { arap, arapMesh, icosphere, inFreshProcess, open, refuses, rejects } from "./support.mjs";

const mesh = arapMesh(icosphere(3));
const forced = (evaluator) => ({ products: {}, evaluators: { "*": evaluator } });
const original = WebAssembly.instantiate;

/** Every module that is compiled while `work` runs, and the table that its function is put into; `instead` may do something else. */
async function watched(work, instead = original) {
  const begun = [];
  let functions;
  WebAssembly.instantiate = (bytes, imports) => {
    const made = imports?.engine ? instead(bytes, imports) : original(bytes, imports);
    if (imports?.engine) {
      functions = imports.engine.functions;
      begun.push(made);
    }
    return made;
  };
  // The engine hears of it in a later turn of the event loop.
  const settled = async () => {
    await Promise.allSettled(begun);
    await new Promise((resolve) => setTimeout(resolve, 5));
  };
  try {
    return await work({ settled, compiled: () => begun.length, places: () => functions.length });
  } finally {
    await settled();
    WebAssembly.instantiate = original;
  }
}

/** A problem with functions of every kind, a loss, an energy, and 642 vertices. */
function everything(lw) {
  const { problem, x, turn } = arap(lw, mesh);
  const one = Float64Array.from({ length: mesh.rest.length / 3 }, (_, k) => 0.5 + (k % 7) / 7);
  problem.residuals("functions", { of: [x], data: { k: one }, weight: 1e-3 }, ([p], { k }) => exp(p.x.mul(0.1)).add(log(p.y.square().add(k))).add(atan2(p.z, k)).add(pow(k, p.x)).sub(1));
  problem.residuals("robust", { of: [x, turn], data: { rest: column(mesh.rest, 3) }, weight: 1e-2, loss: cauchy(0.1) }, ([p, w], { rest }) => p.sub(rest).add(w.mul(0.1)));
  problem.energy("waves", { of: [x, turn], weight: 1e-3 }, ([p, w]) => sin(p.x.mul(3)).add(sqrt(w.normSq().add(1))).add(p.normSq()));
  return { problem, x, turn };
}

async function solved(lw, options = { linear: "pcg", maxIterations: 6 }) {
  const { problem, x, turn } = everything(lw);
  const report = await problem.solve(options);
  const values = [await x.read(new Float64Array(mesh.rest.length)), await turn.read(new Float64Array(mesh.rest.length))];
  const numbers = report.iterations.map(({ ms: _, ...numbers }) => numbers);
  problem.dispose();
  return { report, result: { values, numbers, cost: report.cost } };
}

for (const precision of ["f64", "f32"]) {
  test(`a whole solve in ${precision} has the same bits by either evaluator, and while modules are being compiled`, async (t) => {
    const plain = await solved(await open(t, { backend: "cpu", precision, tuning: forced("interpreted") }));
    assert.ok(plain.report.evaluators.length >= 24, `${plain.report.evaluators.length} programs`);
    for (const { evaluator, reason } of plain.report.evaluators) assert.deepEqual([evaluator, reason], ["interpreted", "the tuning table says so"]);
    await watched(async ({ settled, compiled }) => {
      const lw = await open(t, { backend: "cpu", precision, tuning: forced("compiled") });
      const meanwhile = await solved(lw);
      await settled();
      const count = compiled();
      assert.ok(count >= 24, `${count} modules`);
      const after = await solved(lw);
      for (const { report, result } of [meanwhile, after]) {
        assert.deepEqual(result, plain.result);
        for (const { evaluator, instances, reason } of report.evaluators) {
          if (evaluator === "interpreted") assert.ok(instances < 64 && /^it has fewer than (2|4|64) instances, and its module computes so many at least$/.test(reason), reason);
        }
      }
      const states = ({ report }) => new Set(report.evaluators.filter(({ evaluator }) => evaluator === "compiled").map(({ module }) => module));
      assert.ok(states(meanwhile).has("compiling") || states(meanwhile).has("ready"));
      assert.deepEqual([...states(after)], ["ready"]);
      assert.equal(compiled(), count, "what is known is not compiled again");
    });
  });
}

test("what runs is the module: one that does nothing spoils the solve", async (t) => {
  // (func (export "run") (param i32 i32) (result i32) i32.const 0)
  const nothing = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 7, 1, 3, 114, 117, 110, 0, 0, 10, 6, 1, 4, 0, 65, 0, 11);
  const lw = await open(t, { backend: "cpu" });
  await watched(async ({ settled }) => {
    const { result } = await solved(lw);
    await settled();
    const spoilt = await solved(lw);
    assert.notDeepEqual(spoilt.result.cost, result.cost);
  }, () => original(nothing, {}));
});

test("by default programs of 256 instances or more are compiled; the report says so", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const { report } = await solved(lw);
  const few = report.evaluators.filter(({ program }) => program.startsWith("handles"));
  assert.ok(few.length === 6 && few[0].instances < 256, JSON.stringify(few));
  for (const { evaluator, reason } of few) assert.deepEqual([evaluator, reason], ["interpreted", "it has fewer than 256 instances"]);
  const many = report.evaluators.filter((each) => !few.includes(each));
  assert.ok(many.length >= 18);
  for (const { program, instances, evaluator, reason, key } of many) {
    assert.deepEqual([evaluator, reason], ["compiled", "it has 256 instances or more"]);
    assert.match(program, /^(arap|functions|robust|waves): (linearize|energy|change|gradient|diagonal|product)$/);
    assert.match(key, new RegExp(`^[0-9a-f]{16}/${Math.floor(Math.log2(instances))}$`));
  }
  assert.match(report.toString(), /^Programs: (?=.*\b6 interpreted \(it has fewer than 256 instances\))(?=.*\d+ (compiled \(it has 256 instances or more\)|interpreted \(being compiled\)))/m);
  const direct = await solved(lw, { linear: "sparse-cholesky", maxIterations: 2 });
  assert.ok(direct.report.evaluators.every(({ program }) => !program.endsWith("product")), "products are those of conjugate gradients");
});

test("where compiling is refused the interpreter goes on, with the same bits, and the report says why", async (t) => {
  const plain = await solved(await open(t, { backend: "cpu", tuning: forced("interpreted") }));
  const error = () => new WebAssembly.CompileError("WebAssembly.instantiate(): Wasm code generation disallowed by embedder");
  for (const refuse of [() => Promise.reject(error()), () => { throw error(); }]) {
    const lw = await open(t, { backend: "cpu" });
    const [first, second] = await watched(async ({ settled }) => {
      const first = await solved(lw);
      await settled();
      return [first, await solved(lw)];
    }, refuse);
    assert.deepEqual([first.result, second.result], [plain.result, plain.result]);
    const refused = second.report.evaluators.filter(({ instances }) => instances >= 256);
    assert.ok(refused.length >= 18);
    for (const { evaluator, reason } of refused) assert.deepEqual([evaluator, reason], ["interpreted", `it can't be compiled here: ${error()}`]);
    assert.match(second.report.toString(), /interpreted \(it can't be compiled here: CompileError: .*disallowed by embedder\)/);
  }
});

test("where compiling is forbidden to the whole page it is asked once, and tune() finds no choice", async () => {
  const { asked, reasons, tuned } = JSON.parse(await inFreshProcess("fresh/forbidden.mjs"));
  assert.equal(asked, 1);
  assert.deepEqual(reasons, ["it can't be compiled here: CompileError: WebAssembly.Module(): Wasm code generation disallowed by embedder"]);
  assert.deepEqual(tuned, []);
});

test("tune() measures programs by both evaluators; its table decides, is JSON, and gives the same bits elsewhere", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const it = everything(lw);
  const start = await it.x.read();
  const table = await lw.tune(it.problem);
  assert.deepEqual(await it.x.read(), start, "values stay");
  assert.deepEqual(lw.tuning, table);
  const report = await it.problem.solve({ linear: "pcg", maxIterations: 4 });
  for (const { key, instances, evaluator, reason } of report.evaluators) {
    // Where a module can't run there was no choice.
    if (table.evaluators[key] === undefined) assert.deepEqual([instances < 64, evaluator, reason], [true, "interpreted", "it has fewer than 256 instances"]);
    else assert.deepEqual([evaluator, reason], [table.evaluators[key], "the tuning table says so"], `${key}: ${JSON.stringify(table)}`);
  }
  const other = await open(t, { backend: "cpu", tuning: JSON.parse(JSON.stringify(table)) });
  const again = await everything(other).problem.solve({ linear: "pcg", maxIterations: 4 });
  const chosen = ({ evaluators }) => evaluators.map(({ module: _, ...chosen }) => chosen);
  assert.deepEqual(chosen(again), chosen(report));
  assert.equal(again.cost, report.cost);
});

test("places in the engine's table of functions are used again", async (t) => {
  await watched(async ({ settled, places }) => {
    const sizes = [];
    for (let round = 0; round < 4; round++) {
      const lw = await init({ backend: "cpu" });
      await solved(lw);
      await settled();
      sizes.push(places());
      lw.dispose();
    }
    t.diagnostic(`places: ${sizes}`);
    assert.equal(sizes[3], sizes[1]);
  });
});

test("an engine may be disposed while its modules are being compiled", async () => {
  await watched(async ({ settled, compiled }) => {
    const lw = await init({ backend: "cpu" });
    const { problem } = everything(lw);
    await problem.solve({ linear: "pcg", maxIterations: 1 });
    assert.ok(compiled() > 0);
    lw.dispose();
    await settled();
  });
});

test("hostile tables of evaluators are refused, with what is wrong", async (t) => {
  const lw = await open(t, { backend: "cpu" });
  const names = '"interpreted", "compiled"';
  const set = (evaluators) => () => lw.setTuning({ products: {}, evaluators });
  refuses(set(null), "invalid-option", "tuning table: evaluators must be an object, not null");
  refuses(set({ "*": "fast" }), "invalid-option", `tuning table: evaluators["*"] is "fast", which is not one of ${names}`);
  refuses(set({ "*": "two-pass" }), "invalid-option", `tuning table: evaluators["*"] is "two-pass", which is not one of ${names}`);
  refuses(set({ x: "compiled" }), "invalid-option", 'tuning table: no program can be called "x"; it must be one that tune() made');
  await rejects(init({ backend: "cpu", tuning: { products: {}, evaluators: { "*": 7 } } }), "invalid-option", `tuning table: evaluators["*"] is 7, which is not one of ${names}`);
  lw.setTuning({ products: { "*": "two-pass" }, evaluators: { "*": "interpreted" } });
  assert.deepEqual(lw.tuning, { products: { "*": "two-pass" }, evaluators: { "*": "interpreted" } });
});
