// Deno: allowed to read files and nothing else.
import { test } from "node:test";
import { execute, project, solves, tool } from "./support.mjs";

const deno = tool("deno", "bin.cjs");

for (const file of ["main.mjs", "threads.mjs"]) {
  test(`deno run ${file}`, () => solves(process.execPath, [deno, "run", "--quiet", "--allow-read", file], { cwd: project("node", `deno-${file}`) }));
}

test("deno check", async () => {
  await execute(process.execPath, [deno, "check", "--quiet", "main.ts"], { cwd: project("typescript", "deno-check") });
});
