import test from 'ava';
import { isDecodable } from '../../../foundation/base/decodable.ts';

test('a path is decodable when each % begins an escaped character of UTF-8', (t) => {
  for (const path of ['/', '/a%20b', '/%F0%9F%98%80', '/ü']) t.true(isDecodable(path), path);
  for (const path of ['/%', '/%4', '/%zz', '/%ff', '/%F0%9F']) t.false(isDecodable(path), path);
});
