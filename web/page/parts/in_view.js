// in_view.js - reports whether an element is in view, for what is computed only while it is seen

/**
 * An attachment.
 * @param {(seen: boolean) => void} tell  at once, and whenever it changes
 * @param {number} [threshold]  share of the element that must be in view; 0: any
 * @returns {import('svelte/attachments').Attachment}
 */
export const inView =
  (tell, threshold = 0) =>
  (element) => {
    const sight = new IntersectionObserver((entries) => tell(entries[entries.length - 1].isIntersecting), {
      threshold,
    });
    const printed = () => element.getClientRects().length && tell(true);
    sight.observe(element);
    addEventListener('beforeprint', printed); // on paper all of it is seen
    return () => {
      sight.disconnect();
      removeEventListener('beforeprint', printed);
    };
  };
