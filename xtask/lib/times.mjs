// How long tests take, by file: a reporter for node's test runner, and what is made of it and of cargo's own lines.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./run.mjs";

const folder = join(root, "target/times");

/** A fresh file for the times of one run of node's tests, for `LEASTWISE_TIMES`. */
export function timesFile(name) {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name.replaceAll(/\W+/g, "-")}.json`);
  rmSync(path, { force: true });
  return path;
}

/** Seconds by file that node's runner was on, the slowest first: [["scenes.test.mjs", 12.3], …]. */
export function timesOf(path) {
  return Object.entries(JSON.parse(readFileSync(path, "utf8"))).sort(([, a], [, b]) => b - a);
}

/** Seconds by test program that cargo ran, of its output: "Running tests/solve.rs (…)", then "finished in 1.23s". */
export function timesOfCargo(output) {
  const times = [];
  let running;
  for (const line of output.split("\n")) {
    const started = /^\s*(?:Running (?:unittests )?(\S+)|Doc-tests (\S+))/.exec(line);
    if (started) running = started[1] ?? `doc-tests of ${started[2]}`;
    const took = /finished in ([\d.]+)s/.exec(line);
    if (took && running) times.push([running, Number(took[1])]);
  }
  return times.sort(([, a], [, b]) => b - a);
}

/** The reporter: tests at the top of a file, added up, to the file that `LEASTWISE_TIMES` names. */
export default async function* reporter(events) {
  const seconds = {};
  for await (const { type, data } of events) {
    if ((type === "test:pass" || type === "test:fail") && data.nesting === 0 && data.file) {
      const name = data.file.slice(dirname(dirname(data.file)).length + 1);
      seconds[name] = (seconds[name] ?? 0) + data.details.duration_ms / 1000;
    }
  }
  writeFileSync(process.env.LEASTWISE_TIMES, JSON.stringify(seconds));
  yield "";
}
