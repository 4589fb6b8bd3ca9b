/** Objects whose names are all known: a name that is not there is an error at once. */
import { LeastwiseError } from "./errors.js";
import { meant } from "./options.js";

/** What an object is, for messages. @internal */
export interface Naming {
  /** The subject of a sentence: "the data". */
  readonly what: () => string;
  readonly isPlural: boolean;
  readonly term: string | undefined;
}

/**
 * Values by their names. A name that is not there is an error: as `undefined`, it would be one in some operation far away.
 *
 * @internal
 */
export function named(values: readonly (readonly [name: string, value: unknown])[], { what, isPlural, term }: Naming): object {
  return new Proxy(Object.freeze(Object.fromEntries(values)), {
    get(target, name) {
      if (name === Symbol.iterator && !(name in target)) throw new LeastwiseError("invalid-option", `${what()} ${isPlural ? "have" : "has"} names and no order: take ({ ${Object.keys(target).join(", ")} }), not a list`, { term });
      // What JavaScript itself looks for is no mistake.
      if (typeof name === "symbol" || name in target || name === "then" || name === "toJSON") return Reflect.get(target, name) as unknown;
      throw new LeastwiseError("invalid-option", `${what()} ${isPlural ? "have" : "has"} no "${name}"${meant(name, Object.keys(target), isPlural ? "they have" : "it has")}`, { term });
    },
  });
}
