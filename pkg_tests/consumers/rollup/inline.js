import { init } from "leastwise/inline";
import { run } from "./program.mjs";

window.result = run(init, { backend: "cpu" });
