import test from 'ava';
import { createValidator } from '../../../foundation/base/json-schema.ts';
import {
  type ConditionalHeaders,
  expectsNumber,
  ifMatchHeader,
  precondition,
  rangeCounts,
} from '../../../foundation/http/preconditions.ts';

const MODIFIED = Date.UTC(2026, 4, 17, 10, 30, 15, 123);
const AT = 'Sun, 17 May 2026 10:30:15 GMT';
const BEFORE = 'Sun, 17 May 2026 10:30:14 GMT';
const VALIDATORS = { etag: '"a,b"', modifiedAt: MODIFIED };

const CASES: readonly (readonly [ConditionalHeaders, ReturnType<typeof precondition>])[] = [
  [{}, 'met'],
  [{ 'if-none-match': '"a,b"' }, 'unmodified'],
  [{ 'if-none-match': 'W/"a,b"' }, 'unmodified'],
  [{ 'if-none-match': '"x", W/"y" , "a,b"' }, 'unmodified'],
  [{ 'if-none-match': '*' }, 'unmodified'],
  [{ 'if-none-match': '"a"' }, 'met'],
  [{ 'if-none-match': 'a,b' }, 'met'],
  [{ 'if-modified-since': AT }, 'unmodified'],
  [{ 'if-modified-since': BEFORE }, 'met'],
  // The tag decides alone where both are there.
  [{ 'if-none-match': '"x"', 'if-modified-since': AT }, 'met'],
  [{ 'if-modified-since': 'yesterday' }, 'met'],
  [{ 'if-modified-since': '2026' }, 'met'],
  [{ 'if-modified-since': 'Sun May 17 10:30:15 2026' }, 'unmodified'],
  [{ 'if-modified-since': 'Sunday, 17-May-26 10:30:15 GMT' }, 'unmodified'],
  [{ 'if-match': '"a,b"' }, 'met'],
  [{ 'if-match': '*' }, 'met'],
  [{ 'if-match': 'W/"a,b"' }, 'failed'],
  [{ 'if-match': '"x"', 'if-none-match': '"a,b"' }, 'failed'],
  [{ 'if-match': '"a,b"', 'if-unmodified-since': BEFORE }, 'met'],
  [{ 'if-unmodified-since': BEFORE }, 'failed'],
  [{ 'if-unmodified-since': AT }, 'met'],
];

for (const [headers, outcome] of CASES) {
  test(`${JSON.stringify(headers)} is ${outcome}`, (t) => {
    t.is(precondition(headers, VALIDATORS), outcome);
  });
}

test('without a date only the tag decides', (t) => {
  t.is(precondition({ 'if-modified-since': AT }, { etag: '"a"' }), 'met');
  t.is(precondition({ 'if-unmodified-since': BEFORE }, { etag: '"a"' }), 'met');
  t.false(rangeCounts({ 'if-range': AT }, { etag: '"a"' }));
});

test('a range counts for the same state alone: a strong tag, or the exact date', (t) => {
  t.true(rangeCounts({}, VALIDATORS));
  t.true(rangeCounts({ 'if-range': '"a,b"' }, VALIDATORS));
  t.false(rangeCounts({ 'if-range': 'W/"a,b"' }, VALIDATORS));
  t.false(rangeCounts({ 'if-range': '"x"' }, VALIDATORS));
  t.true(rangeCounts({ 'if-range': AT }, VALIDATORS));
  t.false(rangeCounts({ 'if-range': BEFORE }, VALIDATORS));
});

const NUMBERS = [0, 3, 4, 5, 7];
const validate = createValidator(ifMatchHeader('the version'), 'headers');

for (const [header, expected] of [
  [undefined, NUMBERS],
  ['*', NUMBERS],
  [' * ', NUMBERS],
  ['3', [3]],
  ['"3"', [3]],
  ['W/"3"', [3]],
  ['0', [0]],
  ['"3", W/"4" ,5', [3, 4, 5]],
  ['"abc"', []],
  ['""', []],
  ['"-1"', []],
  ['"99999999999"', []],
  ['"abc", "7"', [7]],
] as const) {
  test(`If-Match ${header === undefined ? '(absent)' : `>${header}<`} expects ${expected.join(', ') || 'nothing'}`, (t) => {
    t.deepEqual(validate(header === undefined ? {} : { 'if-match': header }), []);
    t.deepEqual(
      NUMBERS.filter((number) => expectsNumber(header, number)),
      [...expected],
    );
  });
}

for (const header of ['', 'abc', '3"', '"3', 'W/3', '-1', '1.5', '"3",', '*, "3"', "'3'"]) {
  test(`If-Match ${header || '(empty)'} is refused`, (t) => {
    const message = 'must be the version, as its ETag says it ("3"), or *';
    t.deepEqual(validate({ 'if-match': header }), [{ pointer: '/headers/if-match', message }]);
  });
}
