// ideas.js - ideas of a transformer that can be left out of a loaded model: switches of its configuration

import { hasDistanceBias, hasNorms, rotatesAnywhere, scoreScale } from '../../state/facts/architecture.js';

/** @typedef {import('../../text/break_text.js').Idea} Idea */

/** Switches in the order in which they are offered. @type {Idea[]} */
const ALL = ['causal', 'scaleScores', 'usePosition', 'useResidual', 'useNorm', 'useFinalNorm'];

/** Whether a model has an idea that not all have. @type {Partial<Record<Idea, (config: any) => boolean>>} */
const HAS = {
  scaleScores: (c) => scoreScale(c) !== 1,
  usePosition: (c) => hasDistanceBias(c) || (c.position === 'rope' ? rotatesAnywhere(c) : c.position !== 'none'),
  useNorm: hasNorms,
  useFinalNorm: (c) => c.finalNorm,
};

/**
 * The ideas that this model has and that are not off already.
 * @param {any} config
 */
export const ideasOf = (config) => ALL.filter((idea) => config[idea] !== false && (HAS[idea]?.(config) ?? true));
