// Actions of a lane's own solver: steps, live steps, checkpoints, and going on from one on another engine.
import { isDeepStrictEqual } from "node:util";
import { outcome, SOLVE_CODES, withTables } from "./calls.mjs";
import { build } from "./models.mjs";
import { isOfDoubles, sameBits, valuesOf } from "./verify.mjs";

const FILE_CODES = ["file-format", "file-version", "file-truncated", "file-corrupt", "checkpoint-mismatch"];

const withoutClock = ({ ms: _, ...numbers }) => numbers;

export class SolverActions {
  #solver;
  #options;
  #file;

  constructor(session, lane, state) { Object.assign(this, { session, lane, state }); }

  /** It went with its problem. */
  forget() { this.#solver = this.#file = undefined; }

  /** Runs an action, if it is one of a solver's. */
  async run(action) {
    const work = ACTIONS[action.do];
    if (!work) return false;
    const { session, lane, state } = this;
    if (action.do !== "drop solver") {
      this.#options ??= action.options ?? {};
      this.#solver ??= await session.act(lane, `solver ${JSON.stringify(this.#options)}`, () => state.made.problem.solver(withTables(state.made, this.#options)), { codes: SOLVE_CODES });
      if (!this.#solver) {
        this.#options = undefined;
        return true;
      }
    }
    await work.call(this, action);
    return true;
  }

  async act(label, work, codes = SOLVE_CODES) { return this.session.act(this.lane, `${label} of ${this.state.definition.model} of ${this.state.definition.n} ${JSON.stringify(this.#options)}`, work, { codes }); }

  async step() { await this.act("step", () => this.#solver.step()); }

  async advance({ iterations, budgetMs, report }) {
    await this.act("advance", () => this.#solver.advance({ iterations, budgetMs }));
    if (report) await this.act("report", () => this.#solver.report());
  }

  async solve() {
    const report = await this.act("solver.solve", () => this.#solver.solve());
    if (report) this.session.count("solves");
  }

  async save() {
    const file = await this.act("save", () => this.#solver.save());
    if (file) this.#file = { file, definition: structuredClone(this.state.definition) };
  }

  /** Goes back to what was saved; where a bit of the file is changed, that is refused. */
  async restore({ damage }) {
    if (!this.#file) return;
    const { definition, file: saved } = this.#file;
    if (damage === undefined) {
      let isBack = false;
      await this.act("restore", () => { this.#solver.restore(saved); isBack = true; }, ["checkpoint-mismatch", "busy"]);
      // All that can be edited is in the file. Terms that were made again since have another order, which is not.
      if (isBack) this.state.definition = { ...structuredClone(definition), order: this.state.definition.order };
      return;
    }
    const file = saved.slice(), at = damage % (8 * file.length);
    file[at >> 3] ^= 1 << (at & 7);
    let taken = false;
    await this.act(`restore of a file whose bit ${at} was changed`, () => { this.#solver.restore(file); taken = true; }, [...FILE_CODES, "busy"]);
    if (taken) this.session.fail("damaged-file", "restore", `bit ${at} of ${8 * file.length} was changed, and it was taken`);
  }

  /** Saves, goes on from the file on another engine, and steps on both: the same bits. */
  async hop({ engine, steps }) {
    const { session, lane, state } = this;
    const file = await this.act("save", () => this.#solver.save());
    if (!file) return;
    const values = await session.act(lane, "read", () => valuesOf(state.made), { codes: ["busy"] });
    if (!values) return;
    const definition = structuredClone({ ...state.definition, tables: values });
    const lw = session.engines[engine]?.over === false ? session.engines[engine].lw : undefined;
    // The same bits are those of the same tuning table; files of double-floats have 53 bits of each.
    if (!lw || isOfDoubles(lw.precision) || lw.precision !== lane.engine.lw.precision || !isDeepStrictEqual(lw.tuning, lane.engine.lw.tuning)) return;
    const other = { ...lane, engine: session.engines[engine] };
    const made = await session.act(other, "make it again", () => build(lw, definition), { codes: ["limits", "out-of-memory"] });
    if (!made) return;
    const options = this.#options, label = `steps from a checkpoint of ${definition.model} of ${definition.n} ${JSON.stringify(options)}`;
    try {
      const solver = await session.act(other, "another solver", () => made.problem.solver(withTables(made, options)), { codes: SOLVE_CODES });
      if (!solver) return;
      let restored = false;
      // Where a term was disabled since, "auto" may have chosen otherwise for all of them.
      const isOther = (options.linear ?? "auto") === "auto" && definition.disabled.length > 0;
      await session.act(other, label, () => { solver.restore(file); restored = true; }, { codes: isOther ? ["checkpoint-mismatch"] : [] });
      if (!restored) return;
      session.count("hops");
      for (let k = 0; k < steps; k++) {
        // The end of one engine is none of the other: both are over before anything is disposed.
        const settled = await Promise.allSettled([
          this.act("step beside another engine's", () => outcome(() => this.#solver.step())),
          session.act(other, label, () => outcome(() => solver.step())),
        ]);
        const [own, others] = settled.map(({ status }) => status === "rejected");
        if (own) throw settled[0].reason;
        if (others) return;
        const both = settled.map(({ value }) => value);
        if (both.includes(undefined)) return;
        const [here, there] = both.map(({ value, refused }) => (value ? withoutClock(value) : { refused }));
        const differs = sameBits(here, there) ?? sameBits(await valuesOf(state.made), await valuesOf(made));
        if (differs) {
          session.fail("differs", label, `step ${k}: ${differs}`);
          return;
        }
      }
    } finally {
      if (!other.engine.over) made.problem.dispose();
    }
  }

  async drop() {
    const solver = this.#solver;
    this.#solver = this.#options = this.#file = undefined;
    if (!solver) return;
    await this.session.act(this.lane, "dispose solver", () => solver.dispose());
    let was = false;
    await this.session.act(this.lane, "step of a disposed solver", async () => { await solver.step(); was = true; }, { gone: () => true });
    if (was) this.session.fail("use-after-dispose", "solver.step()", "it was answered");
  }
}

const { prototype } = SolverActions;
const ACTIONS = { step: prototype.step, advance: prototype.advance, "solve with it": prototype.solve, save: prototype.save, restore: prototype.restore, hop: prototype.hop, "drop solver": prototype.drop };
