// type_scale.js - how large the page's type is: larger on a large screen, in a presentation, and where the browser is told so

/** CSS pixels for one pixel of a drawing whose words should be as large as the text around it. */
export const typeScale = () => parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
