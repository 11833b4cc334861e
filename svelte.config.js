// Svelte for the page (web/page). Components use runes; their styles are in web/page/style/, by the policy of the
// built page (no inline styles).
export default {
  compilerOptions: {
    runes: true,
    // a region that scrolls has to be reached by keyboard
    warningFilter: ({ code }) => code !== 'a11y_no_noninteractive_tabindex',
  },
};
