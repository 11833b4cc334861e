// inline.js - the package in one file that requests nothing: workers and binaries come from the copies embedded in it
//
// For single-file pages, browser extensions and bundlers that copy no files. One thread computes. The page's
// Content-Security-Policy must allow `worker-src blob:`, or the models be loaded with { worker: false }.
import { useEmbedded } from './package_files.js';

useEmbedded();

export * from './index.js';
