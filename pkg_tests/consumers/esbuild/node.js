import { init } from "leastwise";
import { run } from "./program.mjs";

run(init, { backend: "cpu" }).then((result) => console.log(JSON.stringify(result)));
