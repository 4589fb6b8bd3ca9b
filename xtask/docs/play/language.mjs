// What the editor knows of a program: TypeScript's language service over the program, the declarations of the package and those of the language.

export const PROGRAM = "/program.ts";
const LIBRARIES = ["lib.es2022.d.ts", "lib.webworker.d.ts"];

/** Most completions that are sent; the editor narrows them as one types. */
const MOST = 400;

/** The service over `files`, texts by path; `ts` is TypeScript. */
export function languageOf(ts, files) {
  const options = {
    target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, lib: LIBRARIES, types: [],
    // Programs of the menu are JavaScript, which declares nothing: an empty array takes everything, and nothing is undefined until it is.
    strict: false, strictFunctionTypes: true, strictBindCallApply: true, skipLibCheck: true, noEmit: true, allowJs: false,
  };
  let text = "", version = 0;
  const read = (path) => (path === PROGRAM ? text : files.get(path));
  const folders = new Set([...files.keys()].flatMap((path) => path.split("/").slice(0, -1).map((_, k, all) => all.slice(0, k + 1).join("/") || "/")));
  const service = ts.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () => [PROGRAM, ...[...files.keys()].filter((path) => /^\/(ambient\/|node_modules\/@webgpu\/types\/dist\/index)/.test(path))],
    getScriptVersion: (path) => (path === PROGRAM ? String(version) : "0"),
    getScriptSnapshot: (path) => (read(path) === undefined ? undefined : ts.ScriptSnapshot.fromString(read(path))),
    getCurrentDirectory: () => "/",
    getDefaultLibFileName: () => "/lib/lib.d.ts",
    fileExists: (path) => read(path) !== undefined,
    readFile: read,
    directoryExists: (path) => folders.has(path),
    getDirectories: () => [],
  });
  const take = (program) => {
    if (program === text) return;
    text = program;
    version++;
  };
  const words = (parts) => ts.displayPartsToString(parts ?? []);
  return {
    /** Errors: `{ from, to, message }`. */
    errors(program) {
      take(program);
      return [...service.getSyntacticDiagnostics(PROGRAM), ...service.getSemanticDiagnostics(PROGRAM)]
        .map(({ start, length, messageText }) => ({ from: start, to: start + Math.max(1, length), message: ts.flattenDiagnosticMessageText(messageText, "\n") }));
    },

    /** What may stand at a place: `{ from, options: [{ label, kind }] }`, or undefined. */
    completions(program, at) {
      take(program);
      const found = service.getCompletionsAtPosition(PROGRAM, at, { includeCompletionsForModuleExports: false });
      if (!found) return undefined;
      const begun = program.slice(0, at).match(/[\w$]*$/)[0];
      const fitting = found.entries.filter(({ name }) => name.toLowerCase().startsWith(begun.toLowerCase()));
      return { from: at - begun.length, options: fitting.slice(0, MOST).map(({ name, kind, sortText }) => ({ label: name, kind, sort: sortText })) };
    },

    /** Signature and documentation of a completion. */
    details(program, at, name) {
      take(program);
      const found = service.getCompletionEntryDetails(PROGRAM, at, name, {}, undefined, {}, undefined);
      return found && { signature: words(found.displayParts), documentation: words(found.documentation) };
    },

    /** Signature and documentation of the name at a place, with its range; or undefined. */
    hover(program, at) {
      take(program);
      const found = service.getQuickInfoAtPosition(PROGRAM, at);
      return found && { from: found.textSpan.start, to: found.textSpan.start + found.textSpan.length, signature: words(found.displayParts), documentation: words(found.documentation) };
    },

    /** The program without its types. */
    plain: (program) => ts.transpileModule(program, { compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext } }).outputText,
  };
}
