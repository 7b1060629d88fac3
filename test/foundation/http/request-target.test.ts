import test from 'ava';
import { isDecodable, originForm } from '../../../foundation/http/request-target.ts';

for (const [target, origin] of [
  ['/v1/me?a=b', '/v1/me?a=b'],
  ['http://gateway.example/v1/me?a=b', '/v1/me?a=b'],
  ['HTTPS://gateway.example:8443', '/'],
  ['http://gateway.example?a=b', '/?a=b'],
  ['http:///v1/me', 'http:///v1/me'],
  ['*', '*'],
  ['', ''],
] as const) {
  test(`the target ${JSON.stringify(target)} asks for ${JSON.stringify(origin)}`, (t) => {
    t.is(originForm(target), origin);
  });
}

test('a path is decodable when each % begins an escaped character of UTF-8', (t) => {
  for (const path of ['/', '/a%20b', '/%F0%9F%98%80', '/ü']) t.true(isDecodable(path), path);
  for (const path of ['/%', '/%4', '/%zz', '/%ff', '/%F0%9F']) t.false(isDecodable(path), path);
});
