// The picture of each recipe: a function of what the recipe exports.
import * as curves from "./curves.mjs";
import * as space from "./space.mjs";
import * as surfaces from "./surfaces.mjs";

const all = { ...curves, ...space, ...surfaces };

const named = {
  "custom-tensor-operation": "customTensor",
  "gradients-through-a-solve": "gradients",
};

const camel = (name) => name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase());

const drawing = (name) => all[named[name] ?? camel(name)];

/** True if there is a picture of this name. */
export const pictured = (name) => drawing(name) !== undefined;

/** SVG text of a recipe's picture, with its title for those who can't see it. */
export function draw(name, results, title) {
  const make = drawing(name);
  if (!make) throw new Error(`the recipe ${name} has no picture`);
  return make(results).svg(title);
}
