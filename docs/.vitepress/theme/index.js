// index.js - VitePress's theme, with the elements of the package in every page, and the moving picture of the page under
// the hero
import { h } from 'vue';
import DefaultTheme from 'vitepress/theme';
import moving from '../../page.webp';
import still from '../../page.png';

const alt =
  'A story is written word by word, with every head and the pass behind its newest word. Then a head and a word are chosen.';
const picture = () =>
  h('picture', [
    h('source', { media: '(prefers-reduced-motion: reduce)', srcset: still }),
    h('img', {
      src: moving,
      alt,
      width: 1440,
      height: 900,
      style: 'margin: 0 auto 48px; width: min(1152px, 100% - 48px); height: auto; border-radius: 8px',
    }),
  ]);

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'home-hero-after': picture }),
  enhanceApp() {
    if (!import.meta.env.SSR) import('../../../dist/elements.js');
  },
};
