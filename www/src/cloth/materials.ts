/** Materials of the cloth: the code that the page runs, and that its editor shows. */

const HEADER = `// In scope: problem, x, mesh, material (the pattern of the cloth), and what the package exports.
// As energies, with their whole Hessian: JᵀJ of residuals would drop the curvature of
// what is stretched, and the cloth would move as in oil.
`;
const BENDING = `// Discrete shells (Grinspun et al. 2003).
bending(problem, mesh, { x, weight: 5e-5, angle: 0 });`;

export const MATERIALS = {
  springs: { name: "Springs", code: `const over = edges(mesh.triangles), length = edgeLengths0;
problem.energy("springs", { over, of: [x, x], data: { length }, weight: 60 },
  ([a, b], { length }) => a.sub(b).norm().sub(length).square().mul(0.5));
` },
  membrane: { name: "Elastic membrane", code: `// St. Venant–Kirchhoff.
stVenantKirchhoff(problem, mesh, { x, name: "membrane", lambda: 40, mu: 60 });
` },
  woven: { name: "Woven (Baraff & Witkin)", code: `const half = (r) => r.normSq().mul(0.5);
const { inverses, areas } = triangleFrames(mesh, material);
const over = mesh.triangles, of = [x, x, x], inverse = column(inverses, 4);
problem.energy("stretch", { over, of, data: { inverse, wanted: [1, 1] }, weight: areas.map((a) => 150 * a) },
  (p, data) => half(formulas.stretch(p, data)));
problem.energy("shear", { over, of, data: { inverse }, weight: areas.map((a) => 40 * a) },
  (p, data) => formulas.shear(p, data).square().mul(0.5));
` },
} satisfies { readonly [id: string]: { readonly name: string; readonly code: string } };

export const codeOf = (id: string): string => HEADER + MATERIALS[Object.hasOwn(MATERIALS, id) ? id as keyof typeof MATERIALS : "springs"].code + BENDING;
