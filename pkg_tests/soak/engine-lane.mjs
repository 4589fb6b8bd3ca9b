// A lane of what is done with engines themselves, in the midst of all others: pauses, trimming, tuning, others that are opened beside, the end.
import { vec } from "leastwise";
import { turns } from "./calls.mjs";

export async function engineLane(session, lane) {
  for (const action of lane.actions) {
    if (lane.engine.over && action.do !== "open") return;
    await ACTIONS[action.do](session, lane, action);
  }
}

const ACTIONS = {
  async pause(_, __, { turns: count, ms }) {
    if (ms === undefined) await turns(count);
    else await new Promise((resolve) => setTimeout(resolve, ms));
  },
  /** Another engine, for a moment: it finds what it should, whatever goes on elsewhere. */
  async open(session, lane, { options }) {
    const lw = await session.act(lane, "open another engine", () => session.open(options));
    if (!lw) return;
    const problem = lw.problem(), x = problem.variables("x", { shape: 2, values: [3, -4] });
    problem.residuals("pull", { of: [x] }, ([a]) => a.sub(vec(1, 1)));
    const other = { ...lane, engine: { lw, over: false } };
    const report = await session.act(other, "solve on it", () => problem.solve());
    const values = report && (await session.act(other, "read on it", () => x.read(new Float64Array(2))));
    if (values && values.some((value) => Math.abs(value - 1) > 1e-3)) session.fail("wrong", "a solve on another engine", `${values}, not 1, 1`);
    lw.dispose();
  },
  async trim(session, lane) { await session.act(lane, "trim", () => lane.engine.lw.trim(), { codes: ["busy"] }); },
  async ask(session, lane) {
    await session.act(lane, "memory, counters, stats", () => {
      const { lw } = lane.engine, memory = lw.memory();
      lw.counters();
      lw.stats();
      for (const [name, value] of Object.entries(memory)) if (!(value >= 0)) session.fail("nonsense", "memory", `${name}: ${value}`);
    });
  },
  /** Everything that runs on it ends as disposed. */
  async end(session, lane) {
    lane.engine.over = true;
    session.tell({ at: [lane.number, "dispose engine"] });
    lane.engine.lw.dispose();
    session.count("engines ended");
  },
  /** For the driver's own tests: what it must find. */
  async fail(session, lane, { kind }) { session.fail(kind, "made to fail", "as it was told to"); },
  async block() { for (;;); },
  async wait(session, lane) { await session.act(lane, "wait for ever", () => new Promise(() => {})); },
  async die() { process.abort(); },
};
