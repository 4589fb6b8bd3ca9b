// VitePress' own theme, with a gallery of recipes and a playground.
import DefaultTheme from "vitepress/theme";
import Gallery from "./Gallery.vue";
import Playground from "./Playground.vue";
import "./style.css";

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component("gallery", Gallery);
    app.component("playground", Playground);
  },
};
