// What documents say of the repository: every link leads somewhere, every file and folder that is named is there, and every
// measurement is listed. Their programs are compiled and run by pkg_tests/types.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { root, StepError } from "./run.mjs";

const RESULTS = "benches/results";

/** Names in code that are of the package or of what is built, not of the repository. */
const OTHERS = /^(leastwise|target|dist|\.{1,2})\/|^node_modules/;

const NOT_OURS = [".git", "node_modules", "target", "dist"];

/** Paths of all files of the repository. */
function filesIn(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).filter(({ name }) => !NOT_OURS.includes(name)).flatMap((entry) => {
    const path = folder ? `${folder}/${entry.name}` : entry.name;
    return entry.isDirectory() ? filesIn(path) : [path];
  });
}

/** Refuses documents that name what is not there. */
export function checkDocuments() {
  const files = filesIn("");
  const known = new Set(files.flatMap((file) => {
    const parts = file.split("/");
    // A file or folder is named by as much of its path as the sentence needs, and a module without its ending.
    return parts.flatMap((_, first) => parts.slice(first).flatMap((_, length) => {
      const name = parts.slice(first, first + length + 1).join("/");
      return first + length + 1 === parts.length ? [name, name.replace(/\.\w+$/, "")] : [name];
    }));
  }));
  const documents = files.filter((file) => file.endsWith(".md"));
  const wrong = documents.flatMap((document) => readFileSync(join(root, document), "utf8").split("\n").flatMap((line, at) => {
    const links = [...line.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, link]) => link).filter((link) => !/^[a-z]+:/.test(link) && !existsSync(join(root, normalize(join(dirname(document), link)))));
    const names = [...line.matchAll(/`([\w.-]+(?:\/[\w.-]*)+|[\w-]+\.(?:rs|wgsl|mjs))`/g)].map(([, name]) => name.replace(/\/$/, "")).filter((name) => !OTHERS.test(name) && !known.has(name));
    return [...links, ...names].map((name) => `${document}:${at + 1}: ${name}`);
  }));
  if (wrong.length) throw new StepError(`Documents name what is not there:\n${wrong.join("\n")}`);
  const index = readFileSync(join(root, RESULTS, "README.md"), "utf8");
  const unlisted = readdirSync(join(root, RESULTS)).filter((name) => name !== "README.md" && !index.includes(`\`${name}\``));
  if (unlisted.length) throw new StepError(`${RESULTS}/README.md does not list ${unlisted.join(", ")}.`);
  return `${documents.length} documents\n`;
}
