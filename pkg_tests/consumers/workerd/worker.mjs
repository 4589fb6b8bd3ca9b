import { init } from "leastwise";
import wasm from "leastwise/leastwise.wasm";
import { run } from "./program.mjs";

export default {
  fetch: async () => Response.json(await run(init, { backend: "cpu", wasm })),
};
