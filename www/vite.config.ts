import { defineConfig } from "vite";
import { digits } from "./digits-plugin.mjs";

export default defineConfig({
  base: "./",
  plugins: [digits()],
  // Bundled by the development server, the package would look for its .wasm beside the bundle.
  optimizeDeps: { exclude: ["leastwise"] },
  build: { target: "es2022", chunkSizeWarningLimit: 2500, rolldownOptions: { input: ["index.html", "digits.html"] } },
});
