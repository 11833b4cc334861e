// main.js - makes the library, in its CDN build, and the calls of programme.js and abort_table.js available to tests
import * as library from '/dist/glassformer.js';
import * as aborts from './abort_table.js';
import * as programme from './programme.js';

Object.assign(window, { aborts, library, programme });
