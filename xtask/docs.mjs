// `npm run docs`: the documentation site, static, in target/docs. Documents, recipes with pictures, a page for each error code, all exports by
// TypeDoc, a local search, a playground with the built package, and a benchmark. `-- --test` tries it in Chromium, `-- --serve` shows it,
// `-- --bless` draws the pictures of README.md again.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "./build.mjs";
import { benchmark, playground } from "./docs/assets.mjs";
import { RECIPES, SECTIONS } from "./docs/contents.mjs";
import { firstPrograms, pagesOf, picturesOf } from "./docs/pages.mjs";
import { recorded } from "./docs/recorded.mjs";
import { published } from "./lib/facade.mjs";
import { capture, entry, passThrough, root, run, seconds } from "./lib/run.mjs";
import { scratchProject } from "./lib/scratch.mjs";
import { hashOf, stage } from "./lib/stamps.mjs";
import { setup } from "./setup.mjs";

const tools = join(root, "target/docs-tools"), site = join(tools, "site"), out = join(root, "target/docs");
/** Sources of the entries, but for `leastwise/inline`, which exports what `leastwise` does: "main", "mesh", "mesh/files", … */
const ENTRIES = Object.values(published().exports).flatMap(({ types }) => types?.match(/dist\/(.+)\.d\.ts$/)?.[1] ?? []).filter((name) => name !== "inline");
const importedAs = (name) => (name === "main" ? "leastwise" : `leastwise/${name}`);

/** VitePress and TypeDoc, apart from the repository's own packages: TypeDoc needs another TypeScript, and the tests need neither. */
async function installTools() {
  const files = ["package.json", "package-lock.json"];
  await stage("tools of the documentation", { key: hashOf(files.map((name) => `xtask/docs/${name}`)), outputs: ["target/docs-tools/node_modules/vitepress/package.json"] }, async () => {
    mkdirSync(tools, { recursive: true });
    for (const name of files) cpSync(join(root, "xtask/docs", name), join(tools, name));
    await run("npm ci in target/docs-tools", "npm", ["ci", "--no-audit", "--no-fund", "--prefer-offline"], { cwd: tools });
    return "installed";
  });
}

async function exportsAsMarkdown() {
  const typedoc = join(tools, "node_modules/typedoc/bin/typedoc");
  const flags = ["--plugin", join(tools, "node_modules/typedoc-plugin-markdown/dist/index.js"), "--tsconfig", join(root, "ts/tsconfig.json"), "--out", join(site, "api"),
    ...ENTRIES.flatMap((name) => ["--entryPoints", join(root, `ts/src/${name}.ts`)]), "--readme", "none", "--entryFileName", "index", "--name", "All exports",
    "--excludeInternal", "--excludePrivate", "--excludeReferences", "--skipErrorChecking", "--disableSources", "--hidePageHeader", "--hideBreadcrumbs", "--logLevel", "Error",
    "--parametersFormat", "table", "--typeAliasPropertiesFormat", "table"];
  await run("TypeDoc", process.execPath, [typedoc, ...flags], { cwd: tools });
}

/** Entries by the name that they are imported by, and lists of exports in columns. */
function nameEntries() {
  const index = join(site, "api/index.md");
  writeFileSync(index, readFileSync(index, "utf8").replace(/^- \[([^\]]+)\]/gm, (_, name) => `- [${importedAs(name)}]`));
  for (const name of ENTRIES) {
    const path = join(site, "api", name, "index.md");
    writeFileSync(path, `---\npageClass: api-list\n---\n\n${readFileSync(path, "utf8").replace(/^# .*$/m, `# ${importedAs(name)}`)}`);
  }
}

/** VitePress' configuration: navigation and sidebar from the contents. */
function configuration(cards, languageSize) {
  const linkOf = (place) => `/${place.replace(/(^|\/)index$/, "$1")}`;
  const recipes = RECIPES.map(({ text, items }) => ({ text, items: items.map((name) => cards.get(name)) }));
  const documents = SECTIONS.map(({ text, items }) => ({ text, items: items.map(([place, text]) => ({ text, link: linkOf(place) })) }));
  const internals = ["index", "ARCHITECTURE", "HACKING", ...readdirSync(join(root, "docs/internals")).filter((name) => name !== "README.md").map((name) => name.slice(0, -3))];
  const sidebar = {
    "/recipes/": recipes.map(({ text, items }) => ({ text, items: items.map(({ title, link }) => ({ text: title, link })) })),
    "/internals/": [{ text: "Internals", items: internals.map((name) => ({ text: name === "index" ? "Overview" : name.charAt(0) + name.slice(1).toLowerCase(), link: linkOf(`internals/${name}`) })) }],
    "/api/": [{ text: "All exports", items: [{ text: "Overview", link: "/api/" }, ...ENTRIES.map((name) => ({ text: importedAs(name), link: `/api/${name}/` }))] }],
    "/": documents,
  };
  const nav = [
    { text: "Start", link: "/START" }, { text: "Concepts", link: "/CONCEPTS" }, { text: "Recipes", link: "/recipes/" }, { text: "Reference", link: "/OPTIONS" }, { text: "Playground", link: "/play" },
    { text: "More", items: [{ text: "From other tools", link: "/FROM-OTHER-TOOLS" }, { text: "Performance", link: "/PERFORMANCE" }, { text: "Benchmark", link: "/bench" }, { text: "FAQ", link: "/FAQ" }, { text: "All exports", link: "/api/" }, { text: "Internals", link: "/internals/" }] },
  ];
  const programs = [...firstPrograms().map(([name]) => ({ name, title: `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll("-", " ")}` })), { name: "drawing", title: "Plots and meshes" }];
  const beside = { recorded: recorded(), version: published().version, commit: capture("git", ["rev-parse", "--short=12", "HEAD"], { cwd: root }) ?? "unknown" };
  return `import { anchorOf } from ${JSON.stringify(join(root, "xtask/lib/documents.mjs"))};
export default {
  title: "Leastwise", description: "Nonlinear least squares on the GPU, from TypeScript", lang: "en", head: [["link", { rel: "icon", href: "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M1 4c3 9 10 9 14 0' fill='none' stroke='%233451b2' stroke-width='2.4' stroke-linecap='round'/%3E%3Ccircle cx='8' cy='10.6' r='2.2' fill='%23ea580c'/%3E%3C/svg%3E" }]], outDir: ${JSON.stringify(out)}, base: process.env.LEASTWISE_DOCS_BASE ?? "/",
  lastUpdated: false, metaChunk: true,
  markdown: { html: false, anchor: { slugify: anchorOf }, image: { lazyLoading: true } },
  vite: { logLevel: "warn", build: { chunkSizeWarningLimit: 4000 } },
  themeConfig: ${JSON.stringify({ nav, sidebar, recipes, programs, languageSize, benchmark: beside, outline: [2, 3], search: { provider: "local" }, docFooter: { prev: "Before", next: "Next" } })},
};
`;
}

const write = (path, text) => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};

/** Builds the site; returns its folder. With `bless`, README's pictures are replaced by those drawn now. */
export async function docs({ bless = false } = {}) {
  const started = performance.now();
  await installTools();
  const tarball = await build({ threads: false });
  const examples = await scratchProject("docs-examples", { tarball, packages: [], sources: "examples" });
  for (const folder of [site, out]) rmSync(folder, { recursive: true, force: true });
  const { pages, cards } = pagesOf();
  for (const [path, text] of pages) write(join(site, path), text);
  for (const name of picturesOf()) cpSync(join(root, "docs", name), join(site, name));
  const shown = join(site, "public");
  mkdirSync(join(shown, "recipes"), { recursive: true });
  cpSync(join(root, "docs/bunny-drag.png"), join(shown, "bunny-drag.png"));
  await run("pictures of the recipes", process.execPath, [join(examples, "pictures/draw.mjs"), join(shown, "recipes")], { cwd: dirname(examples) });
  cpSync(join(shown, "recipes"), join(site, "recipes"), { recursive: true });
  if (bless) for (const name of readdirSync(join(root, "docs/recipes"))) cpSync(join(shown, "recipes", name), join(root, "docs/recipes", name));
  const languageSize = await playground(shown, tools, join(dirname(examples), "node_modules/leastwise"));
  await benchmark(shown, tools);
  await exportsAsMarkdown();
  nameEntries();
  cpSync(join(root, "xtask/docs/theme"), join(site, ".vitepress/theme"), { recursive: true });
  cpSync(join(root, "examples/pictures/plot.mjs"), join(site, ".vitepress/theme/plot.mjs"));
  write(join(site, ".vitepress/config.mjs"), configuration(cards, languageSize));
  await run("VitePress", process.execPath, [join(tools, "node_modules/vitepress/bin/vitepress.js"), "build", site], { cwd: tools });
  console.log(`The site is in target/docs (${seconds(started)}).`);
  return out;
}

/** Tries the built site in Chromium. */
export const testSite = (say) => passThrough("node --test xtask/docs/site.test.mjs", process.execPath, ["--test", "--test-reporter=spec", join(root, "xtask/docs/site.test.mjs")], { say });

await entry(import.meta, async () => {
  await setup({ forTests: process.argv.includes("--test") });
  await docs({ bless: process.argv.includes("--bless") });
  if (process.argv.includes("--test")) await testSite();
  if (process.argv.includes("--serve")) await passThrough("vite preview", process.execPath, [join(tools, "node_modules/vitepress/bin/vitepress.js"), "preview", site], { cwd: tools });
});
