// Compiles the type tests against the installed package as different consumers would: TypeScript 5.9 and 7, with and
// without @webgpu/types, with a browser's types and with Node's alone, resolving as bundlers and as Node do.
// A quick run has both ways to resolve and every host with the newest compiler, the oldest with one of each; `LEASTWISE_FULL` has all.
// Nothing is skipped: `strict`, and `skipLibCheck: false`. Then the programs of the documents are compiled, and those
// that run as they stand are run, and the recipes are compiled as JavaScript; and every export of the package has its
// documentation, whose example compiles.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { programsOf } from "./documents.mjs";
import { exportsOf, lacks, programOf } from "./exports.mjs";

/** Documents whose programs run as they stand. */
const RUN = ["README.md", "docs/START.md", "docs/AUTOGRAD.md", "docs/MESH.md", "docs/ENERGIES.md", "docs/CONCEPTS.md", "docs/FROM-OTHER-TOOLS.md", "docs/LIVE.md", "docs/REPORTS.md"];

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);

const compilers = ["typescript", "typescript-5.9"].map((name) => {
  const manifest = require.resolve(`${name}/package.json`);
  const { version } = JSON.parse(readFileSync(manifest, "utf8"));
  return { tsc: join(dirname(manifest), "bin/tsc"), version, hasWebGpu: Number.parseInt(version, 10) >= 6 };
});

const resolutions = {
  bundler: { module: "ESNext", moduleResolution: "Bundler" },
  node: { module: "NodeNext", moduleResolution: "NodeNext" },
};
const browser = ["ES2022", "DOM"];
// From version 6 on, TypeScript's own DOM types have WebGPU, which @webgpu/types then declares once more: what the two
// have against each other is not ours, everything else is.
const hosts = {
  "Node alone": { lib: ["ES2022"], types: ["node"], files: () => ["api.ts", "expressions.ts", "shapes.ts", "meshes.ts", "vectors.ts", "compression.ts", "tensors.ts", "tensor-functions.ts", "fits.ts", "threads.ts", "loading.ts", "without-webgpu.ts"] },
  "browser": { lib: browser, types: [], files: ({ hasWebGpu }) => ["api.ts", "expressions.ts", "shapes.ts", "meshes.ts", "vectors.ts", "compression.ts", "tensors.ts", "tensor-functions.ts", "fits.ts", "threads.ts", "loading.ts", hasWebGpu ? "with-webgpu.ts" : "without-webgpu.ts"] },
  "browser + @webgpu/types": { lib: browser, types: ["@webgpu/types"], files: () => ["api.ts", "expressions.ts", "shapes.ts", "meshes.ts", "vectors.ts", "compression.ts", "tensors.ts", "tensor-functions.ts", "fits.ts", "threads.ts", "loading.ts", "with-webgpu.ts"], notOurs: /[/\\](lib\.dom\.d\.ts|@webgpu[/\\]types[/\\][^(]*)\(/ },
};

const common = { target: "ES2022", strict: true, noEmit: true, skipLibCheck: false, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
const folder = mkdtempSync(join(here, "config-"));
let failures = 0;

/** Compiles files; how the compiler ended, and the lines of what it said. */
function lines({ tsc }, compilerOptions, files) {
  const config = join(folder, "tsconfig.json");
  writeFileSync(config, JSON.stringify({ compilerOptions: { ...common, ...compilerOptions }, files }));
  const { status, stdout, stderr } = spawnSync(process.execPath, [tsc, "-p", config, "--pretty", "false"], { encoding: "utf8", cwd: folder });
  return { status, said: `${stdout}${stderr}`.trim().split("\n").filter(Boolean) };
}

/** Compiles files, in which the compiler may have nothing against any line, but for those that are not ours. */
function compile(name, compiler, compilerOptions, files, notOurs) {
  const { status, said } = lines(compiler, compilerOptions, files);
  const ours = said.filter((line) => !notOurs?.test(line));
  // A compiler that fails must have said why in a line that we know.
  report(name, status === 0 || (ours.length === 0 && said.length > 0), ours.join("\n"));
}

function report(name, passed, said) {
  console.log(`${passed ? "✔" : "✖"} ${name}`);
  if (passed) return;
  failures++;
  console.log(said);
}

/** The programs of the documents, each a module of its own, whose lines are those of the document. */
function documents() {
  const programs = programsOf(join(here, "../..")).map((program) => ({ ...program, name: `${program.document.replace("/", "-")}.${program.line}.ts` }));
  for (const { name, text } of programs) writeFileSync(join(folder, name), text);
  // `fetch`, `console` and the like are in both of a browser and Node.
  compile(`${programs.length} programs of the documents`, compilers[0], { ...resolutions.bundler, lib: ["ESNext", "DOM"], types: [] }, programs.map(({ name }) => join(folder, name)));
  const { transpileModule } = require("typescript-5.9");
  for (const { document, line, name, text } of programs.filter(({ document }) => RUN.includes(document))) {
    const file = join(folder, name.replace(/ts$/, "mjs"));
    writeFileSync(file, transpileModule(text, { compilerOptions: { target: "ES2022", module: "ESNext" } }).outputText);
    const { status, signal, stdout, stderr } = spawnSync(process.execPath, [file], { encoding: "utf8", timeout: 120_000 });
    report(`${document}:${line} runs`, status === 0, `it ended with ${signal ?? status}\n${stdout}${stderr}`);
  }
}

/** The recipes, as JavaScript: what they call is there, and takes what they give. */
function recipes() {
  const folder = join(here, "../../examples/recipes");
  const files = readdirSync(folder).filter((name) => name.endsWith(".mjs")).map((name) => join(folder, name));
  compile(`${files.length} recipes`, compilers[0], { ...resolutions.node, lib: ["ES2023", "DOM"], types: ["node"], allowJs: true, checkJs: true, strict: false, exactOptionalPropertyTypes: false, noUncheckedIndexedAccess: false }, files);
}

/** What an editor shows of every export: a description, an example that compiles, errors and defaults. */
function documentation() {
  const all = exportsOf(join(here, "../../node_modules/leastwise"));
  const poor = all.map((exported) => [exported, lacks(exported)]).filter(([, missing]) => missing.length);
  report(`documentation of ${all.length} exports`, poor.length === 0 && all.length > 300, poor.map(([{ place, name }, missing]) => `${place}: ${name} lacks ${missing.join(", ")}`).join("\n"));
  const examples = all.filter(({ example }) => example);
  // Numbers, since names differ by case alone.
  const files = examples.map((exported, k) => {
    const file = join(folder, `example-${k}.${exported.name}.ts`);
    writeFileSync(file, programOf(exported, all));
    return file;
  });
  compile(`${files.length} examples of exports`, compilers[0], { ...resolutions.bundler, lib: ["ESNext", "DOM"], types: [] }, [join(here, "examples.d.ts"), ...files]);
}

/** Mistakes: the comment above a line is what the newest compiler says of it first. */
function messages() {
  const file = join(here, "messages.ts"), text = readFileSync(file, "utf8").split("\n");
  const expected = text.flatMap((line, k) => { const [, message] = /^ *\/\/ (TS\d+: .*)/.exec(line) ?? []; return message ? [`${k + 2}: ${message}`] : []; });
  const found = new Map();
  for (const line of lines(compilers[0], { ...resolutions.bundler, lib: browser, types: [] }, [file]).said) {
    const [, number, message] = /\((\d+),\d+\): error (TS\d+: .*)/.exec(line) ?? [];
    if (number && !found.has(number)) found.set(number, `${number}: ${message}`);
  }
  const said = [...found.values()];
  report(`${expected.length} messages of mistakes`, expected.length > 0 && said.join("\n") === expected.join("\n"), `messages.ts says\n${expected.join("\n")}\nand TypeScript\n${said.join("\n")}`);
}

try {
  for (const [first, compiler] of compilers.entries()) {
    for (const [second, [resolution, modules]] of Object.entries(resolutions).entries()) {
      for (const [third, [host, { lib, types, files, notOurs }]] of Object.entries(hosts).entries()) {
        if (!process.env.LEASTWISE_FULL && ((second + third) % 2 !== 0 || (first > 0 && second === 0))) continue;
        const name = `TypeScript ${compiler.version}, ${host}, ${resolution}`;
        compile(name, compiler, { ...modules, lib, types }, files(compiler).map((file) => join(here, file)), notOurs);
      }
    }
  }
  documents();
  recipes();
  documentation();
  messages();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (failures) {
  console.error(`${failures} of the consumers, the documents' programs or the exports' examples fail.`);
  process.exit(1);
}
