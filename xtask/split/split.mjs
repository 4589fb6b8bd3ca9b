// Splits a module that has names into a primary one and parts, which it loads when it needs them.
import { createHash } from "node:crypto";
import { dataOf } from "./data.mjs";
import { emit, without } from "./emit.mjs";
import { links } from "./links.mjs";
import { mentionsOf } from "./mentions.mjs";
import { parse } from "./module.mjs";
import { owners } from "./ownership.mjs";

/** The linker's module without what it knew, which nothing after it keeps right. */
export const plain = (linked) => without(linked, (name) => name === "linking" || name.startsWith("reloc."));

/**
 * Splits the module in `bytes`: `{ whole, core, parts }`, none of which has names. `names` are those of the parts, and `claim` tells by a
 * function's name and size which part it belongs to: see `owners`. `linked` is the module as the linker left it, with what it knew; without it data stays in the primary module.
 */
export function split(bytes, names, claim, linked, home) {
  const module = parse(bytes);
  // Of two builds not even a part may be mixed.
  const key = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
  const known = linked && links(linked), mentions = known && mentionsOf(module, known);
  const own = owners(module, claim, mentions, home);
  const [core, ...parts] = emit(module, own, names.length, key, known && dataOf(module, own, mentions, known.data));
  for (const made of [core, ...parts]) if (!WebAssembly.validate(made)) throw new Error("a part of the module is not valid: the splitter does not know an instruction");
  return { whole: without(bytes, () => true), core, parts: Object.fromEntries(names.map((name, k) => [name, parts[k]])) };
}
