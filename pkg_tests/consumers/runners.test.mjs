// Test runners, in which a user's tests solve: Vitest; in full, Jest, whose tests are modules with a flag of Node alone.
import { test } from "node:test";
import { found, full, node, project, tool } from "./support.mjs";

/** The result that the test of the consumer has printed. */
function printed(text) {
  const [, result] = /result: (\{.*\})/.exec(text) ?? [];
  if (!result) throw new Error(`no result was printed:\n${text}`);
  found(JSON.parse(result));
}

test("Vitest", async () => {
  printed(await node([tool("vitest", "vitest.mjs"), "run", "--root", "."], { cwd: project("vitest") }));
});

if (full) {
  test("Jest", async () => {
    printed(await node(["--experimental-vm-modules", tool("jest", "bin/jest.js"), "--rootDir", "."], { cwd: project("jest") }));
  });
}
