// index.js - VitePress's theme, with the elements of the package in every page
import DefaultTheme from 'vitepress/theme';

export default {
  extends: DefaultTheme,
  enhanceApp() {
    if (!import.meta.env.SSR) import('../../../dist/elements.js');
  },
};
