import { init } from "leastwise";
import { run } from "./program.mjs";

console.log(JSON.stringify(await run(init, { backend: "cpu" })));
