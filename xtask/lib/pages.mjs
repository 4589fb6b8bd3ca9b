// What the live pages import, by name in the root's package.json: `npm run www` and the browser tests install it beside the tarball.
export const pagePackages = ["@codemirror/lang-javascript", "@codemirror/language", "@codemirror/lint", "@codemirror/state", "@codemirror/view", "@lezer/highlight", "bunny", "codemirror", "fflate", "jsep", "mnist", "sucrase", "three", "vite"];
