/** `leastwise/fits`: many small fits whose data stay on the device. */
export { fitSet, type FitRunOptions, type FitSet } from "./fit-set.js";
