import { init } from "leastwise";
import { run } from "./program.mjs";

window.result = run(init, { backend: "cpu" });
