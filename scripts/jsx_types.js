// jsx_types.js - declarations of the elements for the templates of React, Vue, Svelte and Solid
//
// `import type {} from 'glassformer/jsx/react'` adds the tags to the types of that framework. Each is a file of its own:
// a declaration that extends a module which is not installed is an error.

const ATTRIBUTES = `import type { Model } from './index.js';
import type { GlassElements } from './elements.js';

/** What a tag takes: attributes, and properties of the element. */
export type GlassAttributes<Tag extends keyof GlassElements> = {
  model?: Model | null | undefined;
  src?: string | null | undefined;
  text?: string | null | undefined;
  data?: GlassElements[Tag]['data'] | string | undefined;
} & (Tag extends 'glass-attention' ? { layer?: number | string | undefined; head?: number | string | undefined; query?: number | undefined } : {})
  & (Tag extends 'glass-tokens' ? { chosen?: number | undefined } : {})
  & (Tag extends 'glass-former' ? { seed?: number | string | undefined; compact?: boolean | '' | undefined } : {});
`;

const OWN = "import type { GlassElements } from './elements.js';\nimport type { GlassAttributes } from './jsx.js';\n";

/** @type {Record<string, string>} */
export const JSX_TYPES = {
  jsx: ATTRIBUTES,
  'jsx-react': `import type { DetailedHTMLProps, HTMLAttributes } from 'react';
${OWN}
type Handlers = { onchoose?: ((event: CustomEvent) => void) | undefined; ondone?: ((event: CustomEvent) => void) | undefined };
type Tags = {
  [Tag in keyof GlassElements]: Omit<DetailedHTMLProps<HTMLAttributes<GlassElements[Tag]>, GlassElements[Tag]>, 'data'> &
    GlassAttributes<Tag> & Handlers;
};
declare module 'react' {
  namespace JSX {
    interface IntrinsicElements extends Tags {}
  }
}
`,
  'jsx-vue': `import type { DefineComponent } from 'vue';
${OWN}
type Handlers = { onChoose?: (event: CustomEvent) => void; onDone?: (event: CustomEvent) => void };
type Tags = { [Tag in keyof GlassElements]: DefineComponent<GlassAttributes<Tag> & Handlers> };
declare module 'vue' {
  interface GlobalComponents extends Tags {}
}
`,
  'jsx-svelte': `import type { HTMLAttributes } from 'svelte/elements';
${OWN}
type Handlers = { onchoose?: ((event: CustomEvent) => void) | undefined; ondone?: ((event: CustomEvent) => void) | undefined };
type Tags = { [Tag in keyof GlassElements]: HTMLAttributes<GlassElements[Tag]> & GlassAttributes<Tag> & Handlers };
declare module 'svelte/elements' {
  interface SvelteHTMLElements extends Tags {}
}
`,
  'jsx-solid': `import type { JSX } from 'solid-js';
${OWN}
type Properties<A> = { [Name in keyof A as \`prop:\${Name & string}\`]?: A[Name] };
type Handlers = { 'on:choose'?: (event: CustomEvent) => void; 'on:done'?: (event: CustomEvent) => void };
type Tags = {
  [Tag in keyof GlassElements]: JSX.HTMLAttributes<GlassElements[Tag]> &
    GlassAttributes<Tag> & Properties<GlassAttributes<Tag>> & Handlers;
};
declare module 'solid-js' {
  namespace JSX {
    interface IntrinsicElements extends Tags {}
  }
}
`,
};
