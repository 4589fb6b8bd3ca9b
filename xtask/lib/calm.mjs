// Loaded into the processes of tests on a software GPU (`node --import`). While anything is awaited of it, Dawn's binding asks a software device for
// news as often as the event loop turns, each time by a new function that it gives to setImmediate. That takes a core from the shaders and
// compilers that run on the same ones: here it asks every millisecond.
const immediate = globalThis.setImmediate;
const isNative = (work) => typeof work === "function" && /\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(work));

globalThis.setImmediate = Object.assign((work, ...rest) => (isNative(work) ? setTimeout(work, 1, ...rest) : immediate(work, ...rest)), immediate);
// `util.promisify` asks for it by a symbol.
for (const symbol of Object.getOwnPropertySymbols(immediate)) Object.defineProperty(globalThis.setImmediate, symbol, Object.getOwnPropertyDescriptor(immediate, symbol));
