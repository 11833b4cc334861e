// host.js - what the engine imports from its host, for the compiled tests that run under Node; an
// Emscripten library file.
addToLibrary({ gf_now_ms: () => performance.now() });
