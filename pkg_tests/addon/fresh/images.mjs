// Prints what is said of compiled kernels.
import { probe } from "leastwise-cuda";

console.log(JSON.stringify(probe().images));
