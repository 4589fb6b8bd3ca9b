// VitePress' own theme, with a gallery of recipes, a playground and a benchmark.
import DefaultTheme from "vitepress/theme";
import Benchmark from "./Benchmark.vue";
import Gallery from "./Gallery.vue";
import Playground from "./Playground.vue";
import "./style.css";

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component("benchmark", Benchmark);
    app.component("gallery", Gallery);
    app.component("playground", Playground);
  },
};
