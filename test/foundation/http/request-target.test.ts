import test from 'ava';
import { originForm } from '../../../foundation/http/request-target.ts';

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
