// main.js - makes the library, in its CDN build, and the calls of programme.js available to tests
import * as library from '/dist/glassformer.js';
import * as programme from './programme.js';

Object.assign(window, { library, programme });
