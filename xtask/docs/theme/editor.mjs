// CodeMirror with completions, types under the pointer and errors, which the language service gives once it is loaded.
import { autocompletion } from "@codemirror/autocomplete";
import { javascript } from "@codemirror/lang-javascript";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { linter } from "@codemirror/lint";
import { Prec, StateEffect } from "@codemirror/state";
import { EditorView, hoverTooltip, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup } from "codemirror";

const look = EditorView.theme({
  "&": { color: "var(--vp-c-text-1)", backgroundColor: "var(--vp-code-block-bg)", fontSize: "13px", height: "100%" },
  ".cm-scroller": { fontFamily: "var(--vp-font-family-mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--vp-c-text-1)" },
  ".cm-gutters": { backgroundColor: "var(--vp-code-block-bg)", color: "var(--vp-c-text-3)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--vp-c-default-soft)" },
  "&.cm-focused .cm-cursor": { borderLeftColor: "var(--vp-c-text-1)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--vp-c-brand-soft)" },
  ".cm-tooltip": { color: "var(--vp-c-text-1)", backgroundColor: "var(--vp-c-bg-elv)", border: "1px solid var(--vp-c-divider)", borderRadius: "8px", maxWidth: "min(620px, 90vw)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { color: "var(--vp-c-text-1)", backgroundColor: "var(--vp-c-brand-soft)" },
  ".cm-panels": { color: "var(--vp-c-text-1)", backgroundColor: "var(--vp-c-bg-soft)" },
});

const colours = HighlightStyle.define([
  { tag: tags.comment, color: "var(--vp-c-text-3)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--vp-c-purple-1)" },
  { tag: [tags.string, tags.number, tags.bool, tags.null], color: "var(--vp-c-green-1)" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], color: "var(--vp-c-indigo-1)" },
]);

/** The language service is there: errors are looked for anew. */
const loaded = StateEffect.define();

const TYPES = { method: "method", property: "property", function: "function", const: "constant", let: "variable", var: "variable", parameter: "variable", class: "class", interface: "interface", type: "type", keyword: "keyword", module: "namespace", alias: "variable" };

function description({ signature, documentation }) {
  const element = document.createElement("div");
  element.className = "signature";
  element.append(Object.assign(document.createElement("code"), { textContent: signature }));
  if (documentation) element.append(Object.assign(document.createElement("p"), { textContent: documentation }));
  return element;
}

/** An editor in `parent`: `{ text, show, lint, focus, dispose }`. */
export function makeEditor(parent, text, { language, onChange, onRun }) {
  const complete = async (context) => {
    const before = context.matchBefore(/[\w$]+|[.'"/]/);
    if (!language.isReady || (!before && !context.explicit)) return null;
    const program = context.state.doc.toString(), found = await language.ask("completions", program, context.pos);
    if (!found || context.aborted) return null;
    const best = Math.min(...found.options.map(({ sort }) => Number.parseInt(sort, 10) || 0));
    return {
      from: found.from, validFor: /^[\w$]*$/,
      options: found.options.map(({ label, kind, sort }) => ({
        label, type: TYPES[kind] ?? "text", boost: best - (Number.parseInt(sort, 10) || 0),
        info: async () => {
          const details = await language.ask("details", program, context.pos, label);
          return details ? description(details) : null;
        },
      })),
    };
  };
  const hover = hoverTooltip(async (view, at) => {
    const found = language.isReady && await language.ask("hover", view.state.doc.toString(), at);
    return found ? { pos: found.from, end: found.to, above: true, create: () => ({ dom: description(found) }) } : null;
  });
  const errors = linter(async (view) => {
    if (!language.isReady) return [];
    const program = view.state.doc.toString(), found = await language.ask("errors", program), { length } = view.state.doc;
    return found.map(({ from, to, message }) => ({ from: Math.min(from, length), to: Math.min(to, length), message, severity: "error" }));
  }, { delay: 500, needsRefresh: ({ transactions }) => transactions.some(({ effects }) => effects.some((effect) => effect.is(loaded))) });
  const view = new EditorView({
    parent, doc: text,
    extensions: [
      Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => { onRun(); return true; } }])),
      basicSetup, javascript({ typescript: true }), autocompletion({ override: [complete] }), hover, errors, look, syntaxHighlighting(colours),
      EditorView.contentAttributes.of({ "aria-label": "Program" }),
      EditorView.updateListener.of((update) => { if (update.docChanged) onChange(update.state.doc.toString()); }),
      EditorView.domEventHandlers({ focus: () => { language.load().then(() => view.dispatch({ effects: loaded.of(null) })); } }),
    ],
  });
  return {
    show: (program) => { if (program !== view.state.doc.toString()) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: program }, scrollIntoView: true, selection: { anchor: 0 } }); },
    dispose: () => view.destroy(),
  };
}
