// bring_into_view.js - scrolls to a part of the page that a box over the page speaks of

/**
 * Below what stays on scrolling, and not behind the box.
 * @param {Element} place
 * @param {HTMLElement} box
 */
export function bringIntoView(place, box) {
  const { top, bottom } = place.getBoundingClientRect();
  const stays = document.querySelector('.stays')?.getBoundingClientRect().bottom ?? 0,
    wide = box.offsetWidth > innerWidth / 2;
  if (top >= stays && bottom <= (wide ? box.getBoundingClientRect().top : innerHeight)) return;
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
  scrollTo({ top: scrollY + top - stays - 12, behavior: still ? 'auto' : 'smooth' });
}
