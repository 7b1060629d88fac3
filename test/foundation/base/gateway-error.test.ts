import test from 'ava';
import { defineErrors, type ErrorKind } from '../../../foundation/base/gateway-error.ts';
import { HTTP_STATUS } from '../../../foundation/errors/status.ts';

test('an error has one of the kinds that have a status, or its catalogue is refused', (t) => {
  const define = (kind: string) =>
    defineErrors({ odd: { code: 'acme.odd', kind: kind as ErrorKind, title: 'It is odd' } }).odd();
  for (const kind of Object.keys(HTTP_STATUS)) t.is(define(kind).kind, kind as ErrorKind);
  t.throws(() => define('not_found'), {
    instanceOf: TypeError,
    message: /^The error acme\.odd has the kind not_found: it is one of invalid, .*not-found.*, timeout$/,
  });
});

test('an error says when to try again, unless its thrower knows better or knows that it is of no use', (t) => {
  const { away } = defineErrors({
    away: { code: 'acme.away', kind: 'unavailable', title: 'It is away', retryAfter: 5 },
  });
  t.deepEqual(away().extras.headers, { 'retry-after': '5' });
  t.deepEqual(away(undefined, { headers: { 'retry-after': '30', allow: 'GET' } }).extras.headers, {
    'retry-after': '30',
    allow: 'GET',
  });
  t.is(away(undefined, { retryable: false }).extras.headers, undefined);
});
