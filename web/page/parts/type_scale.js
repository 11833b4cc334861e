// type_scale.js - the size of the page's type: larger on a large screen, in a presentation, and where the browser asks
// for it

/** CSS pixels for one pixel of a drawing whose words should be as large as the text around it. */
export const typeScale = () => parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
