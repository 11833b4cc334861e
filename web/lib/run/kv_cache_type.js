// kv_cache_type.js - the type of key/value cache that fits a model's weights

/**
 * The cache of a model with quantised weights is f16: half the memory of f32, and the rounding of its keys and values
 * changes the predictions far less than that of the weights does; q8_0 changes them more. Other models keep exact keys
 * and values.
 * @param {(string | undefined)[]} dtypes types of the model's weights
 */
export const defaultKvDtype = (dtypes) => (dtypes.some((dtype) => dtype?.startsWith('q')) ? 'f16' : 'f32');
