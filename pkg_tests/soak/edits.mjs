// Edits of a problem, and of its definition where they were accepted.
import { addTerm, lossOf } from "./models.mjs";
import { instances, someOf, weights } from "./values.mjs";

/** Makes an edit, if the action is one: all but those of `busy` must be accepted. */
export async function edit(session, lane, state, action, codes = []) {
  const change = EDITS[action.do];
  if (!change) return false;
  const { made } = state;
  if (!made || (action.term && !made.terms[action.term])) return true;
  const label = `${action.do} ${action.table ?? action.term}${action.column ? `.${action.column}` : ""} of ${state.definition.model}`;
  await session.act(lane, label, () => change(state, action), { codes });
  return true;
}

const EDITS = {
  write({ made, definition }, { table, seed, scale }) {
    const { form, count, values, constant } = made.model.tables[table];
    const next = values ? values(count) : instances(seed, form, count, scale);
    made.tables[table].write(next);
    definition.tables[table] = next;
    return constant;
  },
  writeAt({ made, definition }, { table, seed, scale }) {
    const { form, count, width, values } = made.model.tables[table];
    const at = someOf(seed, count, 3);
    const next = values ? values(at.length) : instances(seed, form, at.length, scale);
    made.tables[table].write(next, { at });
    // Values that were read may be kept elsewhere.
    definition.tables[table] = definition.tables[table].slice();
    at.forEach((i, k) => definition.tables[table].set(next.subarray(k * width, (k + 1) * width), i * width));
  },
  data({ made, definition }, { term, column, seed }) {
    const { columns, count } = made.model.terms[term];
    const next = instances(seed, columns[column], count);
    made.terms[term].set({ [column]: next });
    definition.columns[term][column] = next;
  },
  weight({ made, definition }, { term, seed }) {
    const now = definition.weights[term];
    const next = typeof now === "number" ? weights(seed, 1)[0] + 0.125 : weights(seed, now.length);
    made.terms[term].set({ weight: next });
    definition.weights[term] = next;
  },
  loss({ made, definition }, { term, parameters }) {
    const [name] = definition.losses[term] ?? [];
    if (!name) return;
    made.terms[term].set({ loss: lossOf([name, ...parameters]) });
    definition.losses[term] = [name, ...parameters];
  },
  fix({ made, definition }, { table, seed, components }) {
    const { count, width } = made.model.tables[table];
    const which = someOf(seed, count, 4);
    made.tables[table].fix(which, components);
    const marks = (definition.fixed[table] ??= new Uint8Array(count * width));
    for (const i of which) for (const k of components ?? Array.from({ length: width }, (_, c) => c)) marks[i * width + k] = 1;
  },
  free({ made, definition }, { table, seed }) {
    const { count, width } = made.model.tables[table];
    const which = seed === undefined ? undefined : someOf(seed, count, 4);
    made.tables[table].free(which);
    for (const i of which ?? Array.from({ length: count }, (_, k) => k)) definition.fixed[table]?.fill(0, i * width, (i + 1) * width);
  },
  bound({ made, definition }, { table, lower, upper }) {
    const limits = { ...(lower !== null && { lower }), ...(upper !== null && { upper }) };
    made.tables[table].bound(limits);
    definition.bounds[table] = { ...definition.bounds[table], ...limits };
  },
  enable({ made, definition }, { term, on }) {
    made.terms[term].enabled = on;
    definition.disabled = [...definition.disabled.filter((name) => name !== term), ...(on ? [] : [term])];
  },
  /** A term that was disposed and is made again comes last. */
  remake({ made, definition }, { term }) {
    made.terms[term].dispose();
    delete made.terms[term];
    definition.order = [...definition.order.filter((name) => name !== term), term];
    addTerm(made, definition, term);
  },
};
