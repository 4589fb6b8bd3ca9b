// Compiles the type tests against the installed package as different consumers would: TypeScript 5.9 and 7, with and
// without @webgpu/types, with a browser's types and with Node's alone, resolving as bundlers and as Node do.
// Nothing is skipped: `strict`, and `skipLibCheck: false`.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

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
  "Node alone": { lib: ["ES2022"], types: ["node"], files: () => ["api.ts", "expressions.ts", "shapes.ts", "vectors.ts", "compression.ts", "tensors.ts", "threads.ts", "without-webgpu.ts"] },
  "browser": { lib: browser, types: [], files: ({ hasWebGpu }) => ["api.ts", "expressions.ts", "shapes.ts", "vectors.ts", "compression.ts", "tensors.ts", "threads.ts", hasWebGpu ? "with-webgpu.ts" : "without-webgpu.ts"] },
  "browser + @webgpu/types": { lib: browser, types: ["@webgpu/types"], files: () => ["api.ts", "expressions.ts", "shapes.ts", "vectors.ts", "compression.ts", "tensors.ts", "threads.ts", "with-webgpu.ts"], notOurs: /[/\\](lib\.dom\.d\.ts|@webgpu[/\\]types[/\\][^(]*)\(/ },
};

const folder = mkdtempSync(join(here, "config-"));
let failures = 0;
try {
  for (const compiler of compilers) {
    for (const [resolution, modules] of Object.entries(resolutions)) {
      for (const [host, { lib, types, files, notOurs }] of Object.entries(hosts)) {
        const name = `TypeScript ${compiler.version}, ${host}, ${resolution}`;
        const config = join(folder, "tsconfig.json");
        const compilerOptions = { target: "ES2022", ...modules, lib, types, strict: true, noEmit: true, skipLibCheck: false, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
        writeFileSync(config, JSON.stringify({ compilerOptions, files: files(compiler).map((file) => join(here, file)) }));
        const { status, stdout, stderr } = spawnSync(process.execPath, [compiler.tsc, "-p", config, "--pretty", "false"], { encoding: "utf8" });
        const said = `${stdout}${stderr}`.trim().split("\n").filter(Boolean);
        const ours = said.filter((line) => !notOurs?.test(line));
        // A compiler that fails must have said why in a line that we know.
        const passed = status === 0 || (ours.length === 0 && said.length > 0);
        console.log(`${passed ? "✔" : "✖"} ${name}`);
        if (!passed) {
          failures++;
          console.log(ours.join("\n"));
        }
      }
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (failures) {
  console.error(`${failures} of the consumers cannot compile.`);
  process.exit(1);
}
