// Stages of a long run, two at a time: each begins when those before it are done, the earliest first.
import { seconds, StepError } from "./run.mjs";

/**
 * A stage. `after` names others that must have passed, `behind` others that must only have ended; `alone` keeps everything else out while it runs, as what watches a clock needs.
 * `work(say)` does it; what it says is printed in one piece at its end, so that two stages' words do not mix.
 * @typedef {{ name: string, after?: string[], behind?: string[], alone?: boolean, work: (say: (text: string) => void) => Promise<unknown> }} Stage
 */

/** Lines of a failed stage that are repeated at the end of the run: runners list what failed last, and a log is often read from its end. */
const REPEATED = 60;
const lastLines = (text) => text.split("\n").slice(-REPEATED - 1).join("\n");

/**
 * Runs all stages but those that come after one that failed: one run tells of all that is wrong. Resolves to the seconds of each, or rejects
 * with the names of those that failed and of those that were left out.
 */
export async function inLanes(stages, { lanes = 2, say = console.log } = {}) {
  const names = new Set(stages.map(({ name }) => name));
  for (const { name, after = [], behind = [] } of stages) {
    for (const before of [...after, ...behind]) if (!names.has(before)) throw new Error(`stage "${name}" is to come after "${before}", which does not exist`);
  }
  const [waiting, running, passed, times] = [[...stages], new Map(), new Set(), []];
  const beat = setInterval(() => {
    say(`  … ${passed.size} of ${stages.length} stages passed; running: ${[...running].map(([name, { started }]) => `${name} (${seconds(started)})`).join(", ")}`);
  }, 30_000);
  const failed = new Map();
  const isToCome = (name) => running.has(name) || waiting.some((stage) => stage.name === name);
  const isReady = ({ after = [], behind = [], alone }) => after.every((name) => passed.has(name)) && !behind.some(isToCome) && (!alone || running.size === 0) && ![...running.values()].some((stage) => stage.alone);
  const isPossible = ({ after = [] }) => after.every((name) => passed.has(name) || isToCome(name));

  const run = async (stage) => {
    const [started, said] = [performance.now(), []];
    running.set(stage.name, { started, alone: stage.alone });
    try {
      await stage.work((text) => said.push(text));
      passed.add(stage.name);
      times.push([stage.name, (performance.now() - started) / 1000]);
      say(`\n━━ ${stage.name}\n${said.join("")}━━ ${stage.name}: passed [${seconds(started)}]`);
    } catch (error) {
      const why = `✗ ${stage.name} failed [${seconds(started)}]\n${error instanceof StepError ? error.message : error.stack}`;
      failed.set(stage.name, `${lastLines(said.join(""))}${why}`);
      say(`\n━━ ${stage.name}\n${said.join("")}${why}`);
    } finally {
      running.delete(stage.name);
    }
  };

  try {
    const going = new Set();
    const leftOut = [];
    while (waiting.length || going.size) {
      for (let index; (index = waiting.findIndex((stage) => !isPossible(stage))) >= 0;) leftOut.push(waiting.splice(index, 1)[0].name);
      while (running.size < lanes) {
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
    if (failed.size) {
      for (const [name, end] of failed) say(`\n━━ ${name}, once more: the end of it\n${end}`);
      throw new StepError(`${failed.size} of ${stages.length} stages failed: ${[...failed.keys()].join(", ")}.${leftOut.length ? ` Not run without them: ${leftOut.join(", ")}.` : ""}`);
    }
    if (waiting.length) throw new Error(`these stages wait for each other: ${waiting.map(({ name }) => name).join(", ")}`);
  } finally {
    clearInterval(beat);
  }
  return times;
}
