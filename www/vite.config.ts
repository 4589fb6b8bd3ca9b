import { existsSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vite";
import { digits } from "./digits-plugin.mjs";
import { documents, inputs } from "./pages.mjs";

export default defineConfig({
  base: "./",
  plugins: [documents(), digits()],
  // Bundled by the development server, the package would look for its .wasm beside the bundle.
  optimizeDeps: { exclude: ["leastwise"] },
  // A worker loads parts of the engine when they are needed, as a page does.
  worker: { format: "es" },
  build: {
    target: "es2022", chunkSizeWarningLimit: 2500,
    rolldownOptions: {
      input: inputs.filter((file) => existsSync(join(import.meta.dirname, "src", file === "index.html" ? "landing" : file.slice(0, -5), "main.ts"))),
      // In files of their own, so that tests can tell our bytes from theirs.
      output: { codeSplitting: { groups: [{ name: "three", test: /node_modules[\\/]three[\\/]/ }, { name: "editor", test: /node_modules[\\/](@codemirror|@lezer|codemirror|crelt|style-mod|w3c-keyname|@marijn)[\\/]/ }, { name: "editor-types", test: /node_modules[\\/](sucrase|lines-and-columns|@jridgewell|ts-interface-checker)[\\/]/ }] } },
    },
  },
});
