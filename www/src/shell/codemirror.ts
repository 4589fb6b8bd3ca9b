/** CodeMirror with TypeScript, marks at lines, and the page's colours. */
import { javascript } from "@codemirror/lang-javascript";
import { setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { basicSetup } from "codemirror";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";

export interface CodeView {
  show(source: string): void;
  mark(error: { readonly message: string; readonly line: number | undefined } | undefined): void;
}

const look = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--field)", fontSize: "12.5px" },
  ".cm-content": { caretColor: "var(--ink)", fontFamily: "ui-monospace, Menlo, Consolas, monospace", padding: "8px 0" },
  ".cm-gutters": { backgroundColor: "var(--field)", color: "var(--muted)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused .cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection) !important" },
});
const words = HighlightStyle.define([
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.operatorKeyword], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.number, tags.bool], color: "var(--code-literal)" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], color: "var(--code-call)" },
]);

export function makeCodeView(parent: HTMLElement, source: string, onChange: (source: string) => void): CodeView {
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: source,
      extensions: [basicSetup, javascript({ typescript: true }), look, syntaxHighlighting(words), EditorView.lineWrapping, EditorView.contentAttributes.of({ "aria-label": "The residual that is running" }),
        EditorView.updateListener.of((update) => { if (update.docChanged) onChange(update.state.doc.toString()); })],
    }),
  });
  return {
    show: (text) => { if (text !== view.state.doc.toString()) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }); },
    mark: (error) => {
      const { doc } = view.state;
      const line = error && doc.line(Math.min(Math.max(1, error.line ?? 1), doc.lines));
      view.dispatch(setDiagnostics(view.state, error && line ? [{ from: line.from, to: line.to, severity: "error", message: error.message }] : []));
    },
  };
}
