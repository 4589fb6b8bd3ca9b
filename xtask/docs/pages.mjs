// The site's sources, made of the repository: documents, recipes and error codes as Markdown for VitePress.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { pageOf } from "../../examples/pictures/page.mjs";
import { anchorOf } from "../lib/documents.mjs";
import { root } from "../lib/run.mjs";
import { RECIPES } from "./contents.mjs";

const read = (path) => readFileSync(join(root, path), "utf8");

/** Documents outside of docs/ that the site has, and where. */
const ELSEWHERE = {
  "README.md": "index.md",
  "docs/README.md": "contents.md",
  "docs/internals/README.md": "internals/index.md",
  "benches/results/README.md": "results.md",
  "CHANGELOG.md": "CHANGELOG.md",
  "HACKING.md": "internals/HACKING.md",
  "docs/ARCHITECTURE.md": "internals/ARCHITECTURE.md",
  "native_cuda/package/README.md": "CUDA-PACKAGE.md",
};

/** Path on the site of a document of the repository; undefined if the site lacks it. */
export function placeOf(document) {
  if (document === "docs/ERRORS.md") return "errors/index.md";
  if (document === "docs/RECIPES.md") return "recipes/index.md";
  const recipe = document.match(/^examples\/recipes\/(.+)\.mjs$/)?.[1];
  if (recipe) return `recipes/${recipe}.md`;
  return ELSEWHERE[document] ?? (/^docs\/.*\.(md|png|svg)$/.test(document) ? document.slice("docs/".length) : undefined);
}

const titles = new Map();
/** The heading of a document. */
function titleOf(document) {
  if (!titles.has(document)) titles.set(document, read(document).match(/^# (.+)$/m)?.[1] ?? document);
  return titles.get(document);
}

/** A line of prose: its links lead to the site's pages, or become words where the site lacks them. */
function relink(line, document, place) {
  return line.replace(/(!?)\[((?:[^\][]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g, (whole, image, words, link) => {
    if (/^[a-z]+:/.test(link) || link.startsWith("#")) return whole;
    const [path, anchor] = link.split("#"), target = normalize(join(dirname(document), path));
    if (target === "docs/ERRORS.md" && anchor) return `[${words}](${relative(dirname(place), "errors") || "."}/${anchor}.md)`;
    const to = placeOf(target);
    if (to === undefined) return words;
    const from = relative(dirname(place), to);
    // A file's name is no title of a page.
    const shown = /^[\w/-]+\.md$/.test(words) ? titleOf(target) : words;
    return `${image}[${shown}](${from.startsWith(".") ? from : `./${from}`}${anchor ? `#${anchor}` : ""})`;
  });
}

/** A document as the site has it: without hidden declarations, with links of the site. */
export function converted(text, document, place) {
  let fence = false;
  return text.replace(/<!-- ts\n[^]*?-->\n/g, "").split("\n").map((line) => {
    if (line.trimStart().startsWith("```")) fence = !fence;
    else if (!fence) return relink(line, document, place).replaceAll("{{", "&#123;&#123;");
    return line;
  }).join("\n");
}

/** Names of the programs of docs/START.md in the playground, in their order. */
const FIRST_PROGRAMS = ["first-fit", "first-mesh", "first-bundle"];

/** The programs of docs/START.md: `[name, text]`, in TypeScript. */
export function firstPrograms() {
  const texts = [...read("docs/START.md").matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, text]) => text);
  if (texts.length !== FIRST_PROGRAMS.length) throw new Error(`docs/START.md has ${texts.length} programs, and xtask/docs/pages.mjs names ${FIRST_PROGRAMS.length}`);
  return FIRST_PROGRAMS.map((name, k) => [name, texts[k]]);
}

/** A page whose programs have links to the playground, in their order. */
function runnable(page, names) {
  let next = 0;
  return page.replace(/^```ts\n[^]*?^```$/gm, (block) => `${block}\n\n[Run it in the browser](./play.md?recipe=${names[next++]})`);
}

const recipeNames = () => readdirSync(join(root, "examples/recipes")).filter((file) => file.endsWith(".mjs")).map((file) => file.slice(0, -4)).sort();

/** Pages of the recipes, by path; every recipe must be in a group of the contents. */
function recipePages() {
  const pages = new Map(), names = recipeNames(), listed = RECIPES.flatMap(({ items }) => items);
  const wrong = [...names.filter((name) => !listed.includes(name)), ...listed.filter((name) => !names.includes(name))];
  if (wrong.length) throw new Error(`xtask/docs/contents.mjs and examples/recipes differ in ${wrong.join(", ")}`);
  const cards = new Map();
  for (const name of names) {
    const { title, summary, prose, code } = pageOf(name, read(`examples/recipes/${name}.mjs`));
    pages.set(`recipes/${name}.md`, [
      `# ${title}`, `![${title}](./${name}.svg)`, prose.replaceAll("{{", "&#123;&#123;"),
      "## Program", `\`examples/recipes/${name}.mjs\`, which the tests run. [Try it in the browser](../play.md?recipe=${name}).`, `\`\`\`js\n${code}\n\`\`\``, "",
    ].join("\n\n"));
    cards.set(name, { title, summary, picture: `/recipes/${name}.svg`, link: `/recipes/${name}` });
  }
  return { pages, cards };
}

/** A page for each error code, of the sections of docs/ERRORS.md, and their index. */
function errorPages() {
  const [head, ...sections] = read("docs/ERRORS.md").split(/^## /m);
  const pages = new Map(), rows = [];
  for (const section of sections) {
    const end = section.indexOf("\n"), code = section.slice(0, end).replaceAll("`", "");
    const place = `errors/${anchorOf(code)}.md`, body = converted(section.slice(end + 1).trim(), "docs/ERRORS.md", place);
    pages.set(place, `---\nprev: { text: Error codes, link: /errors/ }\nnext: false\n---\n\n# Error \`${code}\`\n\n${body}\n`);
    rows.push(`| [\`${code}\`](./${anchorOf(code)}.md) | ${body.split("\n\n")[0].replaceAll("\n", " ").replace(/\*\*Cause\.\*\* /, "")} |`);
  }
  pages.set("errors/index.md", `${converted(head, "docs/ERRORS.md", "errors/index.md")}\n| code | cause |\n|---|---|\n${rows.join("\n")}\n`);
  return pages;
}

const HOME = `---
layout: home
hero:
  name: Leastwise
  text: Nonlinear least squares on the GPU, from TypeScript
  tagline: Write the residual of one edge, observation or constraint. It is traced, differentiated, compiled and solved for all of them, with WebGPU, CUDA or on the CPU.
  image: { src: /bunny-drag.png, alt: A bunny whose ears are dragged }
  actions:
    - { theme: brand, text: Five minutes, link: /START }
    - { theme: alt, text: Recipes, link: /recipes/ }
    - { theme: alt, text: Playground, link: /play }
features:
  - { title: Exact derivatives, details: "A function runs once, on expressions. Jacobians and Hessians are symbolic; nothing is differentiated by differences.", link: /CONCEPTS }
  - { title: Large and live, details: "A million residuals, edited while they are solved. A frame loop reads nothing back.", link: /LIVE }
  - { title: The same bits, details: "The same input on the same machine gives the same bits, on any number of threads.", link: /BACKENDS#the-same-bits }
  - { title: A solver's whole toolbox, details: "Eight methods, six linear solvers, two-level preconditioning, bounds and constraints, robust losses, outliers, covariances.", link: /METHODS }
  - { title: Manifolds, details: "Rotations, rigid motions, similarities, spheres, records, and your own retraction.", link: /MANIFOLDS }
  - { title: Errors for people, details: "Every error has a code, names term and instance, and has a page with its cause and remedy.", link: /errors/ }
---

\`\`\`sh
npm install leastwise
\`\`\`

`;

/** All pages by path on the site, and the recipes' cards. */
export function pagesOf() {
  const pages = new Map();
  const documents = ["docs", "docs/internals"].flatMap((folder) => readdirSync(join(root, folder)).filter((name) => name.endsWith(".md")).map((name) => `${folder}/${name}`));
  for (const document of [...documents, ...Object.keys(ELSEWHERE)]) {
    const place = placeOf(document);
    if (existsSync(join(root, document)) && document !== "docs/ERRORS.md") pages.set(place, converted(read(document), document, place));
  }
  const first = pages.get("index.md").match(/```ts\n[^]*?```/)[0];
  pages.set("index.md", `${HOME}${first}\n`);
  pages.set("START.md", runnable(pages.get("START.md"), FIRST_PROGRAMS));
  const { pages: recipes, cards } = recipePages();
  for (const [path, text] of [...recipes, ...errorPages()]) pages.set(path, text);
  pages.set("recipes/index.md", "---\nlayout: gallery\ntitle: Recipes\n---\n");
  pages.set("bench.md", "---\nlayout: benchmark\ntitle: Benchmark\nsidebar: false\n---\n");
  pages.set("play.md", "---\nlayout: playground\ntitle: Playground\nsidebar: false\n---\n");
  return { pages, cards };
}

/** Pictures of the documents. */
export const picturesOf = () => readdirSync(join(root, "docs")).filter((name) => /\.(png|svg)$/.test(name) && statSync(join(root, "docs", name)).isFile());
