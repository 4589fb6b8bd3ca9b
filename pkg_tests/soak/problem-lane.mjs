// A lane with one problem: edits, solves and questions in any order, each definition's solves repeated later on an engine of its own.
import { ending, outcome, SOLVE_CODES, turns, withTables } from "./calls.mjs";
import { edit } from "./edits.mjs";
import { build, definitionOf } from "./models.mjs";
import { SolverActions } from "./solver-actions.mjs";
import { instances } from "./values.mjs";
import { essence, isOfDoubles, nonsense, sameBits, valuesOf } from "./verify.mjs";

const QUESTION_CODES = ["invalid-option", "non-finite", "limits", "empty-term", "rank-deficient", "busy"];

export async function problemLane(session, lane) {
  const { lw } = lane.engine;
  const state = { definition: definitionOf(lane.make), made: undefined };
  const make = async () => { state.made = await session.act(lane, `make ${lane.make.model} of ${lane.make.n}`, () => build(lw, state.definition), { codes: ["limits", "out-of-memory"] }); };
  await make();
  if (!state.made) return;
  const solver = new SolverActions(session, lane, state);
  for (const action of lane.actions) {
    if (lane.engine.over) return;
    if (await edit(session, lane, state, action)) continue;
    state.made.isSolved ||= action.do !== "ask";
    if (await solver.run(action)) continue;
    if (action.do === "solve") await solve(session, lane, state, action);
    else if (action.do === "ask") await ask(session, lane, state, action);
    else if (action.do === "starts") await fromStarts(session, lane, state, action);
    else if (action.do === "graduated") await graduated(session, lane, state, action);
    else if (action.do === "remake problem") {
      const pending = action.during ? session.act(lane, "solve that its problem's end ends", () => state.made.problem.solve(withTables(state.made, action.options)), { codes: SOLVE_CODES, gone: () => true }) : undefined;
      // Where its engine ends meanwhile, whoever awaits it below hears of it.
      pending?.catch(() => {});
      await turns(action.turns ?? 0);
      await session.act(lane, "dispose problem", () => state.made.problem.dispose());
      await pending;
      solver.forget();
      await afterwards(session, lane, state.made);
      await make();
      if (!state.made) return;
    }
  }
  await session.act(lane, "dispose problem", () => state.made.problem.dispose());
  await afterwards(session, lane, state.made);
}

/** Whatever was disposed says so. */
async function afterwards(session, lane, { problem, tables, terms }) {
  const [table] = Object.values(tables), [term] = Object.values(terms);
  const calls = { "problem.solve()": () => problem.solve(), "problem.variables()": () => problem.variables("more", { shape: 1, values: [0] }), "table.read()": () => table.read(), "term.cost()": () => term.cost(), "term.set()": () => term.set({ weight: 1 }) };
  for (const [label, call] of Object.entries(calls)) {
    let was = false;
    await session.act(lane, `${label} of a disposed problem`, async () => { await call(); was = true; }, { gone: () => true });
    if (was) session.fail("use-after-dispose", label, "it was answered");
  }
}

/** Whether multipliers of earlier solves have no part in the next. */
async function isWithoutPast({ model, terms }) {
  for (const [name, { kind }] of Object.entries(model.terms)) {
    if (kind === "constraint" && (await terms[name].multipliers()).some((value) => value !== 0)) return false;
  }
  return true;
}

/**
 * The values that an action begins with. Where they are rounded to f32, unit vectors among them are not of unit length in f64; what is given
 * again is made so: then they are given again here as well.
 */
async function start(session, lane, { made }) {
  const read = () => session.act(lane, "read", () => valuesOf(made), { codes: ["busy"] });
  const given = await read();
  const { precision } = lane.engine.lw;
  if (!given || precision === "f64") return { given, now: given };
  // Of double-floats f64 has 53 bits: whatever lies below them is not given again.
  const curved = Object.keys(made.model.tables).filter((name) => isOfDoubles(precision) || !made.model.tables[name].isPlain);
  for (const name of curved) await session.act(lane, `write ${name} as read`, () => made.tables[name].write(given[name]));
  return { given, now: curved.length ? await read() : given };
}

async function solve(session, lane, state, action) {
  const { made, definition } = state, { label = "solve", end, edits = [], rival } = action;
  const name = `${label} ${definition.model} of ${definition.n} ${JSON.stringify({ ...action.options, end })}`;
  const isRepeatable = !edits.length && !rival && (!end || end.by === "stop");
  const { given: before, now } = await start(session, lane, state);
  if (!now) return;
  const fresh = await session.act(lane, "multipliers", () => isWithoutPast(made), { codes: ["busy"] });
  const snapshot = structuredClone({ ...definition, tables: before });
  const { options, reason, begin } = ending(end);
  const given = { ...withTables(made, action.options), ...options };
  let found;
  const running = session.act(lane, name, async () => {
    begin();
    const report = await made.problem.solve(given);
    found = { report: essence(report) };
    session.count(`ended: ${report.termination}`);
    // Of what was edited in the midst the cost that it began with says nothing.
    const mayClimb = report.feasibility !== undefined || given.nonmonotone > 0 || edits.length > 0 || rival !== undefined;
    const wrong = nonsense(report, { method: given.method, mayClimb, precision: lane.engine.lw.precision });
    if (wrong) session.fail("nonsense", name, wrong);
  }, { codes: SOLVE_CODES, reason, onThrow: (error) => { found = { refused: `${error.code}: ${error.message}` }; } });
  running.catch(() => {});
  if (rival) await session.act(lane, `${name}, by its rival`, () => made.problem.solve(given), { codes: SOLVE_CODES, reason });
  for (const { turns: after, ...change } of edits) {
    await turns(after);
    await edit(session, lane, state, change, ["busy"]);
  }
  await running;
  session.count("solves");
  const after = await session.act(lane, "read", () => valuesOf(made), { codes: ["busy"] });
  if (!after) return;
  if (!edits.length) held(session, name, made, { ...snapshot, tables: now }, after);
  Object.assign(definition.tables, after);
  if (!action.verify || !isRepeatable || !fresh || !found) return;
  found.values = after;
  session.repeats.push({ label: name, engine: lane.engine.options, again: async (lw) => {
    const again = build(lw, snapshot);
    const { value: report, refused } = await outcome(() => again.problem.solve({ ...withTables(again, action.options), ...ending(end).options }));
    return sameBits(found, { ...(report ? { report: essence(report) } : { refused }), values: await valuesOf(again) });
  } });
}

/** What is fixed stayed to the bit, what is bounded is inside, and all is finite. */
function held(session, label, { model }, { fixed, bounds, tables }, after) {
  for (const [name, values] of Object.entries(after)) {
    if (values.some((value) => !Number.isFinite(value))) return session.fail("not-finite", label, `"${name}" after it`);
    const marks = fixed[name];
    const moved = marks ? values.findIndex((value, k) => marks[k] && !Object.is(value, tables[name][k])) : -1;
    if (moved >= 0) return session.fail("fixed-moved", label, `"${name}"[${moved}]: ${tables[name][moved]} → ${values[moved]}`);
    const { lower = -Infinity, upper = Infinity } = bounds[name] ?? {};
    const out = values.findIndex((value, k) => !marks?.[k] && (value < Math.fround(lower) || value > Math.fround(upper)));
    if (out >= 0 && !Object.is(values[out], tables[name][out])) return session.fail("out-of-bounds", label, `"${name}"[${out}] is ${values[out]}, not from ${lower} to ${upper}`);
    if (model.tables[name].constant && values.some((value, k) => !Object.is(value, tables[name][k]))) return session.fail("constant-moved", label, `"${name}"`);
  }
  return undefined;
}

/** Something asked of a problem, and asked again of one that is made of its definition. */
async function repeatable(session, lane, state, label, codes, work, verify = true) {
  const { made, definition } = state;
  const { given: before, now } = await start(session, lane, state);
  if (!now) return undefined;
  Object.assign(definition.tables, before);
  const snapshot = structuredClone(definition);
  let found;
  await session.act(lane, label, async () => { found = { value: await work(made) }; }, { codes, onThrow: (error) => { found = { refused: `${error.code}: ${error.message}` }; } });
  const after = await session.act(lane, "read", () => valuesOf(made), { codes: ["busy"] });
  if (!after || !found) return undefined;
  Object.assign(definition.tables, after);
  found.values = after;
  if (verify) session.repeats.push({ label, engine: lane.engine.options, again: async (lw) => {
    const again = build(lw, snapshot);
    return sameBits(found, { ...(await outcome(() => work(again))), values: await valuesOf(again) });
  } });
  return found;
}

const QUESTIONS = {
  cost: ({ terms }, { term }) => terms[term].cost(),
  worst: ({ terms }, { term }) => terms[term].worst(3),
  evaluate: ({ terms }, { term }) => terms[term].evaluate(),
  hessian: ({ terms }, { term, form }) => terms[term].evaluate({ hessian: form }),
  checkGradients: ({ terms }, { term }) => terms[term].checkGradients(),
  covariance: ({ problem, tables }, { table, deficient }) => problem.covariance(tables[table], undefined, { variance: 1, deficient }),
  backward: async ({ problem, tables, model }, { table, seed, deficient }) => {
    const { form, count } = model.tables[table];
    const gradients = await problem.backward([[tables[table], instances(seed, form, count)]], { deficient: deficient === "pseudo-inverse" ? "least-norm" : "error" });
    return { stationary: gradients.stationary, of: gradients.of(tables[table]) };
  },
};

async function ask(session, lane, state, action) {
  const { what, term, table } = action;
  if (term && !state.made.terms[term]) return;
  // Penalties and multipliers of earlier solves are part of what a constraint answers.
  const isRepeatable = action.verify && !(term && state.made.model.terms[term].kind === "constraint" && state.made.isSolved);
  const found = await repeatable(session, lane, state, `${what} of ${term ?? table} of ${state.definition.model}`, QUESTION_CODES, (made) => QUESTIONS[what](made, action), isRepeatable);
  if (found?.value !== undefined) session.count("questions");
}

async function fromStarts(session, lane, state, { seeds, options, verify }) {
  const label = `multiStart ${state.definition.model} of ${state.definition.n} ${JSON.stringify(options)}`;
  const isPast = !(await session.act(lane, "multipliers", () => isWithoutPast(state.made), { codes: ["busy"] }));
  await repeatable(session, lane, state, label, SOLVE_CODES, async (made) => {
    const [name] = Object.entries(made.model.tables).find(([, { constant }]) => !constant);
    const { form, count, scale, values } = made.model.tables[name];
    const starts = seeds.map((seed) => [[made.tables[name], values ? values(count) : instances(seed, form, count, scale)]]);
    const { best, costs, report } = await made.problem.multiStart({ starts: [[], ...starts], ...withTables(made, options) });
    return { best, costs, report: essence(report) };
  }, verify && !isPast);
}

async function graduated(session, lane, state, { term, threshold, cost, options, verify }) {
  if (!state.made.terms[term]) return;
  const label = `solveGraduated ${state.definition.model} of ${state.definition.n} ${JSON.stringify({ cost, ...options })}`;
  await repeatable(session, lane, state, label, SOLVE_CODES, async (made) => {
    const { report, rounds, ending: how } = await made.problem.solveGraduated({ suspects: [{ term: made.terms[term], threshold }], cost, maxRounds: 5, ...withTables(made, options) });
    return { rounds, how, report: essence(report) };
  }, verify);
}
