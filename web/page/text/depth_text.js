// depth_text.js - sentences of the depth laboratory: what four deep models show

import { scientific, figures } from './format.js';
import { say } from '../state/base/language.js';

/** @typedef {import('../views/experiment/depth_measurement.js').Layers} Layers */
/** @typedef {import('../views/experiment/depth_measurement.js').Way} Way */

/** @type {Record<Way, string>} */
export const WAY_NAMES = { pre: say`pre-norm`, post: say`post-norm`, carried: say`residuals`, bare: say`no residuals` };
/** @type {Record<'weights' | 'stream', string>} */
export const SHOWS = { weights: say`gradient of the weights`, stream: say`size of the residual stream` };

export const DEEP = {
  title: say`Depth laboratory`,
  about: say`how much gradient reaches each layer of an untrained model`,
  intro: say`A deep model learns only if the signal reaches its last layer and the gradient its first. Four models, initialised N(0, 0.02), run one forward and one backward pass each.`,
  kept: say`Stopped; the earlier measurement is still shown.`,
  /** @type {{ title: string, ways: Way[] }[]} */
  pictures: [
    { title: say`Norms before or after each sublayer`, ways: ['pre', 'post'] },
    { title: say`No norms: with residual connections or without`, ways: ['carried', 'bare'] },
  ],
  /** @param {'weights' | 'stream'} what */
  axis: (what) => say`${SHOWS[what]}, root mean square`,
  /**
   * A picture in words.
   * @param {'weights' | 'stream'} what
   * @param {Way[]} ways
   * @param {Record<Way, number[]>} values
   */
  picture: (what, ways, values) =>
    say`${SHOWS[what]} by layer. ${ways
      .map((way) => {
        const list = values[way];
        return say`${WAY_NAMES[way]}: ${scientific(list[0])} in layer 1, ${scientific(list[list.length - 1])} in layer ${list.length}`;
      })
      .join('; ')}`,
};

/** The first layer's gradient as a multiple of the last one's. */
const ratio = (/** @type {Layers} */ list) => scientific(list[0].weights / list[list.length - 1].weights);

/**
 * What pre-norm and post-norm show.
 * @param {Record<Way, Layers>} found
 */
export function normFindings({ pre, post }) {
  const last = pre.length - 1;
  const factor = pre[0].weights / post[0].weights;
  return {
    pre: say`the residual stream grows from ${scientific(pre[0].stream)} to ${scientific(pre[last].stream)}, and the larger the stream, the smaller the gradient: the first layer gets ${ratio(pre)} times that of the last.`,
    post: say`each layer scales the stream back to ${scientific(post[last].stream)}. The first layer gets ${ratio(post)} times the gradient of the last,`,
    factor: say`${scientific(factor >= 1 ? factor : 1 / factor)} times`,
    than: say`${factor >= 1 ? say`less` : say`more`} than under pre-norm.`,
    source: say`Xiong et al. 2020 derive this for the last layer: under pre-norm its gradient falls with the square root of the depth, under post-norm it does not depend on the depth.`,
  };
}

/**
 * What residual connections show.
 * @param {Record<Way, Layers>} found
 */
export function residualFindings({ carried, bare }) {
  const last = carried.length - 1;
  const silent = bare.findIndex((layer) => layer.stream === 0);
  const less = carried[0].weights / bare[0].weights;
  return {
    carried: say`the signal passes through all layers, ${scientific(carried[0].stream)} in the first and ${scientific(carried[last].stream)} in the last, and so does the gradient: the first layer gets ${ratio(carried)} times that of the last.`,
    bare: [
      say`each layer passes on 1/${figures(bare[0].stream / bare[1].stream)} of the signal. `,
      silent > 0 ? say`From layer ${silent + 1} on it is too small for a 32-bit float, ` : '',
      bare[0].weights > 0
        ? say`the first layer gets ${scientific(less)} times less gradient than with residual connections.`
        : say`and no layer gets any gradient: the model cannot learn.`,
    ].join(''),
    source: say`He et al. 2016 introduced residual connections: each layer adds its output to its input.`,
  };
}
