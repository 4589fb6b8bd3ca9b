// Documentation of what the package exports, as an editor shows it: what every export lacks, and the examples as programs to compile.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative } from "node:path";

const ts = createRequire(import.meta.url)("typescript-5.9");

/** Interfaces and types whose members a caller may leave out: each says what holds then. */
const OPTIONAL = /(Options|Settings|Base|Space)$|^(Reporting|Bounds|Named)$/;

/** What the entries of an installed package export: `{ name, entry, place, declarations, tags, example, documented }`, each once. */
export function exportsOf(folder) {
  const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const entries = Object.entries(exports).filter(([, entry]) => entry.types).map(([name, { types }]) => ({ entry: name.replace(/^\./, "leastwise"), file: join(folder, types) }));
  const program = ts.createProgram(entries.map(({ file }) => file), { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, lib: ["lib.es2022.d.ts", "lib.dom.d.ts"], types: [] });
  const checker = program.getTypeChecker(), found = new Map();
  for (const { entry, file } of entries) {
    for (const exported of checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)))) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      if (found.has(symbol)) continue;
      const source = symbol.declarations[0].getSourceFile(), { line } = source.getLineAndCharacterOfPosition(symbol.declarations[0].getStart());
      found.set(symbol, { name: exported.name, entry, place: `${relative(folder, source.fileName)}:${line + 1}`, declarations: symbol.declarations, ...documentationOf(symbol, exported, checker) });
    }
  }
  return [...found.values()];
}

/** Names of an export's tags, its example, and whether it is described. A namespace has its documentation where it is exported. */
function documentationOf(symbol, exported, checker) {
  const text = (parts) => ts.displayPartsToString(parts ?? []).trim();
  if (symbol.flags & ts.SymbolFlags.ValueModule) {
    const { parent } = exported.declarations[0], tags = ts.getJSDocTags(parent);
    const of = (comment) => (ts.getTextOfJSDocComment(comment) ?? "").trim();
    return { documented: ts.getJSDocCommentsAndTags(parent).some(({ comment }) => of(comment)), tags: tags.map(({ tagName }) => tagName.text), example: of(tags.find(({ tagName }) => tagName.text === "example")?.comment) };
  }
  const tags = symbol.getJsDocTags(checker);
  return { documented: text(symbol.getDocumentationComment(checker)) !== "", tags: tags.map(({ name }) => name), example: text(tags.find(({ name }) => name === "example")?.text) };
}

/** What an export's documentation lacks, in words. */
export function lacks({ name, declarations, tags, documented, example }) {
  const missing = [];
  if (!documented) missing.push("a description");
  if (!example) missing.push("@example");
  if (!tags.includes("throws") && declarations.some((node) => ts.isFunctionDeclaration(node) && node.parameters.length > 0)) missing.push("@throws");
  if (OPTIONAL.test(name)) {
    for (const declaration of declarations) {
      ts.forEachChild(declaration, function visit(node) {
        if (ts.isPropertySignature(node) && node.questionToken && node.type.kind !== ts.SyntaxKind.NeverKeyword && !ts.getJSDocTags(node).some(({ tagName }) => tagName.text === "defaultValue")) missing.push(`@defaultValue of ${node.name.getText()}`);
        if (ts.isTypeNode(node)) ts.forEachChild(node, visit);
      });
    }
  }
  return missing;
}

/** The example of an export as a module: it may use every name of the package, and the names that `examples.d.ts` declares. */
export function programOf({ example, entry: own }, all) {
  const { declared, used } = namesIn(example);
  const imported = [...used].filter((name) => !declared.has(name)).map((name) => all.find((exported) => exported.name === name && exported.entry === own) ?? all.find((exported) => exported.name === name)).filter(Boolean);
  return `${imported.map(({ name, entry }) => `import { ${name} } from "${entry}";`).join("\n")}\n${example}\nexport {};\n`;
}

function namesIn(text) {
  const declared = new Set(), used = new Set();
  ts.forEachChild(ts.createSourceFile("example.ts", text, ts.ScriptTarget.ES2022, true), function visit(node) {
    if (ts.isIdentifier(node)) {
      const { parent } = node;
      const declares = (ts.isVariableDeclaration(parent) || ts.isBindingElement(parent) || ts.isParameter(parent) || ts.isImportSpecifier(parent)) && parent.name === node;
      const isMember = (ts.isPropertyAccessExpression(parent) || ts.isPropertyAssignment(parent) || ts.isPropertySignature(parent)) && parent.name === node;
      if (declares) declared.add(node.text);
      else if (!isMember) used.add(node.text);
    }
    ts.forEachChild(node, visit);
  });
  return { declared, used };
}
