// Stages of a long run, two at a time: each begins when those before it are done, the earliest first.
import { seconds } from "./run.mjs";

/**
 * A stage. `after` names others that must have passed; `alone` keeps everything else out while it runs, as what watches a clock needs.
 * `work(say)` does it; what it says is printed in one piece at its end, so that two stages' words do not mix.
 * @typedef {{ name: string, after?: string[], alone?: boolean, work: (say: (text: string) => void) => Promise<unknown> }} Stage
 */

/** Runs all stages, or until one fails: those that run then are waited for, and no other is begun. Resolves to the seconds of each. */
export async function inLanes(stages, lanes = 2) {
  const names = new Set(stages.map(({ name }) => name));
  for (const { name, after = [] } of stages) {
    for (const before of after) if (!names.has(before)) throw new Error(`stage "${name}" is to come after "${before}", which does not exist`);
  }
  const [waiting, running, passed, times] = [[...stages], new Map(), new Set(), []];
  const beat = setInterval(() => {
    console.log(`  … ${passed.size} of ${stages.length} stages passed; running: ${[...running].map(([name, { started }]) => `${name} (${seconds(started)})`).join(", ")}`);
  }, 30_000);
  let failure;
  const isReady = ({ after = [], alone }) => after.every((name) => passed.has(name)) && (!alone || running.size === 0) && ![...running.values()].some((stage) => stage.alone);

  const run = async (stage) => {
    const [started, said] = [performance.now(), []];
    running.set(stage.name, { started, alone: stage.alone });
    try {
      await stage.work((text) => said.push(text));
      passed.add(stage.name);
      times.push([stage.name, (performance.now() - started) / 1000]);
      console.log(`\n━━ ${stage.name}\n${said.join("")}━━ ${stage.name}: passed [${seconds(started)}]`);
    } catch (error) {
      failure ??= error;
      console.log(`\n━━ ${stage.name}\n${said.join("")}✗ ${stage.name} failed [${seconds(started)}]`);
    } finally {
      running.delete(stage.name);
    }
  };

  try {
    const going = new Set();
    while (!failure && waiting.length || going.size) {
      while (!failure && running.size < lanes) {
        // What must be alone is not begun before everything that may share is done, or it would hold the other lane up.
        const next = waiting.find((stage) => isReady(stage) && (!stage.alone || waiting.every((other) => other.alone)));
        if (!next) break;
        waiting.splice(waiting.indexOf(next), 1);
        const work = run(next).finally(() => going.delete(work));
        going.add(work);
      }
      if (!going.size) break;
      await Promise.race(going);
    }
    if (failure) throw failure;
    if (waiting.length) throw new Error(`these stages wait for each other: ${waiting.map(({ name }) => name).join(", ")}`);
  } finally {
    clearInterval(beat);
  }
  return times;
}
