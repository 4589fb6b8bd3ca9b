// Bad input: every error, whole. Nothing that was made before it is lost.
import assert from "node:assert/strict";
import { test } from "node:test";
import { column, init, LeastwiseError, select, sin, sum, vec, vector } from "leastwise";
import { edges, weld } from "leastwise/mesh";
import { ADDON, arap, arapMesh, BACKENDS, deviceOfNothing, icosphere, inFreshProcess, open, refuses, rejects } from "./support.mjs";

const line = () => ({ shape: 3, values: [0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0] });

/** A problem with four points, that solves. */
async function four(t, backend = "cpu") {
  const lw = await open(t, { backend });
  const problem = lw.problem();
  const x = problem.variables("x", line());
  const term = problem.residuals("pull", { of: [x], data: { to: [1, 1, 1] } }, ([p], { to }) => p.sub(to));
  return { lw, problem, x, term };
}

const held = (lw) => ({ live: lw.memory().live, objects: lw.memory().objects });

/** After an error, the problem is what it was, and nothing more is held: not even of a term that was refused last of all. */
async function stillSolves({ lw, problem, x }) {
  const before = held(lw);
  refuses(() => problem.residuals("late", { of: [x], data: { d: Float32Array.of(1, 2, NaN, 4) } }, ([a], { d }) => a.mul(d)), "non-finite",
    'term "late": data column "d" is not finite: value 2 is NaN', { term: "late", instance: 2 });
  assert.deepEqual(held(lw), before, "memory after a column that was refused");
  refuses(() => problem.residuals("late", { of: [x], weight: -1 }, ([a]) => a), "invalid-option", 'term "late": weight must not be negative, but value 0 is');
  assert.deepEqual(held(lw), before, "memory after a weight that was refused");
  const report = await problem.solve();
  assert.equal(report.converged, true, String(report));
  for (const value of await x.read()) assert.ok(Math.abs(value - 1) < 1e-3, `${value}`);
}

for (const backend of BACKENDS) {
  test(`indices on ${backend}: out of range, negative, not whole; the term, slot and instance are named`, async (t) => {
    const it = await four(t, backend);
    const { problem, x } = it;
    const pair = ([a, b]) => a.sub(b);
    refuses(() => problem.residuals("far", { over: [0, 1, 2, 4], of: [x, x] }, pair), "index-out-of-range",
      'term "far": slot 1 of instance 1 has index 4, but "x" has 4 instances (0 to 3)', { term: "far", slot: 1, instance: 1 });
    refuses(() => problem.residuals("minus", { over: Int32Array.of(0, 1, -1, 2), of: [x, x] }, pair), "index-out-of-range",
      'term "minus": slot 0 of instance 1 has index -1, which is no index (0, 1, 2, …)', { term: "minus", slot: 0, instance: 1 });
    refuses(() => problem.residuals("half", { of: [x, x.at([0, 0, 0, 0.5])] }, pair), "index-out-of-range",
      'term "half": slot 1 of instance 3 has index 0.5, which is no index (0, 1, 2, …)', { term: "half", slot: 1, instance: 3 });
    refuses(() => problem.residuals("count", { over: 5, of: [x] }, ([a]) => a), "index-out-of-range",
      'term "count": slot 0 of instance 4 has index 4, but "x" has 4 instances (0 to 3)', { term: "count", slot: 0, instance: 4 });
    refuses(() => x.write([1, 2, 3], { at: [4] }), "index-out-of-range", '"x": index 4 is out of range: it has 4 instances (0 to 3)');
    refuses(() => x.write([1, 2, 3], { at: [-1] }), "index-out-of-range", '"x": at[0] is -1, which is no index');
    await stillSolves(it);
  });

  test(`lengths on ${backend}: tables, data, weights, index columns, reads`, async (t) => {
    const it = await four(t, backend);
    const { problem, x, term } = it;
    refuses(() => problem.variables("odd", { shape: 3, values: [1, 2] }), "data-length", '"odd": values has 2 values, but a positive multiple of 3 (its shape) are needed');
    refuses(() => problem.constants("none", { shape: 3, values: [] }), "data-length", '"none": values has 0 values, but a positive multiple of 3 (its shape) are needed');
    refuses(() => problem.variables("counted", { shape: 3, values: [1, 2, 3], count: 2 }), "data-length", '"counted": values has 3 values, but 6 are needed (2 instances of 3)');
    refuses(() => problem.residuals("data", { of: [x], data: { d: new Float32Array(3) } }, ([a], { d }) => a.mul(d)), "data-length",
      'term "data": data column "d" has 3 values, but 4 (4 instances of 1) are needed', { term: "data" });
    refuses(() => problem.residuals("wide", { of: [x], data: { d: column(new Float32Array(4), 3) } }, ([a], { d }) => a.sub(d)), "data-length",
      'term "wide": data column "d" has 4 values, but 12 (4 instances of 3) are needed', { term: "wide" });
    refuses(() => problem.residuals("weighed", { of: [x], weight: new Float32Array(5) }, ([a]) => a), "data-length",
      'term "weighed": weight has 5 values, but 4 (4 instances of 1) are needed', { term: "weighed" });
    refuses(() => problem.residuals("rows", { over: [0, 1, 2], of: [x, x] }, ([a, b]) => a.sub(b)), "data-length",
      'term "rows": `over` has 3 indices, which is not a multiple of its 2 columns (the highest column that a slot takes is 1)', { term: "rows" });
    refuses(() => problem.residuals("columns", { of: [x.at([0, 1]), x.at([0])] }, ([a, b]) => a.sub(b)), "data-length",
      'term "columns": the index column of slot 1 ("x") has 1 entries, but the term has 2 instances', { term: "columns", slot: 1 });
    const five = problem.constants("five", { shape: 3, values: new Float32Array(15) });
    refuses(() => problem.residuals("uneven", { of: [x, five] }, ([a, b]) => a.sub(b)), "data-length",
      'term "uneven": slot 1 ("five") has 5 instances, but the term has 4: slots without indices take instance i for instance i', { term: "uneven", slot: 1 });
    refuses(() => x.write([1, 2]), "data-length", '"x": values has 2 values, but 12 (4 instances of 3) are needed');
    await rejects(x.read(new Float32Array(3)), "data-length", '"x".read(out): out has 3 values, but 12 are needed (4 instances of 3)');
    refuses(() => term.set({ to: [1, 2] }), "invalid-option",
      'term "pull": data column "to" was made as 3 shared by all instances; another layout would be another kernel: make a new term', { term: "pull" });
    await stillSolves(it);
  });

  test(`values that are not finite on ${backend}: tables, data, weights, numbers in the residual, the residual itself`, async (t) => {
    const it = await four(t, backend);
    const { problem, x, term } = it;
    refuses(() => problem.variables("v", { shape: 2, values: [0, 1, NaN, 3] }), "non-finite", '"v" is not finite: value 2 is NaN', { instance: 1 });
    refuses(() => problem.constants("c", { shape: 2, values: [0, 1, 1, Infinity] }), "non-finite", '"c" is not finite: value 3 is inf', { instance: 1 });
    refuses(() => problem.residuals("d", { of: [x], data: { d: Float32Array.of(1, 2, NaN, 4) } }, ([a], { d }) => a.mul(d)), "non-finite",
      'term "d": data column "d" is not finite: value 2 is NaN', { term: "d", instance: 2 });
    refuses(() => problem.residuals("w", { of: [x], weight: NaN }, ([a]) => a), "non-finite", 'term "w": weight is not finite: value 0 is NaN', { term: "w" });
    const range = backend === "webgpu" ? ", and at most 3.4e38" : "";
    refuses(() => problem.residuals("number", { of: [x] }, ([a]) => a.mul(1 / 0)), "non-finite",
      `the residual "number" uses the number Infinity: numbers in an expression must be finite${range}`, { term: "number" });
    refuses(() => x.write([1, 2, NaN], { at: [2] }), "non-finite", '"x" is not finite: value 2 is NaN', { instance: 0 });
    refuses(() => term.set({ to: [1, NaN, 1] }), "non-finite", 'term "pull": data column "to" is not finite: value 1 is NaN', { term: "pull" });
    const zero = problem.variables("zero", { shape: 1, values: [1, 2, 0] });
    const blown = problem.residuals("blown", { of: [zero], data: { one: 1 } }, ([a], { one }) => a.div(a).add(one));
    await rejects(problem.solve(), "non-finite",
      'term "blown": the residual of instance 2 is not finite at the current values; change them, or guard the expression with select()', { term: "blown", instance: 2 });
    blown.dispose();
    await stillSolves(it);
  });

  test(`two calls at once on ${backend}: the second is refused, the first goes on`, async (t) => {
    const lw = await open(t, { backend });
    const { problem, x, handles, rigid } = arap(lw, arapMesh(icosphere(backend === "webgpu" ? 1 : 4)));  // large enough for a time slice
    const other = problem.solver();
    const first = problem.solve({ maxIterations: 3 });
    const busy = "this problem is already being solved or read: wait for the running call, or stop it with its signal";
    await rejects(problem.solve(), "busy", busy);
    // Between two steps values can be read; the addon's thread may be there.
    if (!ADDON) await rejects(x.read(), "busy", busy);
    await rejects(handles.cost(), "busy", busy);
    await rejects(other.step(), "busy", busy);
    await rejects(other.report(), "busy", busy);
    refuses(() => problem.solver(), "busy", busy);
    refuses(() => other.advance(), "busy", busy);
    refuses(() => { rigid.enabled = false; }, "busy", busy);
    refuses(() => rigid.dispose(), "busy", busy);
    refuses(() => problem.variables("late", { shape: 1, values: [1] }), "busy", busy);
    assert.equal(rigid.enabled, true);
    assert.equal((await first).iterations.length, 3);
    assert.equal((await problem.solve({ maxIterations: 1 })).iterations.length, 1);
  });

  test(`what was disposed can't be used on ${backend}`, async (t) => {
    const { lw, problem, x, term } = await four(t, backend);
  const solver = problem.solver();
    solver.dispose();
    solver.dispose();
    const noSolver = "this solver was disposed: it can't be used any more";
    await rejects(solver.step(), "disposed", noSolver);
    await rejects(solver.report(), "disposed", noSolver);
    refuses(() => solver.advance(), "disposed", noSolver);
    const other = problem.residuals("other", { of: [x] }, ([a]) => a);
    other.dispose();
    other.dispose();
    const noTerm = 'term "other" was disposed: it can\'t be used any more';
    await rejects(other.cost(), "disposed", noTerm, { term: "other" });
    refuses(() => other.set({ weight: 2 }), "disposed", noTerm, { term: "other" });
    refuses(() => { other.enabled = false; }, "disposed", noTerm, { term: "other" });
    const left = problem.solver();
    problem.dispose();
    problem.dispose();
    term.dispose();
    const noProblem = "this problem was disposed: it can't be used any more";
    for (const work of [() => problem.variables("v", line()), () => problem.residuals("t", { of: [x] }, ([a]) => a), () => problem.solver(), () => x.write(line().values), () => x.buffer, () => left.advance()]) {
      if (backend === "cpu" && String(work) === "() => x.buffer") continue;       // undefined there
      refuses(work, "disposed", noProblem);
    }
    for (const promise of [problem.solve(), x.read(), left.step()]) await rejects(promise, "disposed", noProblem);
    const kept = lw.problem();
    const y = kept.variables("y", line());
    lw.dispose();
    lw.dispose();
    const noEngine = "this engine was disposed: call init() for a new one";
    refuses(() => lw.problem(), "disposed", noEngine);
    refuses(() => kept.variables("v", line()), "disposed", noEngine);
    await rejects(y.read(), "disposed", noEngine);
  });
}

test("an empty term and an empty problem", async (t) => {
  const it = await four(t);
  const { lw, problem, x } = it;
  refuses(() => problem.residuals("empty", { over: [], of: [x, x] }, ([a, b]) => a.sub(b)), "empty-term",
    'term "empty" has no instances: leave it out, or disable it with term.enabled = false', { term: "empty" });
  refuses(() => problem.residuals("nobody", { of: [x.at(new Uint32Array(0))] }, ([a]) => a), "empty-term",
    'term "nobody" has no instances: leave it out, or disable it with term.enabled = false', { term: "nobody" });
  const empty = lw.problem();
  await rejects(empty.solve(), "empty-term", "the problem has no variables: add some before solving");
  empty.variables("v", line());
  await rejects(empty.solve(), "empty-term", "the problem has no enabled residual terms: add some before solving");
  await stillSolves(it);
});

test("a function that returns no residual", async (t) => {
  const it = await four(t);
  const { problem, x } = it;
  const advice = "return a scalar, a vector, a matrix, a quaternion, or an array of them (is a `return` missing?)";
  const returns = { undefined: undefined, "a number": 0, null: null, "a promise": Promise.resolve(), "an empty array": [], "an Object": {}, "a string": "r", "a Bool": "bool" };
  for (const [name, value] of Object.entries(returns)) {
    refuses(() => problem.residuals("t", { of: [x] }, ([a]) => (value === "bool" ? a.x.gt(0) : value)), "no-residual", `the residual "t" returned ${name}: ${advice}`, { term: "t" });
  }
  refuses(() => problem.residuals("t", { of: [x] }, ([a]) => [a, undefined]), "no-residual", `the residual "t" returned undefined: ${advice}`, { term: "t" });
  refuses(() => problem.residuals("t", { of: [x] }, async ([a]) => a), "no-residual", `the residual "t" returned a promise: ${advice}`, { term: "t" });
  refuses(() => problem.residuals("t", { of: [x] }), "no-residual", 'term "t": the residual must be a function, not undefined', { term: "t" });
  // A bug in the function is the caller's: it comes out as it is.
  assert.throws(() => problem.residuals("t", { of: [x] }, () => { throw new RangeError("mine"); }), new RangeError("mine"));
  await stillSolves(it);
});

test("variables of another problem, expressions of another function", async (t) => {
  const it = await four(t);
  const { lw, problem, x } = it;
  const y = lw.problem().variables("y", line());
  refuses(() => problem.residuals("t", { of: [x, y] }, ([a, b]) => a.sub(b)), "foreign-variable", 'term "t": slot 1 is "y" of another problem', { term: "t", slot: 1 });
  refuses(() => problem.residuals("t", { of: { x, y: y.at([0, 1, 2, 3]) } }, ({ x, y }) => x.sub(y)), "foreign-variable", 'term "t": slot y is "y" of another problem', { term: "t", slot: 1 });
  let kept;
  problem.residuals("keeps", { of: [x] }, ([a]) => { kept = a; return a; }).dispose();
  const of = 'every residual only knows the arguments of its own function';
  refuses(() => problem.residuals("t", { of: [x] }, ([a]) => a.sub(kept)), "foreign-expression", `the residual "t" uses an expression of the residual "keeps": ${of}`, { term: "t" });
  refuses(() => problem.residuals("t", { of: [x] }, () => kept), "foreign-expression", `the residual "t" returned an expression of the residual "keeps": ${of}`, { term: "t" });
  refuses(() => kept.norm(), "foreign-expression",
    'an expression of the residual "keeps" was used after its function had returned: a residual is traced once, so nothing may keep its expressions', { term: "keeps" });
  await stillSolves(it);
});

test("JavaScript's operators do not trace: the message says what does", async (t) => {
  const it = await four(t);
  const { problem, x } = it;
  const message = 'the residual "t" used an expression as a JavaScript number or string (an operator such as + or <, Math.*, a template string, sorting): it has no value while it is traced. '
    + "Use methods and functions instead: a.add(b) for a + b, sin(a) for Math.sin(a), select(a.lt(b), x, y) for a < b ? x : y";
  const uses = [(a) => a.x + 1, (a) => a.x * 2, (a) => -a.x, (a) => a + a, (a) => (a.x < a.y ? a.x : a.y), (a) => a.x == 1, (a) => Math.sin(a.x), (a) => Math.max(a.x, a.y),
    (a) => `${a.x}`, (a) => String(a), (a) => Number(a.x), (a) => [a.x, a.y].sort()[0], (a) => JSON.stringify(a), (a) => a.x.gt(0) + 1, (a) => isNaN(a.x), (a) => a.x ** 2];
  for (const use of uses) refuses(() => problem.residuals("t", { of: [x] }, ([a]) => use(a)), "untraceable", message, { term: "t" });
  await stillSolves(it);
});

test("shapes that do not go together, for callers without types", async (t) => {
  const it = await four(t);
  const { problem, x } = it;
  const s = problem.variables("s", { shape: 1, values: [1, 2, 3, 4] });
  const v2 = problem.constants("v2", { shape: 2, values: [1, 2, 3, 4, 5, 6, 7, 8] });
  const cases = [
    [([a, b]) => a.add(b), "the residual \"t\": add() of a Vec3 and a Scalar: it takes two vectors of one size"],
    [([a, b]) => b.sub(a), "the residual \"t\": sub() of a Scalar and a Vec3: it takes numbers and scalars"],
    [([a, , c]) => a.dot(c), "the residual \"t\": dot() of a Vec3 and a Vec2: it takes two vectors of one size"],
    [([a]) => a.at(3), "the residual \"t\" asks for element 3 of a vector of 3 (0 to 2)"],
    [([a]) => a.at(0.5), "the residual \"t\" asks for element 0.5 of a vector of 3 (0 to 2)"],
    [([a]) => a.x.sub(undefined), "the residual \"t\": sub() of a Scalar and undefined: it takes numbers and scalars"],
    [([a, b]) => b.add(b.gt(0)), "the residual \"t\": add() of a Scalar and a Bool: it takes numbers and scalars"],
    [([a, , , d]) => a.sub(d), "the residual \"t\": sub() of a Vec3 and undefined: it takes two vectors of one size. `of` has 3 slots, and the function takes more: those are undefined"],
    [([a]) => a.mul("2"), "the residual \"t\": mul() of a Vec3 and a string: it takes a vector, and a number, a scalar or a vector of that size"],
    [([a, b]) => select(b.gt(0), a, b), "the residual \"t\": select() of a Bool, a Vec3 and a Scalar: it takes a condition and two scalars, or two vectors, matrices or quaternions of one size"],
    [([a, b]) => sum([a, b]), "the residual \"t\": sum() of a Vec3 and a Scalar: it takes an array of one or more numbers and scalars, or of vectors or matrices of one size"],
  ];
  for (const [residual, message] of cases) refuses(() => problem.residuals("t", { of: [x, s, v2] }, residual), "shape", message, { term: "t" });
  refuses(() => problem.residuals("t", { of: [x] }, () => sum([])), "shape",
    'the residual "t": sum() of nothing: it takes an array of one or more numbers and scalars, or of vectors or matrices of one size', { term: "t" });
  refuses(() => problem.residuals("t", { of: [x] }, ([a]) => select(true, a, a)), "shape",
    'the residual "t": select() of a boolean, a Vec3 and a Vec3: it takes a condition first, such as a.gt(b)', { term: "t" });
  refuses(() => problem.residuals("t", { of: [x, [1, 2]] }, ([a]) => a), "shape", 'term "t": slot 1 is an array, but must be a variable or constant, or its .at(…), .rows(…) or .each(…)', { term: "t", slot: 1 });
  refuses(() => problem.residuals("t", { of: [v2] }, ([a]) => a), "shape", '"t": no slot is a variable, so there is nothing to solve for');
  refuses(() => problem.residuals("t", { of: [x], data: { d: "text" } }, ([a]) => a), "shape",
    'term "t": data column "d" must be a number, an array literal, a Float32Array or Float64Array, column(values, shape), perEntry(values) or a tensor', { term: "t" });
  refuses(() => problem.variables("v", { shape: 0, values: [1] }), "shape", '"v": the shape is a number of scalars (1, 2, 3, …), a manifold such as quaternion or sphere(3), or a record of these such as { q: quaternion, t: 3 }, not 0');
  refuses(() => problem.variables("v", { shape: 2000, values: new Float32Array(2000) }), "shape", '"v": an instance has 1 to 1024 scalars, not 2000');
  refuses(() => problem.variables("v", { shape: 3, values: "abc" }), "shape", '"v": values must be an array of numbers, not a string');
  refuses(() => column([1, 2], 0), "shape", "column(values, shape): the shape is a number of scalars (1, 2, 3, …), a manifold such as quaternion or sphere(3), or a record of these such as { q: quaternion, t: 3 }, not 0");
  refuses(() => x.at(-1), "shape", '"x".at(-1): a column of `over` is 0, 1, 2, …');
  for (const [column, said] of [[undefined, "undefined"], [null, "null"], ["0", "a string"], [{}, "an Object"], [true, "a boolean"]]) {
    refuses(() => x.at(column), "shape", `"x".at(…) takes a column of \`over\` (0, 1, 2, …) or an array of indices, one for each of the term's instances, not ${said}`);
  }
  await stillSolves(it);
});

test("options that cannot be", async (t) => {
  const it = await four(t);
  const { problem, x, term } = it;
  await rejects(problem.solve({ method: "newtons" }), "invalid-option", 'method: "newtons" is not one of "lm", "gauss-newton", "newton", "dogleg", "lbfgs", "nonlinear-cg", "gradient-descent", "adam"');
  await rejects(problem.solve({ linear: "cholesky" }), "invalid-option", 'linear: "cholesky" is not one of "auto", "dense", "sparse-cholesky", "pcg", "assembled-pcg", "schur", "schur-pcg"');
  await rejects(problem.solve({ costTolerance: -1 }), "invalid-option", "costTolerance must be a number that is not negative, not -1");
  await rejects(problem.solve({ maxIterations: NaN }), "invalid-option", "maxIterations must be a number that is not negative, not NaN");
  await rejects(problem.solve({ maxIteration: 3 }), "invalid-option",
    'solve options have no "maxIteration": did you mean "maxIterations"? (they have: method, dogleg, linear, preconditioner, eliminate, decays, memory, learningRate, feasibilityTolerance, penalty, maxOuterIterations, nonmonotone, maxInnerIterations, forcing, maxIterations, timeLimitMs, costTolerance, gradientTolerance, stepTolerance, signal, onIteration)');
  await rejects(problem.solve({ eliminate: x }), "invalid-option", "eliminate must be a list of variables, not a TableOf");
  await rejects(problem.solve({ eliminate: ["x"] }), "invalid-option", "eliminate[0] must be variables of this problem, not a string");
  await rejects(problem.solve({ preconditioner: "ilu" }), "invalid-option", 'preconditioner: "ilu" is not one of "auto", "block-jacobi", "two-level", "schur-jacobi", "frozen-factor"');
  await rejects(problem.solve({ linear: "dense", preconditioner: "two-level" }), "invalid-option", 'preconditioner: "two-level" is one of linear "pcg", not of "dense"; leave one of the two out');
  await rejects(problem.solve({ linear: "pcg", eliminate: [x] }), "invalid-option", 'eliminate: only linear "schur" and "schur-pcg" eliminate variables; leave linear out, or say one of them');
  await rejects(problem.solve({ eliminate: [x] }), "invalid-option", "eliminate: name some of the problem's variables, but not all");
  await rejects(problem.solver({ maxIterations: 0 }).step(), "no-step", "no step was made: maxIterations = 0 steps were tried");
  refuses(() => problem.solver().advance({ iterations: -1 }), "invalid-option", "advance(options): iterations: -1 is not an integer from 0 to 4294967295");
  refuses(() => problem.residuals("t", { of: [x], weight: -1 }, ([a]) => a), "invalid-option", 'term "t": weight must not be negative, but value 0 is');
  refuses(() => problem.residuals("t", { over: 1.5, of: [x] }, ([a]) => a), "invalid-option", 'term "t": `over` is 1.5, but a number of instances is 0, 1, 2, …', { term: "t" });
  refuses(() => problem.residuals("t", {}, ([a]) => a), "invalid-option", 'term "t": `of` must list the variables and constants that the residual takes', { term: "t" });
  refuses(() => problem.residuals("t", { of: [x.at(0), x.at(1)] }, ([a, b]) => a.sub(b)), "invalid-option",
    'term "t": slot 0 takes column 0 of `over`, but the term has no index table: give `over`, or an index column of the slot\'s own', { term: "t", slot: 0 });
  refuses(() => problem.residuals("t", { over: [0, 1], of: [x.at([0])] }, ([a]) => a), "invalid-option",
    'term "t": `over` is given, but every slot has an index column of its own: leave it out', { term: "t" });
  refuses(() => problem.residuals("pull", { of: [x] }, ([a]) => a), "invalid-option",
    'term "pull": the problem already has a term of this name, and reports tell terms apart by it', { term: "pull" });
  refuses(() => problem.residuals("t", { of: [x], data: { weight: 2 } }, ([a], { weight }) => a.mul(weight)), "invalid-option",
    'term "t": a data column can\'t be called "weight", because term.set({ weight }) sets the term\'s weight', { term: "t" });
  refuses(() => problem.residuals("t", { of: [x] }, ([a]) => vector(Array.from({ length: 70_000 }, () => a.x))), "tape",
    'the residual "t": one operation takes 70000 operands, but 65535 are possible', { term: "t" });
  refuses(() => term.set({ retsu: 1 }), "invalid-option", 'term "pull" has no data column "retsu" (it has: to)', { term: "pull" });
  refuses(() => term.set({ weight: Float32Array.of(1, 2, 3, 4) }), "invalid-option",
    'term "pull": weight is one number for all instances: give an array when the term is made to have one for each', { term: "pull" });
  await rejects(init({ backend: "metal" }), "invalid-option", 'backend: "metal" is not one of "auto", "webgpu", "cuda", "cpu"');
  await rejects(init({ backend: "cpu", precision: "f16" }), "invalid-option", 'precision: "f16" is not one of "f32", "f64", "f32x2", "mixed"');
  await rejects(init({ backend: "webgpu", precision: "f64" }), "invalid-option", 'WebGPU has no f64: use precision "f32x2", or backend "cuda" or "cpu"');
  await rejects(init({ backend: "cpu", device: deviceOfNothing() }), "invalid-option", 'a device was given, but backend "cpu" uses none');
  await stillSolves(it);
});

test("options of another kind, for callers without types", async (t) => {
  const it = await four(t);
  const { problem, x, term } = it;
  for (const [given, said] of [[null, "null"], ["2", "a string"], [true, "a boolean"], [{}, "an Object"]]) {
    const place = (name) => [`term "${name}": weight must be a number, or an array with one for each instance, not ${said}`, { term: name }];
    refuses(() => problem.residuals("t", { of: [x], weight: given }, ([a]) => a), "invalid-option", ...place("t"));
    refuses(() => term.set({ weight: given }), "invalid-option", ...place("pull"));
    refuses(() => problem.residuals("t", { over: given, of: [x, x] }, ([a, b]) => a.sub(b)), "invalid-option",
      `term "t": \`over\` must be a number of instances or an array of indices, not ${said}`, { term: "t" });
  }
  for (const [given, said] of [[null, "null"], ["lm", "a string"]]) {
    await rejects(problem.solve(given), "invalid-option", `solve options must be an object, not ${said}`);
    refuses(() => problem.solver(given), "invalid-option", `solve options must be an object, not ${said}`);
  }
  for (const option of ["maxIterations", "timeLimitMs", "costTolerance", "gradientTolerance", "stepTolerance"]) {
    await rejects(problem.solve({ [option]: "5" }), "invalid-option", `${option} must be a number that is not negative, not a string`);
    refuses(() => problem.solver({ [option]: null }), "invalid-option", `${option} must be a number that is not negative, not null`);
  }
  refuses(() => problem.solver().advance({ budgetMs: "8" }), "invalid-option", "advance(options): budgetMs must be a number that is not negative, not a string");
  const whose = { "a variable or constant": (name) => problem.variables(name, { shape: 1, values: [1] }), "a term": (name) => problem.residuals(name, { of: [x] }, ([a]) => a) };
  for (const [of, make] of Object.entries(whose)) {
    refuses(() => make(""), "invalid-option", `the name of ${of} must not be empty: errors and reports use it`);
    refuses(() => make(5), "invalid-option", `the name of ${of} must be a string, not a number`);
    refuses(() => make(null), "invalid-option", `the name of ${of} must be a string, not null`);
  }
  refuses(() => whose["a term"]("__proto__"), "invalid-option", 'a term can\'t be called "__proto__"', { term: "__proto__" });
  await stillSolves(it);
});

test("shared tables: lengths that do not go together, and index tables that may be read in two ways", async (t) => {
  const it = await four(t);
  const { problem, x } = it;
  const s = problem.variables("s", { shape: 1, values: [1] }), two = problem.variables("two", { shape: 1, values: [1, 2] });
  const product = ([a, b]) => a.mul(b);
  refuses(() => problem.residuals("t", { of: [s], data: { t: new Float64Array(5), seen: new Float64Array(4) } }, ([a], { t, seen }) => a.mul(t).sub(seen)), "data-length",
    'term "t": data column "seen" has 4 values, but 5 (5 instances of 1) are needed', { term: "t" });
  refuses(() => problem.residuals("t", { of: [two, s], data: { t: new Float64Array(5) } }, ([a, b], { t }) => a.mul(b).sub(t)), "data-length",
    'term "t": data column "t" has 5 values, but 2 (2 instances of 1) are needed', { term: "t" });
  refuses(() => problem.residuals("t", { of: [two, x] }, ([a, b]) => b.mul(a)), "data-length",
    'term "t": slot 1 ("x") has 4 instances, but the term has 2: slots without indices take instance i for instance i', { term: "t", slot: 1 });
  refuses(() => problem.residuals("t", { over: 5, of: [two, s] }, product), "index-out-of-range",
    'term "t": slot 0 of instance 2 has index 2, but "two" has 2 instances (0 to 1)', { term: "t", slot: 0, instance: 2 });
  refuses(() => problem.residuals("t", { of: [s.at(0)], data: { t: new Float64Array(5) } }, ([a]) => a), "invalid-option",
    'term "t": slot 0 takes column 0 of `over`, but the term has no index table: give `over`, or an index column of the slot\'s own', { term: "t", slot: 0 });
  refuses(() => problem.residuals("t", { over: [0, 0, 1, 0], of: [two, s] }, product), "invalid-option",
    'term "t": `over` has 4 indices, which may be 4 instances of 1 or 2 instances of 2, as slot 1 ("s") is a table of one instance, which needs no column: say .at(1) if `over` has one for it, or give `over` as rows ([[0, 1], …]), which say how many columns there are',
    { term: "t", slot: 1 });
  for (const over of [[0, 1, 1, 0], Uint32Array.of(0, 1, 1, 0)]) refuses(() => problem.residuals("t", { over, of: [s, two] }, product), "index-out-of-range",
    'term "t": slot 0 of instance 1 has index 1, but "s" has one instance. It is shared if `over` has no column for it: put it behind the slots that have one', { term: "t", slot: 0, instance: 1 });
  refuses(() => problem.residuals("t", { over: [0, 1, 1], of: [two, two, s] }, product), "data-length",
    'term "t": `over` has 3 indices, which is not a multiple of its 2 columns (the highest column that a slot takes is 1)', { term: "t" });
  refuses(() => problem.residuals("t", { over: [0, 1, 1], of: [two, s], data: { t: new Float64Array(5) } }, ([a, b], { t }) => a.mul(b).sub(t)), "data-length",
    'term "t": data column "t" has 5 values, but 3 (3 instances of 1) are needed', { term: "t" });
  await stillSolves(it);
});

test("a count of instances is held against the tables before anything of that length is made", async (t) => {
  const it = await four(t);
  const { problem, x } = it;
  const five = problem.constants("five", { shape: 3, values: new Float32Array(15) });
  const heap = process.memoryUsage().arrayBuffers;
  refuses(() => problem.residuals("many", { over: 1e8, of: [five, x] }, ([a, b]) => a.sub(b)), "index-out-of-range",
    'term "many": slot 0 of instance 5 has index 5, but "five" has 5 instances (0 to 4)', { term: "many", slot: 0, instance: 5 });
  refuses(() => problem.residuals("many", { over: 5, of: [five, x] }, ([a, b]) => a.sub(b)), "index-out-of-range",
    'term "many": slot 1 of instance 4 has index 4, but "x" has 4 instances (0 to 3)', { term: "many", slot: 1, instance: 4 });
  refuses(() => problem.residuals("most", { over: 2 ** 33, of: [x] }, ([a]) => a), "limits", 'term "most": 8589934592 instances are more than a term can have (4294967295)', { term: "most" });
  refuses(() => problem.residuals("most", { over: { length: 2 ** 33 }, of: [x] }, ([a]) => a), "limits", 'term "most": 8589934592 instances are more than a term can have (4294967295)', { term: "most" });
  assert.ok(process.memoryUsage().arrayBuffers - heap < 1e7, "no index column was made");
  // Fewer than there are is no mistake.
  const some = problem.residuals("some", { over: 3, of: [five, x] }, ([a, b]) => a.sub(b));
  assert.equal(some.count, 3);
  some.dispose();
  await stillSolves(it);
});

for (const backend of BACKENDS) {
  test(`term.set on ${backend} writes all that it is given, or nothing`, async (t) => {
    const lw = await open(t, { backend });
    const problem = lw.problem();
    const x = problem.variables("x", { shape: 1, values: [0, 0] });
    const term = problem.residuals("two", { of: [x], data: { a: Float32Array.of(1, 2), b: [3, 4] }, weight: [1, 2] }, ([p], { a, b }) => [p.sub(a), p.sub(b.x), p.sub(b.y)]);
    const one = problem.residuals("one", { of: [x], data: { c: 1 } }, ([p], { c }) => p.sub(c));
    const costs = async () => [await term.cost(), await one.cost()];
    const before = await costs();
    const a = Float32Array.of(10, 20);
    const place = { term: "two" };
    refuses(() => term.set({ a, b: [5, NaN] }), "non-finite", 'term "two": data column "b" is not finite: value 1 is NaN', place);
    refuses(() => term.set({ b: [5, 6], a: Float32Array.of(1, Infinity) }), "non-finite", 'term "two": data column "a" is not finite: value 1 is inf', { ...place, instance: 1 });
    if (backend === "webgpu") {
      refuses(() => term.set({ b: [5, 6], a: Float64Array.of(1e39, 1) }), "non-finite",
        'term "two": data column "a": value 0 is 1e39, and numbers of f32 end at 3.4e38: scale it, or use an engine in f64', { ...place, instance: 0 });
    }
    refuses(() => term.set({ b: [5, 6], a: new Float32Array(3) }), "data-length", 'term "two": data column "a" has 3 values, but 2 (2 instances of 1) are needed', place);
    refuses(() => term.set({ a, b: [5, 6, 7] }), "invalid-option",
      'term "two": data column "b" was made as 2 shared by all instances; another layout would be another kernel: make a new term', place);
    refuses(() => term.set({ a, d: 1 }), "invalid-option", 'term "two" has no data column "d" (it has: a, b)', place);
    refuses(() => term.set({ a, weight: [1, -2] }), "invalid-option", 'term "two": weight must not be negative, but value 1 is', place);
    refuses(() => term.set({ a, weight: [1] }), "data-length", 'term "two": weight has 1 values, but 2 (2 instances of 1) are needed', place);
    refuses(() => term.set({ a, weight: [1, NaN] }), "non-finite", 'term "two": weight is not finite: value 1 is NaN', { ...place, instance: 1 });
    refuses(() => term.set({ a, weight: NaN }), "non-finite", 'term "two": weight is not finite: value 0 is NaN', place);
    refuses(() => one.set({ c: 7, weight: [1, 2] }), "invalid-option",
      'term "one": weight is one number for all instances: give an array when the term is made to have one for each', { term: "one" });
    assert.deepEqual(await costs(), before);
    term.set({ a, b: [5, 6], weight: 2 });
    assert.equal(await term.cost(), 100 + 25 + 36 + 400 + 25 + 36);
  });
}

test("meshes that are none", () => {
  refuses(() => edges([0, 1]), "data-length", "triangles has 2 indices, which is not a multiple of 3");
  refuses(() => edges([0, 1, -2]), "index-out-of-range", "triangle 0 has the vertices 0, 1, -2: indices are integers from 0 to 67108863");
  refuses(() => edges([0, 1, 2], { map: Uint32Array.of(0, 1) }), "index-out-of-range",
    "triangle 0 has the vertices 0, 1, 2: indices are integers from 0 to 67108863 that the map knows (0 to 1)");
  refuses(() => weld([1, 2]), "data-length", "positions has 2 numbers, which is not a multiple of 3");
});

test("an error is an Error", () => {
  try {
    edges([0]);
  } catch (error) {
    assert.ok(error instanceof Error && error instanceof LeastwiseError);
    assert.equal(error.name, "LeastwiseError");
    assert.match(error.stack, /errors\.test\.mjs/);
    assert.equal(Object.hasOwn(error, "term") && error.term !== undefined, false);
    return;
  }
  assert.fail("edges([0]) did not throw");
});

test("functions of expressions outside of a residual function", () => {
  const rest = "outside of a residual function: expressions exist only while one is traced; with numbers alone use Math";
  refuses(() => sin(1), "foreign-expression", `sin() ${rest}`);
  refuses(() => vec(1, 2), "foreign-expression", `vec() ${rest}`);
});

test("one bad argument harms nothing but its own call", async (t) => {
  const it = await four(t);
  const { problem } = it;
  refuses(() => problem.variables("big", { shape: 1, values: new BigInt64Array(2) }), "invalid-option",
    '"big": values is a BigInt64Array, whose elements are no numbers to JavaScript: give Float64Array.from(values, Number)');
  // An error of the caller's own is not taken for one of the engine's because it has a code, too.
  refuses(() => problem.variables("big", { shape: 1, values: { length: 1, get 0() { throw Object.assign(new Error("mine"), { code: "ENOENT" }); } } }), "invalid-option",
    '"big": values can\'t be read: mine');
  refuses(() => problem.variables(5, { shape: 1, values: [1] }), "invalid-option", "the name of a variable or constant must be a string, not a number");
  refuses(() => problem.residuals(undefined, { of: [it.x] }, ([a]) => a), "invalid-option", "the name of a term must be a string, not undefined");
  await rejects(init({ backend: "cpu", limits: { groupSize: "x" } }), "invalid-option", 'limits.groupSize: "x" is not an integer from 64 to 256');
  await stillSolves(it);
});

test("what is no options object, no signal, no function is refused by its name", async () => {
  await rejects(init(null), "invalid-option", "init(options): options must be an object, not null");
  const lw = await init({ backend: "cpu" });
  const problem = lw.problem();
  refuses(() => problem.variables("x", null), "invalid-option", '"x": options must be an object, not null');
  const x = problem.variables("x", { shape: 1, values: [1] });
  const term = problem.residuals("t", { of: [x] }, ([a]) => a);
  refuses(() => term.set(null), "invalid-option", 'term "t": set(changes): changes must be an object, not null', { term: "t" });
  await rejects(problem.solve({ signal: {} }), "invalid-option", "signal must be an AbortSignal, not an Object");
  await rejects(problem.solve({ onIteration: 1 }), "invalid-option", "onIteration must be a function, not a number");
  const solver = problem.solver();
  refuses(() => solver.advance(null), "invalid-option", "advance(options): options must be an object, not null");
  assert.equal((await problem.solve()).converged, true);
  lw.dispose();
});

for (const [backend, precision] of [...BACKENDS.map((backend) => [backend, "f32"]), ...BACKENDS.filter((backend) => backend !== "webgpu").map((backend) => [backend, "f64"])]) {
  test(`numbers go as far as ${precision} on ${backend} has them, and a square that overflows is told as that`, async (t) => {
    const lw = await open(t, { backend, precision });
    const problem = lw.problem();
    const huge = precision === "f64" ? 1e150 : 1e30;
    const x = problem.variables("x", { shape: 1, values: Float64Array.of(huge, huge) });
    const term = problem.residuals("far", { of: [x], data: { d: Float64Array.of(3 * huge, 5 * huge) } }, ([a], { d }) => a.sub(d).mul(2 / huge));
    // Not solved: the damping of the diagonal, at least 1e-6 as Ceres has it, is beyond any JᵀJ of such numbers.
    const near = (found, wanted) => assert.ok(found.every((value, k) => Math.abs(value / wanted[k] - 1) < 1e-6), `${found} for ${wanted}`);
    near(await x.read(new Float64Array(2)), [huge, huge]);
    const { residuals, jacobian } = await term.evaluate();
    near(residuals, [-4, -8]);
    near(jacobian, [2 / huge, 2 / huge]);
    term.enabled = false;
    if (precision === "f32") {
      const beyond = "value 1 is 1e39, and numbers of f32 end at 3.4e38: scale it, or use an engine in f64";
      refuses(() => problem.variables("y", { shape: 1, values: [0, 1e39] }), "non-finite", `"y": ${beyond}`, { instance: 1 });
      refuses(() => problem.residuals("data", { of: [x], data: { d: Float64Array.of(0, 1e39) } }, ([a], { d }) => a.sub(d)), "non-finite", `term "data": data column "d": ${beyond}`, { term: "data", instance: 1 });
      refuses(() => term.set({ d: Float64Array.of(0, 1e39) }), "non-finite", `term "far": data column "d": ${beyond}`, { term: "far", instance: 1 });
      refuses(() => problem.residuals("number", { of: [x] }, ([a]) => a.mul(1e39)), "non-finite", 'the residual "number" uses the number 1e+39: numbers in an expression must be finite, and at most 3.4e38', { term: "number" });
    }
    const y = problem.variables("y", { shape: 1, values: [1, 4] });
    problem.residuals("steep", { of: [y], data: { k: precision === "f64" ? 1e180 : 1e25 } }, ([a], { k }) => a.sub(1).mul(k));
    const [value, end] = precision === "f64" ? ["3.000e180", "1.8e308"] : ["3.000e25", "3.4e38"];
    await rejects(problem.solve(), "non-finite",
      `term "steep": the residual of instance 1 is ${value} at the current values, and its square overflows (numbers end at ${end}): scale the residual down`, { term: "steep", instance: 1 });
  });
}

test("a module that can't be loaded: from where, what came back, and what to do; then it may be tried again", { skip: ADDON }, async () => {
  const told = JSON.parse(await inFreshProcess("fresh/loading.mjs"));
  const start = "the engine's WebAssembly module could not be loaded: ";
  const expected = {
    page: /^http:\/\/127\.0\.0\.1:PORT\/page, answered as text\/html, is no WebAssembly: it begins with "<!doctype html><title>Vi"\. What to do: serve node_modules\/leastwise\/dist\/wasm\/leastwise_bg\.wasm there, or give init/,
    vite: /^http:\S+\/\.vite\/\S+ answered as text\/html, is no WebAssembly: .+ What to do: with Vite before version 8 set optimizeDeps: \{ exclude: \["leastwise"\] \}/,
    wrong: /^http:\S+\/wrong, answered as application\/wasm, is no WebAssembly: .*magic.*What to do: serve/,
    missing: /^http:\S+\/missing answered 404 \(Not Found\), text\/plain\. What to do: .*init\(\{ wasm \}\)/,
    promised: /^http:\S+\/missing answered 404 \(Not Found\), text\/plain\. What to do: .*init\(\{ wasm \}\)/,
    rejected: /^the promise that was given rejected: no line\. What to do: see whether the network is there/,
    cut: /^http:\S+\/cut, answered as application\/wasm, can't be compiled: .*\. What to do: it may have been cut/,
    nobody: /^http:\S+ could not be fetched: .+\. What to do: see whether the network is there/,
    relative: /^"\/_next\/static\/media\/leastwise_bg\.wasm" is no address on this host\. What to do: with Next/,
    path: /^"\/nowhere\/leastwise_bg\.wasm" is no address on this host\. What to do: give a path as a URL, init\(\{ wasm: new URL\(path, import\.meta\.url\) \}\)/,
    file: /^file:\/\/\/nowhere\/leastwise_bg\.wasm could not be read: ENOENT.* What to do: a bundler left the file behind: import \{ init \} from "leastwise\/inline"/,
    empty: /^the bytes that were given is no WebAssembly: it is empty/, text: /^the bytes that were given is no WebAssembly: it begins with "<!doctype/,
    bytes: /^the bytes that were given can't be compiled/, used: /did not arrive whole/,
    disguised: /^it is no module of this version of Leastwise: .+ What to do: give init\(\{ wasm \}\) the file of the same package/,
    other: /^it is no module of this version of Leastwise: .+ What to do: give init\(\{ wasm \}\) the file of the same package/,
  };
  for (const [name, words] of Object.entries(expected)) {
    const [code, message] = told[name];
    assert.equal(code, "load", `${name}: ${told[name]}`);
    assert.ok(message.startsWith(start), message);
    assert.match(message.slice(start.length), words, name);
  }
  const kinds = "an address (a string or a URL), a Request, a Response, the bytes, a WebAssembly.Module, or a promise of one of these, not ";
  const refused = Object.entries({ number: "a number", late: "a number", object: "an Object", null: "null", list: "an array", call: "a function" });
  assert.deepEqual(refused.map(([name]) => told[name]), refused.map(([, kind]) => ["invalid-option", `wasm: ${kinds}${kind}`]));
  assert.deepEqual(told.odd, ["invalid-option", `wasm, a promise: ${kinds}a number`]);
  assert.deepEqual(told.transferred, ["invalid-option", "wasm can't be read: Cannot perform Construct on a detached ArrayBuffer"]);
  assert.equal(told.module, "cpu");
});
