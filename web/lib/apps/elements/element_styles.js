// element_styles.js - the style sheet of the elements: colours and sizes of the page (web/page/style), each colour a
// variable that a page may set, such as --glass-p

/** Light and dark; the same values as in base.css of the page. */
const COLORS = {
  paper: ['#fbfaf7', '#14161a'],
  card: ['#ffffff', '#1b1e24'],
  ink: ['#1b1f24', '#e9e7e2'],
  dim: ['#5c636d', '#a0a8b3'],
  line: ['#e3e1da', '#2c3038'],
  edge: ['#8b8f96', '#6d7480'],
  q: ['#1a669f', '#66aee6'],
  k: ['#b54c13', '#f08a4b'],
  p: ['#5b3fa0', '#a78bfa'],
  hot: ['#3a1d7a', '#c4b0ff'],
  cold: ['#f3f1f8', '#23262e'],
  wrong: ['#a3232a', '#ff8f8a'],
};

const VARIABLES = Object.entries(COLORS)
  .map(([name, [light, dark]]) => `--${name}: var(--glass-${name}, light-dark(${light}, ${dark}));`)
  .join(' ');

const RULES = `
:host { color-scheme: light dark; ${VARIABLES} --sans: var(--glass-sans, system-ui, sans-serif); --mono:
  var(--glass-mono, ui-monospace, monospace);
  display: block; box-sizing: border-box; max-inline-size: 100%; padding: 0.875rem 1rem; border: 1px solid
  var(--line); border-radius: 0.625rem;
  background: var(--card); color: var(--ink); font: 0.875rem/1.5 var(--sans); font-variant-numeric: tabular-nums; }
:host([hidden]), [hidden][hidden] { display: none; }
*, ::before, ::after { box-sizing: border-box; }
p { margin: 0; padding: 0; }
.line:empty, .body:empty { display: none; }
.line[role='alert'] { color: var(--wrong); }
button, input { font: inherit; color: inherit; }
button { border: 1px solid var(--line); background: none; border-radius: 0.5rem; padding: 0.3125rem 0.875rem;
  cursor: pointer; }
button:hover { border-color: var(--edge); }
:focus-visible { outline: 2px solid var(--p); outline-offset: 2px; }
.hint { color: var(--dim); font-size: 0.8125rem; }
.ink-q { color: var(--q); } .ink-k { color: var(--k); } .ink-p { color: var(--p); } .ink-line { color: var(--line); }
.ink-dim { color: var(--dim); } .ink-text { color: var(--ink); } .ink-hot { color: var(--hot); } .ink-cold { color:
  var(--cold); }

.two { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 1.25rem; }
.two.single { grid-template-columns: minmax(0, 1fr); }
.grid { display: grid; grid-template-columns: 1.5rem repeat(var(--columns), minmax(0, 5.625rem)); gap: 0.25rem;
  align-content: start; }
.row-label { color: var(--dim); font-size: 0.75rem; align-self: center; }
.tile { padding: 0; border-radius: 0.25rem; aspect-ratio: 1; overflow: hidden; display: block; }
.tile[aria-checked='true'] { outline: 2px solid var(--p); outline-offset: 1px; border-color: transparent; }
.tile:focus-visible { outline: 3px solid var(--p); outline-offset: 2px; }
.crop { display: block; inline-size: 100%; block-size: 100%; overflow: hidden; background:
  repeating-linear-gradient(135deg, var(--card) 0 4px, var(--line) 4px 5px); }
.tile canvas { display: block; inline-size: calc(100% * var(--zoom, 1)); block-size: calc(100% * var(--zoom, 1));
  image-rendering: pixelated; }
.matrix { border-radius: 0.375rem; min-inline-size: 0; }
.matrix canvas { display: block; inline-size: 100%; cursor: crosshair; }
.cell { min-block-size: 2lh; }

.tokens { display: flex; flex-wrap: wrap; gap: 0.375rem 0.25rem; }
.token { display: grid; justify-items: center; padding: 0.0625rem 0.375rem; border: 1px solid var(--line);
  border-radius: 0.375rem; cursor: pointer; white-space: pre; }
.token small { color: var(--dim); font: 0.6875rem var(--mono); }
.token[aria-selected='true'] { border-color: var(--p); outline: 1px solid var(--p); background: color-mix(in srgb,
  var(--p) 10%, transparent); }
.token:focus-visible { outline: 3px solid var(--p); outline-offset: 1px; }

.scroll { overflow-x: auto; }
table { border-collapse: collapse; inline-size: 100%; }
th { text-align: start; font-weight: 400; }
thead th { color: var(--dim); font-size: 0.78125rem; }
th, td { padding: 0.25rem 0.625rem 0.25rem 0; border-block-end: 1px solid color-mix(in srgb, var(--line) 60%,
  transparent); white-space: nowrap; }
tr:last-child > * { border-block-end: 0; }
thead tr:last-child > * { border-block-end: 1px solid var(--line); }
tbody th { white-space: normal; overflow-wrap: break-word; }
.n { text-align: end; }
td.n { font-family: var(--mono); font-size: 0.8125rem; }
td.bar { inline-size: 40%; }
.track { display: block; }
.track i { display: block; min-inline-size: 1px; block-size: 0.5625rem; border-radius: 0.1875rem; background:
  color-mix(in srgb, var(--p) 34%, var(--card)); }

form { display: flex; flex-wrap: wrap; gap: 0.5rem; margin-block-end: 0.875rem; }
input { flex: 1 1 12rem; min-inline-size: 0; border: 1px solid var(--edge); border-radius: 0.5rem; background:
  var(--card); padding: 0.3125rem 0.625rem; }
.write { background: var(--p); border-color: var(--p); color: var(--card); }
.former { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 0.875rem; align-items: start; }
.former > glass-tokens { grid-column: 1 / -1; min-block-size: 7rem; }
/* a figure of a slide: tokens in one line, heads and matrix side by side */
:host([compact]) { font-size: 0.75rem; padding: 0.5rem 0.625rem; }
:host([compact]) form { margin-block-end: 0.375rem; }
:host([compact]) .former { gap: 0.375rem; }
:host([compact]) .former > glass-tokens { min-block-size: 0; }
:host([compact]) .tokens { flex-wrap: nowrap; overflow-x: auto; }
:host([compact]) .token small, :host([compact]) .hint { display: none; }
:host([compact]) .grid { grid-template-columns: 1.25rem repeat(var(--columns), minmax(0, 2.25rem)); gap: 0.125rem; }
:host([compact]) .two { gap: 0.5rem; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
:host([compact]) th, :host([compact]) td { padding-block: 0; }
@container (max-width: 44rem) { .two, .former { grid-template-columns: minmax(0, 1fr); } }
.body { container-type: inline-size; }
@media (forced-colors: active) { .track i, .crop { forced-color-adjust: none; } .tile[aria-checked='true'],
  .token[aria-selected='true'] { outline-color: Highlight; } }
`;

let sheet = /** @type {CSSStyleSheet | null} */ (null);

/** The style sheet, one for all elements of a document. */
export function lookOf() {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(RULES);
  }
  return sheet;
}
