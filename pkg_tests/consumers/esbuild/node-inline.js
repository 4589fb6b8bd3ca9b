import { init } from "leastwise/inline";
import { run } from "./program.mjs";

run(init, { backend: "cpu" }).then((result) => console.log(JSON.stringify(result)));
