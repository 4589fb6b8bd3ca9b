/** "Copy as project": what a page shows, as a small npm project. */
import * as energies from "leastwise/energies";
import * as meshes from "leastwise/mesh";
import { strToU8, zipSync } from "fflate";
import { CORE } from "./code.js";
import { download } from "./dom.js";

/** Files of a project besides its package.json. */
export interface Project { readonly name: string; readonly files: { readonly [path: string]: string } }

/** Downloads the project as a zip, and copies its program to the clipboard where that is allowed. */
export async function giveProject({ name, files }: Project): Promise<void> {
  const manifest = { name, private: true, type: "module", scripts: { start: "node main.ts" }, engines: { node: ">=22.18" }, dependencies: { leastwise: "^0.1.0" } };
  const readme = `# ${name}\n\n\`\`\`sh\nnpm install\nnpm start\n\`\`\`\n`;
  const all = { "package.json": `${JSON.stringify(manifest, null, 2)}\n`, "README.md": readme, ...files };
  const zip = zipSync(Object.fromEntries(Object.entries(all).map(([path, text]) => [`${name}/${path}`, strToU8(text)])));
  download(`${name}.zip`, zip as Uint8Array<ArrayBuffer>, "application/zip");
  try { await navigator.clipboard.writeText(files["main.ts"] ?? ""); } catch { /* the zip has it */ }
}

/** Names that a program may import, by module; of names alone nothing else would be in the page. */
const EXPORTS = [["leastwise/energies", Object.keys(energies)], ["leastwise/mesh", Object.keys(meshes)], ["leastwise", [...Object.keys(CORE), "init"]]] as const;

/** Names of the package that a text uses, by the module that exports them, as import lines. */
export function importsFor(source: string, besides: readonly string[] = []): string {
  const used = new Set(source.match(/(?<![.\w$])[A-Za-z_$][\w$]*/g) ?? []);
  // What the code declares itself is its own.
  const declared = [...source.matchAll(/\b(?:const|let|var|function)\s+(?:([\w$]+)|[{[]([^}\]]*)[}\]])/g)].flatMap(([, name, list]) => (name ? [name] : list!.split(",").map((one) => one.split(":").at(-1)!.trim())));
  const taken = new Set([...besides, ...declared]), lines: string[] = [];
  for (const [from, exports] of EXPORTS) {
    const names = exports.filter((name) => used.has(name) && !taken.has(name)).sort();
    for (const name of names) taken.add(name);
    if (names.length) lines.push(`import { ${names.join(", ")} } from "${from}";`);
  }
  return lines.reverse().join("\n");
}
