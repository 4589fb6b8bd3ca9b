// What the site has, and in which order: sections of documents (files of docs/, without their ending) and of recipes (files of examples/recipes).

export const SECTIONS = [
  { text: "Start", items: [["START", "First programs"], ["contents", "All pages"], ["LOADING", "Loading in your host"]] },
  {
    text: "Concepts", items: [
      ["CONCEPTS", "Tables, slots, terms"], ["EXPRESSIONS", "Writing residuals"], ["CONCEPTS#residual-or-energy", "Residual or energy"], ["MANIFOLDS", "Manifolds and shapes"],
      ["REPORTS", "A report, line by line"], ["LIVE", "Live editing, time stepping"], ["PRECISION", "Precision"],
    ],
  },
  {
    text: "Reference", items: [
      ["OPTIONS", "Options"], ["OPERATIONS", "Operations"], ["METHODS", "Methods, constraints, sketches"], ["SOLVERS", "Linear solvers, energies"], ["MESH", "Triangle meshes"], ["ENERGIES", "Energies of meshes"], ["LOSSES", "Robust losses"],
      ["FITS", "Many small fits"], ["COVARIANCE", "Covariances"], ["OUTLIERS", "Outliers, many minima"], ["GRADIENTS", "Gradients through a solve"], ["AUTOGRAD", "Values one at a time"], ["CHECKPOINTS", "Checkpoints"], ["TENSORS", "Tensors, networks"], ["ARRAY-API", "The array API standard"],
      ["COMPRESSION", "Clustering, search"], ["BACKENDS", "Backends"], ["RANKS", "Several GPUs"], ["THREADS", "Threads"], ["errors/index", "Error codes"], ["api/index", "All exports"],
    ],
  },
  { text: "From other tools", items: [["FROM-OTHER-TOOLS", "Ceres, GTSAM, SciPy, JAX, …"]] },
  { text: "Performance", items: [["PERFORMANCE", "Measurements"], ["results", "All results"]] },
  { text: "Questions", items: [["PAGES", "Live pages"], ["FAQ", "FAQ"], ["VERSIONS", "Versions"], ["CHANGELOG", "Changes"]] },
];

export const RECIPES = [
  { text: "Curves and data", items: ["curve-fit", "spots", "time-series", "ode-fit", "multi-start", "custom-loss"] },
  { text: "Linear models", items: ["nnls", "sparse-regression"] },
  { text: "Cameras and scans", items: ["calibration", "pnp", "bundle-adjustment", "icp", "registration"] },
  { text: "Robots", items: ["pose-graph", "inverse-kinematics"] },
  { text: "Meshes", items: ["deformation", "smoothing", "parametrisation", "developability", "cloth", "time-stepping"] },
  { text: "Geometry", items: ["sketch", "custom-manifold"] },
  { text: "Vectors and networks", items: ["palette", "embeddings-search", "classifier", "custom-tensor-operation"] },
  { text: "Solves as parts", items: ["gradients-through-a-solve", "checkpoint"] },
];
