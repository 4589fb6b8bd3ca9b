import { init } from "leastwise";
import { expect, test } from "vitest";
import { run } from "./program.mjs";

test("a fit", async () => {
  const result = await run(init, { backend: "cpu" });
  expect(result.termination).toBe("converged");
  console.log(`result: ${JSON.stringify(result)}`);
});
