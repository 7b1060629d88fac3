import test from 'ava';
import { parsedJson } from '../../../foundation/base/json-object.ts';

test('a text that is JSON gives its value', (t) => {
  t.deepEqual(parsedJson('{"a":[1,null]}'), { a: [1, null] });
  t.is(parsedJson('null'), null);
  t.is(parsedJson('false'), false);
});

test('a text that is no JSON gives nothing, and no error that quotes it', (t) => {
  for (const text of ['', 'undefined', '{"a":', '{"a":1} x', "{'a':1}"]) t.is(parsedJson(text), undefined);
});
