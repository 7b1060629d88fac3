import test from 'ava';
import { expectedRevision } from '../../../../plugins/workflow/routes/definition-schemas.ts';

for (const [header, expected] of [
  [undefined, undefined],
  ['*', undefined],
  [' * ', undefined],
  ['3', [3]],
  ['"3"', [3]],
  ['W/"3"', [3]],
  ['"3", W/"4" ,5', [3, 4, 5]],
  ['"abc"', []],
  ['""', []],
  ['"-1"', []],
  ['"99999999999"', []],
  ['"abc", "7"', [7]],
] as const) {
  test(`If-Match ${header === undefined ? '(absent)' : `>${header}<`} expects ${JSON.stringify(expected ?? 'nothing')}`, (t) => {
    t.deepEqual(expectedRevision(header), expected);
  });
}

for (const header of ['', 'abc', '3"', '"3', 'W/3', '-1', '1.5', '"3",', '*, "3"', "'3'"]) {
  test(`If-Match ${header || '(empty)'} is refused`, (t) => {
    t.throws(() => expectedRevision(header), { code: 'request.invalid' });
  });
}
