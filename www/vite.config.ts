import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  // Bundled by the development server, the package would look for its .wasm beside the bundle.
  optimizeDeps: { exclude: ["leastwise"] },
  build: { target: "es2022", chunkSizeWarningLimit: 1500 },
});
