import test from 'ava';
import fc from 'fast-check';
import { homeOf, returnPath } from '../../../../plugins/channels/services/return-to.ts';

const ALLOWED: readonly (readonly [wanted: string, path: string])[] = [
  ['/', '/'],
  ['/chat', '/chat'],
  ['/chat?a=1&b=%2F#top', '/chat?a=1&b=%2F#top'],
  ['/a/../b', '/b'],
  ['/%2F%2Fevil.example', '/%2F%2Fevil.example'],
  ['/%5Cevil.example', '/%5Cevil.example'],
  ['/a//b', '/a//b'],
  ['/?next=//evil.example', '/?next=//evil.example'],
  ['/聊天', '/%E8%81%8A%E5%A4%A9'],
  ['/@evil.example', '/@evil.example'],
];

test('a path of this host is where a login leads', (t) => {
  for (const [wanted, path] of ALLOWED) t.is(returnPath(wanted), path, wanted);
});

test('what is no path of this host is the home page', (t) => {
  const others = [
    undefined,
    '',
    'chat',
    '?a',
    '#a',
    ' /chat',
    '\t/chat',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\\/evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '/\r/evil.example',
    '/\0/evil.example',
    '/a\\..\\evil',

    '/.//evil.example',
    '/..//evil.example',
    '/a/..//evil.example',
    '/%2e%2e//evil.example',
    '/./\\evil.example',

    'https://evil.example/',
    'javascript:alert(1)',
    'data:text/html,x',
    'http:/evil.example',
    'https:evil.example',
    '/\ud800',
    `/${'a'.repeat(2_048)}`,
    `/${'漢'.repeat(700)}`,
  ];
  for (const wanted of others) t.is(returnPath(wanted), '/', JSON.stringify(wanted));
});

test('home is where the gateway begins on its host', (t) => {
  const homes = {
    'https://a.example': '/',
    'https://a.example/': '/',
    'https://a.example/gateway': '/gateway/',
    'https://a.example/b/c/': '/b/c/',
    'https://a.example//evil.example': '/',
  };
  for (const [publicUrl, home] of Object.entries(homes)) {
    t.is(homeOf(publicUrl), home, publicUrl);
    t.is(returnPath('//evil.example', homeOf(publicUrl)), home, publicUrl);
    t.is(returnPath('/', homeOf(publicUrl)), '/', publicUrl);
  }
});

test('a browser never leaves the host, whatever is asked for, and the place stays as it is when it is asked for again', (t) => {
  const pieces = fc.constantFrom(
    '/',
    '\\',
    '.',
    '..',
    '%2f',
    '%5c',
    '\t',
    '@',
    ':',
    'evil.example',
    '?',
    '#',
    ' ',
    'http:',
    '\u2028',
  );
  const texts = fc.oneof(
    fc.array(pieces, { maxLength: 8 }).map((parts) => parts.join('')),
    fc.string(),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const path = returnPath(text);
      const at = new URL(path, 'https://gateway.example/auth/channel/feishu/callback');
      return (
        at.host === 'gateway.example' &&
        at.protocol === 'https:' &&
        /^\/(?![/\\])[!-~]*$/.test(path) &&
        returnPath(path) === path
      );
    }),
    { numRuns: 3_000 },
  );
  t.pass();
});
