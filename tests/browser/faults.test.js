// faults.test.js - in Chromium, some behaviours of the server of tests/faults, and storage without room.
// `./build.sh test faults` tests every behaviour in three engines.
import { testInPages } from '../faults/pages.js';

testInPages('chromium', [
  'cut once',
  'cut without Content-Length',
  'ends early without Content-Length',
  'another range',
  'ETag changes',
  'Content-Length too small',
  'gzip, cut',
  'a redirect loop',
  '206 of a part, unasked',
  'an empty body',
  '503 and 429, then the file',
  'zeros',
]);
