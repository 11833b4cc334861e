// main.js - the library as a content delivery network serves it, and its questions, for tests to call
import * as library from '/dist/glassformer.js';
import * as programme from './programme.js';

Object.assign(window, { library, programme });
