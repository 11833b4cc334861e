// string_formats.test.js - the formats of texts in a JSON schema: examples that are read, and those that are not
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatPatterns } from '../../web/lib/text/constrain/string_formats.js';
import { reads, schemaAutomaton } from './automata.js';
import { FORMATS } from './json_validity.js';
import { CHARACTERS, numbersOf, randomText } from './random_patterns.js';

/** By format: texts that have it, and texts that do not. @type {Record<string, [string[], string[]]>} */
const EXAMPLES = {
  date: [
    ['2024-02-29', '2000-02-29', '1999-12-31', '0001-01-01', '2023-04-30', '0000-02-29'],
    [
      '2023-02-29',
      '1900-02-29',
      '2024-02-30',
      '2024-04-31',
      '2024-13-01',
      '2024-00-10',
      '2024-01-00',
      '24-01-01',
      '2024-1-1',
      '2024-01-01 ',
    ],
  ],
  time: [
    ['12:30:00Z', '23:59:59.999Z', '00:00:00+05:30', '08:15:30.123456789-11:00'],
    ['24:00:00Z', '12:60:00Z', '12:30:60Z', '12:30Z', '12:30:00', '12:30:00.Z', '12:30:00+24:00', '12:30:00z'],
  ],
  'date-time': [
    ['2024-02-29T12:30:00Z', '1985-04-12T23:20:50.52Z', '1996-12-19T16:39:57-08:00'],
    ['2023-02-29T12:30:00Z', '2024-02-29 12:30:00Z', '2024-02-29T12:30:00', '2024-02-29', '2024-02-29T25:00:00Z'],
  ],
  duration: [
    ['P3Y6M4DT12H30M5S', 'PT1M', 'P1W', 'P1D', 'PT36H', 'P0D', 'P1YT1S'],
    ['P', 'PT', 'P1', '1D', 'P1S', 'PT1D', 'P1Y2W', 'P1D2Y', 'P-1D', 'P1Y1D', 'PT1H1S', 'P1.5D'],
  ],
  email: [
    ['ada@example.org', 'a.b+c_d@mail.example.co.uk', "o'hara!#$%&*/=?^`{|}~-@x-1.de"],
    [
      'ada',
      '@example.org',
      'ada@',
      'ada@example',
      'a..b@example.org',
      '.a@example.org',
      'a b@example.org',
      'a@-x.org',
      'a@x_y.org',
      `${'a'.repeat(65)}@example.org`,
    ],
  ],
  hostname: [
    ['example.org', 'localhost', 'a.b.c.d.e.f', 'ec2-1-2-3-4.eu-west-1.compute.amazonaws.com', '3com.com'],
    ['', '-a.org', 'a-.org', 'a..org', '.org', 'a_b.org', 'a.org.', `${'a'.repeat(64)}.org`, '1.2.3.4'],
  ],
  ipv4: [
    ['0.0.0.0', '255.255.255.255', '192.168.1.10'],
    ['256.1.1.1', '1.2.3', '1.2.3.4.5', '01.2.3.4', '1.2.3.', '1.2.3.4 '],
  ],
  ipv6: [
    [
      '::',
      '::1',
      '1::',
      '2001:db8::8a2e:370:7334',
      '1:2:3:4:5:6:7:8',
      '::ffff:192.168.0.1',
      '1:2:3:4:5:6:7::',
      '::2:3:4:5:6:7:8',
      '1:2:3:4:5:6:1.2.3.4',
      'fe80::1:2',
    ],
    [
      '',
      ':',
      ':::',
      '1::2::3',
      '1:2:3:4:5:6:7',
      '1:2:3:4:5:6:7:8:9',
      '12345::',
      '::1.2.3',
      '1:2:3:4:5:6:7:1.2.3.4',
      'fe80::1%eth0',
      'g::',
    ],
  ],
  uuid: [
    [
      '123e4567-e89b-12d3-a456-426614174000',
      '00000000-0000-0000-0000-000000000000',
      'ABCDEFAB-CDEF-ABCD-EFAB-CDEFABCDEFAB',
    ],
    [
      '123e4567e89b12d3a456426614174000',
      '123e4567-e89b-12d3-a456-42661417400',
      '{123e4567-e89b-12d3-a456-426614174000}',
      'g23e4567-e89b-12d3-a456-426614174000',
    ],
  ],
  uri: [
    [
      'https://example.org',
      'http://a.b:8080/x/y.html?q=1&r=%C3%A9#top',
      'ftp://127.0.0.1/',
      'mailto:ada@example.org',
      'urn:isbn:0451450523',
      'file:///etc/hosts',
      'tel:+1-816-555-1212',
      'https://x.org?a=/b?c',
    ],
    [
      '',
      'example.org',
      '/path',
      '//x.org',
      'http://',
      'http:// x.org',
      'http://x.org/a b',
      'http://x.org/%zz',
      'http://x.org/ä',
      'http://x.org/<>',
      'ht_tp://x.org',
      '1http://x.org',
      'http://x.org/#a#b',
    ],
  ],
};

describe('formats', () => {
  for (const [format, [good, bad]] of Object.entries(EXAMPLES))
    test(`${format}: texts that are read, texts that are not, random texts and their neighbours`, () => {
      const automaton = schemaAutomaton({ type: 'string', format });
      for (const text of good) assert.ok(reads(automaton, JSON.stringify(text)), text);
      for (const text of good) assert.ok(FORMATS[format](text), text);
      for (const text of bad) assert.ok(!reads(automaton, JSON.stringify(text)), text);
      const random = numbersOf(5);
      const patterns = (formatPatterns(format) ?? []).map((source) => new RegExp(source, 'u'));
      let neighbours = 0;
      for (let i = 0; i < 200; i++) {
        const one = i < good.length ? good[i] : JSON.parse(randomText(automaton, random));
        assert.ok(FORMATS[format](one), one);
        for (let k = 0; k < 8; k++) {
          const at = Math.floor(random() * one.length);
          const put = [
            one[Math.floor(random() * one.length)],
            CHARACTERS[Math.floor(random() * CHARACTERS.length)],
            '',
          ][k % 3];
          const near = one.slice(0, at) + put + one.slice(at + (k < 4 ? 1 : 0));
          const isRead = reads(automaton, JSON.stringify(near));
          assert.equal(
            isRead,
            patterns.every((expression) => expression.test(near)),
            near,
          );
          if (isRead) assert.ok(FORMATS[format](near), near);
          neighbours += Number(isRead && near !== one);
        }
      }
      assert.ok(neighbours > 20, String(neighbours));
    });

  test('every format has examples', async () => {
    const { FORMAT_NAMES } = await import('../../web/lib/text/constrain/string_formats.js');
    assert.deepEqual(Object.keys(EXAMPLES).sort(), [...FORMAT_NAMES].sort());
  });
});
