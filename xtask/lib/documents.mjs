// Lint of the documents: links and their anchors lead somewhere, named files and folders exist, every measurement is listed,
// lines of prose and first pages stay short. The documents' programs are compiled and run by pkg_tests/types.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { root, StepError } from "./run.mjs";

const RESULTS = "benches/results";

/** Names in code that are of the package or of what is built, not of the repository. */
const OTHERS = /^(leastwise|target|dist|\.{1,2})\/|^node_modules/;

const NOT_OURS = [".git", "node_modules", "target", "dist"];

/** The most that a page may have. */
const LIMITS = [
  { document: "README.md", most: 60, unit: "lines", count: (text) => text.trimEnd().split("\n").length },
  { document: "docs/ARCHITECTURE.md", most: 900, unit: "words", count: (text) => text.split(/\s+/).filter(Boolean).length },
];

/** Most characters of a line of prose. Tables, code and comments are as wide as they must be, entries of the change log as long. */
const WIDEST = 120;
const ENTRIES = "CHANGELOG.md";

/** Paths of all files of the repository. */
function filesIn(at, folder) {
  return readdirSync(join(at, folder), { withFileTypes: true }).filter(({ name }) => !NOT_OURS.includes(name)).flatMap((entry) => {
    const path = folder ? `${folder}/${entry.name}` : entry.name;
    return entry.isDirectory() ? filesIn(at, path) : [path];
  });
}

/** Lines outside of fenced blocks, with their numbers from 1 on. */
function* proseOf(text) {
  let fence = false;
  for (const [k, line] of text.split("\n").entries()) {
    if (line.trimStart().startsWith("```")) fence = !fence;
    else if (!fence) yield [k + 1, line];
  }
}

/** Numbers of the lines of prose that are too long. */
function longLines(text) {
  const plain = text.replace(/<!--[^]*?-->/g, (comment) => comment.replace(/[^\n]+/g, ""));
  return [...proseOf(plain)].filter(([, line]) => [...line].length > WIDEST && !line.trimStart().startsWith("|")).map(([number]) => number);
}

/** A heading's anchor, as GitHub makes it: lower case, words joined by hyphens. */
export const anchorOf = (heading) => heading.replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase().replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "").replaceAll(" ", "-");

/** Anchors of a document's headings, numbered where they repeat. */
export function anchorsOf(text) {
  const anchors = new Set();
  for (const [, line] of proseOf(text)) {
    const heading = line.match(/^#{1,6}\s+(.*?)\s*#*$/)?.[1];
    if (heading === undefined) continue;
    const plain = anchorOf(heading);
    let anchor = plain;
    for (let again = 1; anchors.has(anchor); again++) anchor = `${plain}-${again}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** What is wrong with the relative links of a document: `[line, link]`. */
function wrongLinks(at, document, text, anchors) {
  return [...proseOf(text)].flatMap(([number, line]) => {
    // What is in code is no link; a link's words may be code.
    const links = [...line.replace(/`[^`]*`/g, "code").matchAll(/\]\(([^)\s]+)[^)]*\)/g)].map(([, link]) => link).filter((link) => !/^[a-z]+:/.test(link));
    return links.filter((link) => {
      const [path, anchor] = link.split("#");
      const target = path === "" ? document : normalize(join(dirname(document), path));
      if (!existsSync(join(at, target))) return true;
      return anchor !== undefined && !(target.endsWith(".md") && statSync(join(at, target)).isFile() && anchors(target).has(decodeURIComponent(anchor)));
    }).map((link) => [number, link]);
  });
}

/** Refuses documents with dead links, with names of what is not there, or beyond their length. */
export function checkDocuments(at = root) {
  const files = filesIn(at, "");
  const known = new Set(files.flatMap((file) => {
    const parts = file.split("/");
    // A file or folder is named by as much of its path as the sentence needs, and a module without its ending.
    return parts.flatMap((_, first) => parts.slice(first).flatMap((_, length) => {
      const name = parts.slice(first, first + length + 1).join("/");
      return first + length + 1 === parts.length ? [name, name.replace(/\.\w+$/, "")] : [name];
    }));
  }));
  const read = (document) => readFileSync(join(at, document), "utf8");
  const headings = new Map();
  const anchors = (document) => {
    if (!headings.has(document)) headings.set(document, anchorsOf(read(document)));
    return headings.get(document);
  };
  const documents = files.filter((file) => file.endsWith(".md"));
  const wrong = documents.flatMap((document) => {
    const text = read(document);
    const names = text.split("\n").flatMap((line, k) => [...line.matchAll(/`([\w.-]+(?:\/[\w.-]*)+|[\w-]+\.(?:rs|wgsl|mjs))`/g)]
      .map(([, name]) => name.replace(/\/$/, "")).filter((name) => !OTHERS.test(name) && !known.has(name)).map((name) => [k + 1, name]));
    return [...wrongLinks(at, document, text, anchors), ...names].sort(([a], [b]) => a - b).map(([line, name]) => `${document}:${line}: ${name}`);
  });
  if (wrong.length) throw new StepError(`Documents name what is not there:\n${wrong.join("\n")}`);
  const long = documents.filter((document) => document !== ENTRIES).flatMap((document) => longLines(read(document)).map((line) => `${document}:${line}`));
  if (long.length) throw new StepError(`Lines of prose have at most ${WIDEST} characters; longer ones:\n${long.join("\n")}`);
  for (const { document, most, unit, count } of LIMITS) {
    const has = count(read(document));
    if (has > most) throw new StepError(`${document} has ${has} ${unit}, and at most ${most} are allowed: move what is worth keeping to a page of docs/.`);
  }
  const index = read(join(RESULTS, "README.md"));
  const unlisted = readdirSync(join(at, RESULTS)).filter((name) => name !== "README.md" && !index.includes(`\`${name}\``));
  if (unlisted.length) throw new StepError(`${RESULTS}/README.md does not list ${unlisted.join(", ")}.`);
  return `${documents.length} documents\n`;
}
