// lazy.js - code that is fetched when it is needed, and asked for again where it did not come

/** Fetch once and make something of it once; every call gets that. @template M, T
 * @param {() => Promise<M>} fetched @param {(module: M) => T} make @returns {() => Promise<T>} */
export function onDemand(fetched, make) {
  /** @type {Promise<T> | null} */
  let made = null;
  return () =>
    (made ??= fetched()
      .catch((cause) => {
        made = null;
        throw new Error(
          'This part of the page could not be fetched: try again where there is a network, or load the page anew',
          { cause },
        );
      })
      .then(make));
}
