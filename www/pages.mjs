// The pages: their files, names and descriptions, and what all of their documents have in common.

export const PAGES = [
  { file: "mesh", name: "Mesh", title: "one mesh, many energies", description: "Drag, pin and turn any triangle mesh under an energy that you can edit, solved anew in every frame." },
  { file: "fit", name: "Fit", title: "curves with error bars", description: "Type a formula, drag the points: parameters with standard errors, correlations, a confidence band, robust losses." },
  { file: "uv", name: "UV", title: "flatten a surface", description: "Cut a mesh along seams and flatten it: conformal first, then symmetric Dirichlet by Newton, without a flipped triangle." },
  { file: "cloth", name: "Cloth", title: "implicit Euler", description: "A sheet in the wind, pinned by tapping, falling on a sphere or the bunny: every frame is a minimisation." },
  { file: "developable", name: "Developable", title: "surfaces of paper", description: "A sphere becomes piecewise developable: seams emerge where it creases." },
  { file: "slam", name: "SLAM", title: "pose graphs and bundles", description: "Pose graphs and bundles come together step by step, generated or from your file; wrong measurements are found by graduated non-convexity." },
  { file: "sketch", name: "Sketch", title: "constraints", description: "Points, lines and circles held by constraints, with degrees of freedom, redundant and conflicting ones named." },
  { file: "palette", name: "Palette", title: "colours of a picture", description: "The colours that stand for a picture best, clustered in Oklab by annealing." },
  { file: "digits", name: "Digits", title: "train a network", description: "Train a small network on handwritten digits in the browser, and watch its loss fall." },
];

const LANDING = { file: "index", name: "Leastwise", title: "least squares, live", description: "Nonlinear least squares on the GPU, from TypeScript: write the residual of one edge, solve for a million, in every frame." };

// Before the first paint, so that a chosen theme does not flash.
const THEME = `try{const t=localStorage.getItem("leastwise/theme");if(t)document.documentElement.dataset.theme=t}catch{}`;
const ICON = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M1 4c3 9 10 9 14 0' fill='none' stroke='%233451b2' stroke-width='2.4' stroke-linecap='round'/%3E%3Ccircle cx='8' cy='10.6' r='2.2' fill='%23ea580c'/%3E%3C/svg%3E";
const THEME_ICON = `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zm0 2a7 7 0 0 1 0 14z"/></svg>`;

const head = ({ file, name, title, description }) => `
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover" />
    <meta name="color-scheme" content="light dark" />
    <meta name="description" content="${description}" />
    <meta property="og:title" content="Leastwise — ${title}" />
    <meta property="og:description" content="${description}" />
    <meta property="og:image" content="./thumbs/${file === "index" ? "mesh" : file}.jpg" />
    <title>${name === "Leastwise" ? "Leastwise" : `${name} · Leastwise`} — ${title}</title>
    <link rel="icon" href="${ICON}" />
    <script>${THEME}</script>
    <link rel="stylesheet" href="/src/shell/shell.css" />`;

const header = ({ file }) => `
    <header class="bar">
      <a class="brand" href="./index.html">Leastwise</a>
      <nav aria-label="Pages">${PAGES.map((page) => `<a href="./${page.file}.html"${page.file === file ? ' aria-current="page"' : ""}>${page.name}</a>`).join("")}</nav>
      <button id="theme" type="button" class="icon" aria-label="Light or dark" title="Light or dark">${THEME_ICON}</button>
    </header>
    <noscript><div class="noscript"><img src="./thumbs/${file === "index" ? "mesh" : file}.jpg" alt="What this page shows" /><p>This page computes in your browser, which takes JavaScript.</p></div></noscript>`;

const thumbnails = PAGES.map(({ file, name, title }) => `<li><a href="./${file}.html"><img src="./thumbs/${file}.jpg" alt="" width="320" height="200" loading="lazy" /><b>${name}</b><span>${title}</span></a></li>`).join("\n        ");

/** Vite's plugin: puts the common parts where a document asks for them. */
export const documents = () => ({
  name: "documents",
  transformIndexHtml: {
    order: "pre",
    handler(html, { path }) {
      const file = /([\w-]+)\.html$/.exec(path)?.[1] ?? "index";
      const page = [LANDING, ...PAGES].find((one) => one.file === file) ?? LANDING;
      return html.replace("<!-- head -->", head(page)).replace("<!-- header -->", header(page)).replace("<!-- thumbnails -->", thumbnails);
    },
  },
});

/** The documents to build: those that exist. */
export const inputs = ["index.html", ...PAGES.map(({ file }) => `${file}.html`)];
