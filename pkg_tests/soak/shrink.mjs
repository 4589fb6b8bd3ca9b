// Plans made smaller: actions and lanes are left out for as long as the same failure stays.

/** One failure is another's: of one kind, at the same call, with the same message but for numbers. */
export const signature = ({ kind, label = "", detail = "" }) => [kind, label.split(/[ ({]/)[0], detail.split("\n")[0].replace(/-?\d[\d.e+-]*/g, "#").slice(0, 80)].join(" | ");

/** All actions of a plan, as [lane, number of it]. */
const actionsOf = ({ lanes }) => lanes.flatMap(({ actions }, lane) => actions.map((_, k) => [lane, k]));

const keeping = (plan, kept) => {
  const set = new Set(kept.map(String));
  const lanes = plan.lanes.map((lane, number) => ({ ...lane, actions: lane.actions.filter((_, k) => set.has(String([number, k]))) }));
  return { ...plan, lanes };
};

/**
 * The smallest plan that is found: `fails(plan)` says whether the failure is there, `isOver()` when to be content. Delta debugging (Zeller &
 * Hildebrandt 2002) over lanes, then over their actions.
 */
export async function shrunk(plan, fails, isOver = () => false) {
  for (let k = plan.lanes.length - 1; k >= 0 && plan.lanes.length > 1 && !isOver(); k--) {
    const fewer = { ...plan, lanes: plan.lanes.filter((_, lane) => lane !== k) };
    if (await fails(fewer)) plan = fewer;
  }
  let kept = actionsOf(plan), parts = 2;
  while (kept.length > 0 && parts <= kept.length && !isOver()) {
    const length = Math.ceil(kept.length / parts);
    let smaller;
    for (let from = 0; from < kept.length && !smaller && !isOver(); from += length) {
      const rest = [...kept.slice(0, from), ...kept.slice(from + length)];
      if (await fails(keeping(plan, rest))) smaller = rest;
    }
    if (smaller) {
      kept = smaller;
      parts = Math.max(2, parts - 1);
    } else if (length === 1) break;
    else parts = Math.min(kept.length, 2 * parts);
  }
  plan = keeping(plan, kept);
  return withoutEngines(plan, fails, isOver);
}

/** Engines that nobody works on, if they have no part in it. */
async function withoutEngines(plan, fails, isOver) {
  for (let k = plan.engines.length - 1; k >= 0 && plan.engines.length > 1 && !isOver(); k--) {
    if (JSON.stringify(plan.lanes).match(new RegExp(`"engine":${k}\\b`))) continue;
    const moved = (key, value) => (key === "engine" && value > k ? value - 1 : value);
    const fewer = { ...plan, engines: plan.engines.filter((_, engine) => engine !== k), lanes: JSON.parse(JSON.stringify(plan.lanes), moved) };
    if (await fails(fewer)) plan = fewer;
  }
  return plan;
}
