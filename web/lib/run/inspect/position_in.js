// position_in.js - the option `position` of calls that read one position of a sequence
import { numberInRange } from '../generation_options.js';

/**
 * The index of a position, checked.
 * @param {number} position  negative ones count from the end
 * @param {number} n         positions of the sequence
 * @returns {number} from 0 to n - 1
 */
export const positionIn = (position, n) => (numberInRange('position', position, -n, n - 1, true) + n) % n;
