import test from 'ava';
import { createRedaction } from '../../../foundation/redaction/redaction.ts';

const { redact, redactStream, redactJsonText } = createRedaction();
const MIB = 1_048_576;

/** Texts that are nearly something again and again, so that whoever goes back on each goes back over all. */
const HOSTILE: readonly string[] = [
  'eyJ',
  'eyJ-',
  'eyJ.eyJ.',
  'eyJhbGciOiJIUzI1NiJ9.',
  '-----BEGIN ',
  `-----BEGIN ${'RSA '}PRIVATE KEY-----`,
  `-----BEGIN ${'RSA '}PRIVATE KEY-----\nMIIEMIIEMIIEMIIE-----END `,
  'sk-',
  'sk-a ',
  'sk-abcdefghijklmnopqrs ',
  'password=',
  'password="',
  'password=a1-',
  'password     ',
  'Authorization: Bearer ',
  '://',
  '://a:',
  '://a:b@',
  '://a:b://',
  'AKIA',
  '12345678:',
  'M',
  'MTIz',
  '\\n',
  '\\',
  '\\u000',
  '\\u005c',
  '%',
  '%25',
  '%5C',
  'ghp%5F',
  '"',
  '/eyJ',
  '/In0K',
  // Base64 of text that begins as JSON does again and again, at each place of a group.
  Buffer.from('"{"a?"{"b?{"?').toString('base64').replaceAll('=', ''),
  `/${Buffer.from('{"a"?{"?').toString('base64').slice(0, 8)}`,
  `${Buffer.from('{"a": ["x", ').toString('base64')}`,
  'a',
  '\ud83d',
  // Credentials, and what follows one that could still have grown.
  `AKIA${'A'.repeat(16)} `,
  `password=${'a1'.repeat(12)} `,
  `://a:b@${'c'.repeat(400)}@`,
  `://a:b@AKIA${'A'.repeat(16)}-AKIA${'A'.repeat(16)}@/`,
  `eyJ-AKIA${'A'.repeat(16)}`,
  `glpat-${'a'.repeat(20)}.aa.`,
];

/** CPU time in milliseconds. */
function cost(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/**
 * How often both lengths are measured, at most, the best of each counting: others use the process and the machine, too.
 */
const RUNS = 10;

/** In how much of the text each way is measured: what costs more a character does with less. */
const WAYS: readonly (readonly [title: string, length: number, work: (text: string) => void])[] = [
  ['whole', MIB / 2, (text) => redact(text)],
  ['as JSON', MIB / 8, (text) => redactJsonText(JSON.stringify({ password: text }))],
  [
    'in pieces',
    MIB / 8,
    (text) => {
      const redactor = redactStream();
      for (let index = 0; index < text.length; index += 7) redactor.push(text.slice(index, index + 7));
      redactor.end();
    },
  ],
];

for (const part of HOSTILE) {
  const of = (length: number) => part.repeat(Math.ceil(length / part.length));
  test(`four times as much of ${JSON.stringify(part.slice(0, 60))} costs four times as much`, (t) => {
    for (const [way, length, work] of WAYS) {
      const [small, large] = [of(length / 4), of(length)];
      let [quarter, all] = [cost(() => work(small)), cost(() => work(large))];
      for (let run = 1; run < RUNS && !isLinear(quarter, all); run += 1) {
        quarter = Math.min(
          quarter,
          cost(() => work(small)),
        );
        all = Math.min(
          all,
          cost(() => work(large)),
        );
      }
      t.true(isLinear(quarter, all), `${way}: ${quarter} ms, then ${all} ms`);
    }
  });
}

/** Quadratic work would be 16 times as much. Below a few milliseconds the clock says nothing. */
function isLinear(quarter: number, all: number): boolean {
  return all < 10 * Math.max(quarter, 5);
}
