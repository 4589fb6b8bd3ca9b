import { init } from "leastwise";
import { run } from "./program.mjs";

run(init, { backend: "cpu" }).then((value) => postMessage({ value }), ({ name, message }) => postMessage({ error: `${name}: ${message}` }));
