// Routes by what is measured, in a process of its own; prints how often that was, what it goes by, where kernels ran, and what came out. Argument: options of init as JSON.
import { init } from "leastwise";
import { countMeasurements, routed } from "../support-routing.mjs";

const lw = await init(JSON.parse(process.argv[2]));
const count = countMeasurements(lw);
lw.tensors({ routing: "auto" });
const { values, trace } = await routed(lw);
console.log(JSON.stringify({ measured: count(), routing: lw.tensorRouting(), values, trace }));
lw.dispose();
