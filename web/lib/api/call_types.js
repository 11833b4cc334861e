// call_types.js - options and results of the calls of Model and Session

/** @import { Classification, Dictionary, Edit, Ids, PoolingKind, Session, Summary } from './index.js' */
/** @import { Tensor, TokenClassification } from './index.js' */

/** @typedef {import('../engine/config/sampler_fields.js').SamplingOptions & GenerateExtras} GenerateOptions */
/**
 * What GenerateOptions has beside the options of the sampler.
 * @typedef {object} GenerateExtras
 * @property {number} [maxTokens]           most new tokens; default: until the context is full
 * @property {number} [presencePenalty] subtracted from the logits of tokens that were generated, not of those of the
 *   prompt, as OpenAI defines it; -100 to 100, default 0: off
 * @property {number} [frequencyPenalty] the same, as often as the token was generated; default 0: off
 * @property {Record<number, number> | Map<number, number>} [logitBias] added to the logits of tokens, by id: -100 to
 *   100, or -Infinity, which excludes the token. All of these changes come before the temperature
 * @property {object | true} [json] a JSON schema: the text is a JSON value that is valid under it; `true`: any value.
 *   A keyword that limits values and is not supported is refused by name, as is a form of a `pattern`. Ends with the
 *   stop reason 'eos' or 'grammar'; a text that maxTokens or the context cuts off is incomplete
 * @property {'compact' | 'any'} [whitespace] between the tokens of `json`; default 'compact': none
 * @property {boolean} [strictSchema] refuse unknown keywords and formats of `json`, which the summary names otherwise
 * @property {string} [grammar] a grammar in GBNF, the form of llama.cpp, whose rule `root` the text follows
 * @property {number} [minTokens] end tokens are excluded, and stop texts that begin there have no effect, in the first
 *   minTokens new tokens; default 0. A complete text of `json` or `grammar` ends in any case
 * @property {number} [seed] 0 .. 2^53 - 1; default: drawn, and reported in the summary. Of several prompts the i-th
 *   draws with seed + i
 * @property {string | readonly string[]} [stop] stop before any of these texts; the text before it is delivered, the
 *   stop text is not
 * @property {number} [logprobs]            how many of the most likely tokens each step lists in `top`; default 0
 * @property {boolean} [ignoreEos] continue after an end token, which is then a step like any other; default false
 * @property {number} [beams] 1 to 64, default 1; above 1: beam search with this many beams; all steps are delivered at
 *   its end. It draws nothing and captures nothing: sampling options, penalties, logitBias, logprobs, capture, json and
 *   grammar are refused beside it
 * @property {number} [lengthPenalty] exponent of beam search, default 0.6; a sequence of n tokens scores
 *   sum(logprob) / ((5 + n) / 6)^lengthPenalty
 * @property {string | Ids | readonly (string | Ids)[]} [source] encoder-decoders: what the encoder reads; of several
 *   prompts one for all, or a list
 * @property {ArrayLike<number> | readonly ArrayLike<number>[]} [sourceMask] one number for each position of the source,
 *   0 hides it; of several sources a list of such
 * @property {readonly string[]} [capture]  points by name, `*` matches anything; see Model.points
 * @property {number} [captureBudget]       most bytes of one capture; default 512 MiB
 * @property {readonly Edit[]} [edits]      changes of values inside the model while it runs
 * @property {boolean} [addSpecialTokens]   put the tokens that the tokenizer prescribes around a text; default true
 * @property {AbortSignal} [signal] aborted: the generator rejects with the signal's reason, and the engine stops
 */
/**
 * Options of Session.generate. Source, captures and edits are options of Model.session.
 * @typedef {Omit<GenerateOptions, 'source'|'sourceMask'|'capture'|'captureBudget'|'edits'|'beams'|'lengthPenalty'>}
 *   SessionGenerateOptions
 */
/**
 * @typedef {object} ForwardOptions
 * @property {string | Ids | readonly (string | Ids)[]} [source] encoder-decoders: what the encoder reads; of several
 *   inputs one for all, or a list
 * @property {ArrayLike<number> | readonly ArrayLike<number>[]} [sourceMask] one number for each position of the source,
 *   0 hides it; of several sources a list of such
 * @property {ArrayLike<number> | readonly ArrayLike<number>[]} [mask] encoders: 0 hides a position; decoders: 0 marks
 *   padding at the end
 * @property {string | readonly string[]} [pair]     encoders: a second text, after an input given as text; of several
 *   inputs a list
 * @property {ArrayLike<number> | readonly ArrayLike<number>[]} [tokenTypes] encoders: the type of each token, default
 *   0; of several inputs a list of such
 * @property {readonly string[]} [capture]  points by name, `*` matches anything; see Model.points
 * @property {number} [captureBudget]       most bytes of one capture; default 512 MiB
 * @property {readonly Edit[] | readonly (readonly Edit[])[]} [edits] changes of values inside the model while it runs;
 *   of several inputs also a list of such for each
 * @property {'all' | 'last' | 'none' | readonly number[]} [logits] after which positions; negative ones count from the
 *   end; default all. Few are much faster where the vocabulary is large
 * @property {boolean} [allowNonFinite]     return NaN and infinities, which are otherwise the error not-finite; default
 *   false
 * @property {boolean} [addSpecialTokens]   put the tokens that the tokenizer prescribes around a text; default true
 * @property {AbortSignal} [signal]         aborted: the call rejects with the signal's reason
 */
/**
 * @typedef {object} ForwardResult
 * @property {Tensor} logits [positions, vocab_size], of the positions that the option `logits` names; of several
 *   sequences [sequence, positions, vocab_size], where a shorter one ends in zeros. An encoder has none, except with
 *   the head of a masked language model: see hidden
 * @property {Tensor} [hidden]  encoders: the last states [positions, d_model]
 * @property {Tensor} [pooled]  encoders with a pooler: its output [d_model]
 * @property {Record<string, Tensor>} captured  by point name
 */
/**
 * A change of a feature of a dictionary: its value z becomes scale z + add, that is, the difference times the feature's
 * direction is added to the values. Consecutive edits of one dictionary read its features before the values change.
 * @typedef {object} FeatureEdit
 * @property {import('./dictionary.js').Dictionary} dictionary
 * @property {number} feature
 * @property {number} [scale]    default 1; 0 removes the feature
 * @property {number} [add]      default 0
 * @property {string} [at]       default: the dictionary's own point
 * @property {import('../run/inspect/edits.js').Edit['position']} [position]  positions, as in other edits; default: all
 */
/**
 * One message of a conversation, which the template gets as it is. role: as the model's template names them, usually
 * 'system', 'user', 'assistant' or 'tool'; content: a text, a list of texts as OpenAI writes them, or null; tool_calls:
 * what the assistant called; tool_call_id: the call whose result this is; reasoning, thinking, reasoning_content: what
 * the model thought before, under the name that the template reads; other keys are JSON for the template.
 * @typedef {{role: string, content?: string | null | readonly {type: 'text', text: string}[],
 *   tool_calls?: readonly MessageCall[], tool_call_id?: string, [key: string]: any}} Message
 */
/**
 * A call in a message, as OpenAI writes it. The template gets the arguments as they are: most templates take an object,
 * and write a text as a JSON string.
 * @typedef {{id?: string, type?: 'function', function: {name: string, arguments: string | object}}} MessageCall
 */
/**
 * A function that the model may call. parameters: a JSON schema of its arguments.
 * @typedef {{name: string, description?: string, parameters?: object}} Tool
 */
/**
 * A call that the model has written. arguments: they fit the schema of the tool.
 * @typedef {{id: string, name: string, arguments: Record<string, any>}} ToolCall
 */
/**
 * How a conversation becomes a prompt.
 * @typedef {object} WritingOptions
 * @property {Record<string, any>} [template]  further values for the template, such as { enable_thinking: false }
 * @property {readonly (Tool | {type: 'function', function: Tool})[]} [tools] functions that the model may call, also as
 *   OpenAI writes them. Each call follows a grammar, so that its arguments fit the schema
 * @property {'auto' | 'none' | 'required' | {name: string} | {type: 'function', function: {name: string}}} [toolChoice]
 *   whether the model decides, calls none, at least one, or this one; default 'auto'
 * @property {boolean} [parallelToolCalls]  whether one answer may have several calls; default true
 * @property {boolean} [continue]  the last message is the beginning of the answer; default false
 */
/**
 * Options of Model.chat beside those of generate.
 * @typedef {object} ChatOnly
 * @property {Session} [session]  a session of this model that keeps the conversation, instead of the model's own
 *   sequence. It cannot be combined with `source`, `capture`, `edits` and `beams`
 */
/** @typedef {WritingOptions & ChatOnly} ChatExtras */
/**
 * What every call that reads one input takes.
 * @typedef {object} ReadOptions
 * @property {string | Ids} [source]             encoder-decoders: what the encoder reads
 * @property {ArrayLike<number>} [sourceMask]    one number for each position of the source; 0 hides it
 * @property {boolean} [addSpecialTokens] put the tokens that the tokenizer prescribes around a text; default true
 * @property {AbortSignal} [signal]              aborted: the call rejects with the signal's reason
 */
/**
 * What every call that reads one input takes of an encoder.
 * @typedef {object} PairOptions
 * @property {string} [pair]                     a second text, after an input given as text
 * @property {ArrayLike<number>} [tokenTypes]    the type of each token; default 0
 */
/**
 * @typedef {object} EmbedExtras
 * @property {PoolingKind | readonly PoolingKind[]} [pooling]  the mean of all
 *   positions (also weighted by 1, 2, 3, ..., or their sum divided by the root of their number), the largest of each
 *   component, the state of the first or of the last position, or the pooler's output; several: their vectors, one
 *   after the other; default: Model.pooling
 * @property {string} [prompt]                   text before each text: a name in Model.pooling.prompts, or the text
 *   itself; default: Model.pooling.defaultPrompt
 * @property {boolean} [normalize]               to length 1; default: Model.pooling
 * @property {boolean} [truncate]                read the first tokens of a text that is too long, as many as
 *   Model.pooling says, instead of refusing it; default: where Model.pooling has maxTokens
 * @property {ArrayLike<number> | readonly ArrayLike<number>[]} [mask] one number for each position; 0 hides it and
 *   leaves it out of the mean; of several inputs a list of such
 * @property {string | readonly string[]} [pair]          a second text; of several inputs a list of such
 * @property {ArrayLike<number> | readonly ArrayLike<number>[]} [tokenTypes] the type of each token; of several inputs a
 *   list of such
 * @property {boolean} [addSpecialTokens] put the tokens that the tokenizer prescribes around a text; default true
 * @property {AbortSignal} [signal]              aborted: the call rejects with the signal's reason
 */
/**
 * @typedef {object} ClassifyExtras
 * @property {string | readonly string[]} [pair] a second text, such as a document that answers a question, or what a
 *   text may entail; of several inputs, or for one text with several others, a list
 * @property {'softmax' | 'sigmoid' | 'none'} [activation]  what makes scores of logits; default: as the files say
 * @property {boolean} [truncate]                read what the context holds of a text that is too long, of two texts of
 *   the longer one, instead of refusing it; default false
 * @property {readonly Edit[]} [edits]
 * @property {ArrayLike<number> | readonly ArrayLike<number>[]} [mask] one number for each position; 0 hides it; of
 *   several inputs a list of such
 * @property {ArrayLike<number> | readonly ArrayLike<number>[]} [tokenTypes] the type of each token; of several inputs a
 *   list of such
 * @property {boolean} [addSpecialTokens] put the tokens that the tokenizer prescribes around a text; default true
 * @property {AbortSignal} [signal]              aborted: the call rejects with the signal's reason
 */
/**
 * What a head of a text gives: label, score and scores; what a head of tokens gives: tokens, and with a tokenizer words
 * and entities.
 * @typedef {Classification & Partial<Omit<TokenClassification, 'logits'>>}
 *   Classified
 */
/** @typedef {import('../engine/config/sampler_fields.js').SamplingOptions & DistributionExtras} DistributionOptions */
/**
 * What DistributionOptions has beside the options of the sampler.
 * @typedef {object} DistributionExtras
 * @property {Ids} [seen]                        token ids that the repetition penalty counts
 * @property {number} [presencePenalty]          default 0: off
 * @property {number} [frequencyPenalty]         default 0: off
 * @property {Ids} [generated]                   token ids that these two penalties count
 * @property {Record<number, number> | Map<number, number>} [logitBias]  see generate
 */
/**
 * @typedef {object} LensExtras
 * @property {readonly Edit[]} [edits]           edits of the blocks
 * @property {number} [top]                      how many tokens for each position; default 5
 * @property {number} [position]                 this one only; negative ones count from the end; default: all
 */
/**
 * @typedef {object} LossExtras
 * @property {boolean} [perToken]                also return the loss of each token
 * @property {readonly Edit[]} [edits]
 * @property {boolean} [allowNonFinite]          as in forward
 */
/**
 * @typedef {object} AttributionExtras
 * @property {number | string} [token] whose logit: an id, or a text that is one token; of a classifier a label;
 *   default: the most likely one
 * @property {number} [position]                 negative ones count from the end; default: the last
 * @property {readonly Edit[]} [edits]           what they add to the stream is a part of its own
 */
/**
 * The result of `complete`. value: with the option `json`, of the text, as the schema's own `validate` returns it;
 * undefined where maxTokens, the context or a stop text cut it off; of several prompts a list. issues: what that
 * `validate` finds wrong
 * @template [T=any]
 * @typedef {Omit<Summary, 'value'> & {value?: T, issues?: readonly {message: string}[]}} Completion
 */
/**
 * The type of a schema's values: that of Zod, Valibot and others that follow standardschema.dev; any of a JSON schema.
 * @template S
 * @typedef {S extends {readonly '~standard': {readonly types?: {readonly output: infer T} | undefined}}
 *   ? T : any} ValueOf
 */
/**
 * The cell that is explained.
 * @typedef {object} ExplainExtras
 * @property {string} at                         a point's name (see Model.points), or 'logits'
 * @property {number} [position]                 negative ones count from the end; default: the last
 * @property {number} [head]                     the head, if the point has heads
 * @property {number} [index] place in the row; for a score or pattern the key's position, for 'logits' a token id
 * @property {boolean} [allowNonFinite]          as in forward
 * @property {readonly Edit[]} [edits]           edits of the explained pass
 */
/**
 * @typedef {object} SessionOptions
 * @property {string | Ids} [source]             encoder-decoders: what the encoder reads
 * @property {ArrayLike<number>} [sourceMask]    one number for each position of the source; 0 hides it
 * @property {readonly string[]} [capture] points by name, `*` matches anything; each eval leaves them in `captured`
 * @property {number} [captureBudget]            most bytes of one capture; default 512 MiB
 * @property {readonly Edit[]} [edits]           apply to each eval
 * @property {boolean} [allowNonFinite]          for each eval, as in forward
 * @property {Uint8Array} [state]                what Session.save returned: the session begins with its positions
 * @property {AbortSignal} [signal]              aborted: the call rejects with the signal's reason
 */

export {};
