import { init } from "leastwise/threads";
import { run } from "./program.mjs";

console.log(JSON.stringify(await run(init, { backend: "cpu", threads: 2 })));
