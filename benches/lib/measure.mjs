// Rows in processes of their own.
import { fork } from "node:child_process";
import { join } from "node:path";

/** A row's process: what `program` measured before it ended, or was ended after `limit` seconds. */
export function measure(job, limit, program = "row.mjs") {
  return new Promise((resolve) => {
    const result = {};
    let stage = "start";
    let finished = false;
    const child = fork(join(import.meta.dirname, "..", program), [JSON.stringify(job)]);
    const timer = setTimeout(() => {
      result.cut = `cut after ${limit} s, in: ${stage}`;
      child.kill("SIGKILL");
    }, limit * 1000);
    child.on("message", ({ stage: next, done, error, ...measured }) => {
      if (next) stage = next;
      if (done) finished = true;
      if (error) result.cut = `failed in ${stage}: ${error}`;
      Object.assign(result, measured);
    });
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      if (!finished) result.cut ??= `ended in ${stage} (${signal ?? `exit code ${code}`})`;
      resolve(result);
    });
  });
}
