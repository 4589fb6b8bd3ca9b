/** Places of the engine's modules for hosts that fetch them: addresses beside this file, which bundlers recognise as they stand. */
import { failed } from "./load-errors.js";

/** Address of the module. Built when it is needed, since some hosts have no addresses for modules. @internal */
export const moduleBeside = (): URL => located(() => new URL("./wasm/leastwise_bg.wasm", import.meta.url));

/** Runs what builds an address. Throws `load` in hosts whose modules have none. @internal */
export function located(address: () => URL): URL {
  try {
    return address();
  } catch (thrown) {
    throw failed("this host has no addresses for files of modules (a CommonJS bundle, Cloudflare's workers)", "unlocated", undefined, thrown);
  }
}
