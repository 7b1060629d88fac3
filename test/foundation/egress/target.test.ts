import test from 'ava';
import { parseTarget } from '../../../foundation/egress/target.ts';

test('a host has one spelling, a port its default, and a path no dot segments', (t) => {
  const cases: readonly (readonly [string, string, number, string])[] = [
    ['http://Example.COM', 'example.com', 80, '/'],
    ['https://example.com/a/../b?x#y', 'example.com', 443, '/b'],
    ['https://example.com.:8443/v1/%2e%2e/admin', 'example.com', 8443, '/admin'],
    ['http://bücher.example/', 'xn--bcher-kva.example', 80, '/'],
    ['http://ｅxample.com/', 'example.com', 80, '/'],
    ['http://ex%61mple.com/', 'example.com', 80, '/'],
    ['http://a_b.example/', 'a_b.example', 80, '/'],
    ['http://[2001:DB8::0:1]:81/', '2001:db8::1', 81, '/'],
    ['http://1.2.3.4./', '1.2.3.4', 80, '/'],
    ['http://[::ffff:1.2.3.4]/', '1.2.3.4', 80, '/'],
    ['http:\\\\example.com\\x', 'example.com', 80, '/x'],
  ];
  for (const [url, host, port, path] of cases) t.like(parseTarget(url), { host, port, path }, url);
  t.is(parseTarget('https://example.com.:8443/').url.origin, 'https://example.com:8443');
  t.is(parseTarget(new URL('http://example.com/')).host, 'example.com');
});

test('what cannot be requested is malformed, and the error does not repeat it', (t) => {
  const bad = [
    '',
    'example.com',
    '/path',
    'ftp://example.com/secret',
    'file:///etc/secret',
    'data:text/plain,secret',
    'javascript:secret',
    'http://user@example.com/',
    'http://user:secret@example.com/',
    'http://:secret@example.com/',
    'http://example.com../secret',
    'http://a..b/secret',
    'http://exa mple.com/',
    'http://[fe80::1%25eth0]/',
    'http://256.1.1.1/',
    'http://example.com:65536/',
    `http://${'a'.repeat(64)}.example/secret`,
    `http://${'a.'.repeat(130)}example/secret`,
    'http://a!b.example/secret',
    `http://example.com/${'x'.repeat(8200)}`,
  ];
  for (const url of bad) {
    const error = t.throws(() => parseTarget(url), { code: 'egress.malformed' }, url);
    t.false(error?.message.includes('secret'), url);
  }
});
