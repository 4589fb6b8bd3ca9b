// Runs where the package `webgpu` fails the first time. Prints what calls at the same time were told, and those after them.
import { init } from "leastwise";

const two = () => Promise.all([0, 1].map(() => init({ backend: "webgpu" }).catch(({ message }) => message)));
const first = await two(), second = await two();
console.log(JSON.stringify({ first, second, tries: globalThis.triesOfWebGpu() }));
