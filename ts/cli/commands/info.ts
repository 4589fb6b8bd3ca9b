/** `leastwise info`: what an index says of itself. */
import { columns, type Command } from "../arguments.js";
import { COMMON_OPTIONS, withEngine } from "../engine.js";
import { infoOf, isBits, openBitsFile } from "../bits.js";
import { openIndexFile } from "../files.js";
import { percent, short, size } from "../text.js";

export const info: Command = {
  name: "info",
  summary: "print all that an index says of itself",
  positionals: ["INDEX"],
  options: COMMON_OPTIONS,
  notes: `INDEX is a file of "leastwise compress", or the .idx of a published index, whose .anchors.bin and .assign.bin lie beside it.
The whole file is read and its checksums are compared.`,

  async run(args) {
    const [path] = args.positionals as [string];
    await withEngine(args, async (lw) => {
      if (await isBits(path)) {
        using bits = await openBitsFile(lw, path);
        const info = infoOf(bits);
        return console.log(args.has("json") ? JSON.stringify(info, null, 2) : `${path}\n${columns(flat(info))}`);
      }
      using index = await openIndexFile(lw, path);
      const { info } = index;
      if (args.has("json")) return console.log(JSON.stringify(info, null, 2));
      const rows = flat(info as unknown as { readonly [name: string]: unknown });
      rows.push(["ratio", `${percent(index.ratio)} of f32 (${size(info.bytes)})`]);
      console.log(`${path}\n${columns(rows)}`);
    });
  },
};

const shown = (value: unknown) => (typeof value === "number" ? short(value) : typeof value === "string" ? value : JSON.stringify(value));

/** Nested metadata as dotted names; long lists by their length, first and last. */
function flat(value: { readonly [name: string]: unknown }, prefix = ""): [string, string][] {
  return Object.entries(value).flatMap(([name, each]): [string, string][] => {
    const path = `${prefix}${name}`;
    if (Array.isArray(each) && each.length > 8) return [[path, `${each.length} values, from ${shown(each[0])} to ${shown(each.at(-1))}`]];
    if (typeof each === "object" && each !== null && !Array.isArray(each)) return flat(each as { [name: string]: unknown }, `${path}.`);
    return [[path, shown(each)]];
  });
}
