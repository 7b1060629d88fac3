import test from 'ava';
import { cookieOf, setCookie } from '../../../foundation/http/cookies.ts';

test('a cookie is found by its name, the first of several, and nothing that only looks like it', (t) => {
  const header = 'a=1; svc=x=y ;b; =c; svc=z; xsvc=w';
  t.is(cookieOf(header, 'svc'), 'x=y');
  t.is(cookieOf(header, 'b'), undefined);
  t.is(cookieOf(undefined, 'svc'), undefined);
});

test('a cookie that is set is for the whole host and its own site, and only as readable as it was asked to be', (t) => {
  const cookie = { name: 'svc', value: 'abc-1._~', maxAge: 60 };
  t.is(
    setCookie({ ...cookie, secure: true }),
    'svc=abc-1._~; Path=/; Max-Age=60; SameSite=Lax; Secure; HttpOnly',
  );
  t.is(
    setCookie({ ...cookie, secure: false, readable: true }),
    'svc=abc-1._~; Path=/; Max-Age=60; SameSite=Lax',
  );
});

test('what would need encoding, or end the header, is refused', (t) => {
  for (const value of ['a;b', 'a b', 'a\r\nb', 'ü', '"', '']) {
    const made = () => setCookie({ name: value === '' ? '' : 'svc', value, maxAge: 1, secure: true });
    t.throws(made, { instanceOf: TypeError }, JSON.stringify(value));
  }
});
