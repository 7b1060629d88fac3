import test from 'ava';
import fc from 'fast-check';
import {
  compileRules,
  type EgressAction,
  evaluate,
  formatHostPattern,
  parseHostPattern,
} from '../../../foundation/egress/rule.ts';
import { parseTarget } from '../../../foundation/egress/target.ts';

interface Said {
  readonly hostPattern: string;
  readonly pathPrefix: string;
  readonly action: EgressAction;
  readonly priority: number;
}

/** `deny api.example.com/v1 5` */
function rule(text: string): Said {
  const [action, place = '', priority = '0'] = text.split(' ');
  const slash = place.indexOf('/');
  return {
    action: action as EgressAction,
    hostPattern: slash < 0 ? place : place.slice(0, slash),
    pathPrefix: slash < 0 ? '/' : place.slice(slash),
    priority: Number(priority),
  };
}

const verdict = (rules: readonly string[], url: string, otherwise: EgressAction) =>
  evaluate(compileRules(rules.map(rule)), parseTarget(url), otherwise);
const action = (rules: readonly string[], url: string, otherwise: EgressAction = 'deny') =>
  verdict(rules, url, otherwise).action;

test('a host pattern is a name, its subdomains, or everything, with or without a port', (t) => {
  const cases: readonly (readonly [string, string, EgressAction])[] = [
    ['api.example.com', 'http://api.example.com/', 'allow'],
    ['api.example.com', 'http://API.example.com./', 'allow'],
    ['api.example.com', 'http://x.api.example.com/', 'deny'],
    ['api.example.com', 'http://example.com/', 'deny'],
    ['*.example.com', 'http://a.example.com/', 'allow'],
    ['*.example.com', 'http://a.b.example.com/', 'allow'],
    ['*.example.com', 'http://example.com/', 'deny'],
    ['*.example.com', 'http://badexample.com/', 'deny'],
    ['*.example.com', 'http://example.com.evil.org/', 'deny'],
    ['*', 'http://anything.example/', 'allow'],
    ['*', 'http://8.8.8.8/', 'allow'],
    ['*:8443', 'https://a.example:8443/', 'allow'],
    ['*:8443', 'https://a.example/', 'deny'],
    ['a.example:443', 'https://a.example/', 'allow'],
    ['a.example:443', 'http://a.example/', 'deny'],
    ['bücher.example', 'http://xn--bcher-kva.example/', 'allow'],
    ['8.8.8.8', 'http://0x8080808/', 'allow'],
    ['8.8.8.8', 'http://[::ffff:8.8.8.8]/', 'allow'],
    ['[2001:4860:0::8888]', 'http://[2001:4860::8888]/', 'allow'],
  ];
  for (const [pattern, url, expected] of cases) {
    t.is(action([`allow ${pattern}`], url), expected, `${pattern} ${url}`);
  }
});

test('patterns that speak of nothing are refused, good ones have one spelling', (t) => {
  const bad = [
    '',
    '*.',
    '**',
    '*.*',
    'a.*',
    '*a.example',
    'http://a',
    'a/b',
    'a:0',
    'a:65536',
    'a:',
    'a b',
    'a@b',
    '[::1',
    '::1',
  ];
  for (const text of [
    ...bad,
    '*.[::1]',
    '*.8.8.8.8',
    'a..b',
    `${'a'.repeat(64)}.b`,
    'a'.repeat(300),
    'a?b',
    'a#b',
    'a\\b',
  ]) {
    t.is(parseHostPattern(text), undefined, text);
  }
  const spellings = {
    'API.Example.com.': 'api.example.com',
    '*.Bücher.example:81': '*.xn--bcher-kva.example:81',
    '[::1]:80': '[::1]:80',
  };
  for (const [text, stored] of Object.entries({
    ...spellings,
    '*': '*',
    '*:80': '*:80',
    '0x7f.1': '127.0.0.1',
  })) {
    const pattern = parseHostPattern(text)!;
    t.is(formatHostPattern(pattern), stored, text);
    t.deepEqual(parseHostPattern(stored), pattern, text);
  }
});

test('a path prefix means whole segments of the path that the other server sees', (t) => {
  const cases: readonly (readonly [string, string, EgressAction])[] = [
    ['/v1', '/v1', 'allow'],
    ['/v1', '/v1/', 'allow'],
    ['/v1', '/v1/x?y=/admin', 'allow'],
    ['/v1', '/v1x', 'deny'],
    ['/v1', '/v', 'deny'],
    ['/v1', '/', 'deny'],
    ['/v1/', '/v1', 'allow'],
    ['/v1/', '/v1/x', 'allow'],
    ['/', '/anything', 'allow'],
    ['/v1', '/v1/../admin', 'deny'],
    ['/v1', '/v1/%2e%2e/admin', 'deny'],
    ['/v1', '/v1/%2E./admin', 'deny'],
    ['/v1', '/v1/..%2fadmin', 'deny'],
    ['/v1', '/v1/%2e%2e%2fadmin', 'deny'],
    ['/v1', '/v1/..%5cadmin', 'deny'],
    ['/v1', '/v1/..\\admin', 'deny'],
    ['/v1', '/v1/%252e%252e/admin', 'deny'],
    ['/v1', '/v1/%25252e%25252e%25252fadmin', 'deny'],
    // Four times; what is written so five times, no server reads as dots.
    ['/v1', '/v1/%2525252e%2525252e/admin', 'deny'],
    ['/v1', '/v1/%252525252e%252525252e/admin', 'allow'],
    ['/v1', '/v1/..;x=1/admin', 'deny'],
    ['/v1', '/v1/x/..;/..;/admin', 'deny'],
    ['/v1', '/admin/..%2fv1', 'deny'],
    ['/v1', '//v1/x', 'deny'],
    ['/v1', '/v1//x', 'allow'],
    ['/v1', '/v1/a%2fb', 'allow'],
    ['/v1', '/%761/x', 'deny'],
    ['/a b', '/a%20b/c', 'allow'],
    ['/p/g%2Fq', '/p/g%2Fq/x', 'allow'],
    ['/p/g%2Fq', '/p/g/q', 'deny'],
    ['/ä', '/%C3%A4/x', 'allow'],
    ['/ä', '/%c3%a4/x', 'allow'],
  ];
  for (const [prefix, path, expected] of cases) {
    const pathPrefix = new URL(`http://x${prefix}`).pathname;
    const rules = compileRules([{ hostPattern: '*', pathPrefix, action: 'allow', priority: 0 }]);
    t.is(
      evaluate(rules, parseTarget(`http://a.example${path}`), 'deny').action,
      expected,
      `${prefix} ${path}`,
    );
  }
});

test('a denied path stays denied however it is written', (t) => {
  const paths = [
    '/admin',
    '/admin/x',
    '/%61dmin',
    '/v1/%2e%2e/admin',
    '/v1/..%2Fadmin',
    '//admin',
    '/./admin',
    '/admin;x=1',
  ];
  for (const path of [...paths, '/v1/..%5c..%5cadmin', '/%2561dmin', '/x/..;/admin', '/v1%2f..%2fadmin']) {
    t.is(action(['deny */admin', 'allow *'], `http://a.example${path}`, 'allow'), 'deny', path);
  }
  for (const path of ['/%C3%A4', '/%c3%a4', '/%C3%a4', '/%25c3%25A4', '/x/..%2f%c3%a4'])
    t.is(action(['deny */%C3%A4', 'allow *'], `http://a.example${path}`, 'allow'), 'deny', path);
  t.is(action(['deny */admin'], 'http://a.example/administrator', 'allow'), 'allow');
});

test('the highest priority decides, then a deny, and nothing means the default', (t) => {
  const url = 'http://api.example.com/v1/x';
  t.is(action(['deny * 1', 'allow api.example.com 2'], url), 'allow');
  t.is(action(['deny * 2', 'allow api.example.com 1'], url), 'deny');
  t.is(action(['allow api.example.com/v1 0', 'deny * 0'], url), 'deny');
  t.is(action(['deny * -1', 'allow api.example.com'], url, 'allow'), 'allow');
  t.deepEqual(verdict(['deny other.example'], url, 'allow'), { action: 'allow', byRule: false });
  t.deepEqual(verdict(['allow other.example'], url, 'deny'), { action: 'deny', byRule: false });
  t.deepEqual(verdict([], url, 'deny'), { action: 'deny', byRule: false });
  t.deepEqual(verdict(['deny *'], url, 'allow'), { action: 'deny', byRule: true });
});

const host = fc.constantFrom('a.example', 'b.a.example', 'c.b.a.example', 'example', 'other.test');
const pattern = fc.oneof(fc.constantFrom('*', '*.example', '*.a.example', '*:80', 'a.example:81'), host);
const path = fc
  .array(fc.constantFrom('', 'v1', 'v2', '..', '.', '%2e%2e', '%2f', 'admin', '%61', ';x', '%252e'), {
    maxLength: 6,
  })
  .map((segments) => `/${segments.join('/')}`);
const said = fc.record({
  hostPattern: pattern,
  pathPrefix: path.map((text) => new URL(`http://x${text}`).pathname),
  action: fc.constantFrom<EgressAction>('allow', 'deny'),
  priority: fc.integer({ min: -2, max: 2 }),
});
const request = fc.record({ host, path, port: fc.constantFrom(80, 81) });
const anyAction = fc.constantFrom<EgressAction>('allow', 'deny');

test('the order in which rules were made does not matter', (t) => {
  fc.assert(
    fc.property(fc.array(said, { maxLength: 8 }), request, anyAction, (rules, asked, otherwise) => {
      const one = evaluate(compileRules(rules), asked, otherwise);
      const other = evaluate(compileRules([...rules].reverse()), asked, otherwise);
      return one.action === other.action;
    }),
  );
  t.pass();
});

test('one more deny never allows, one more allow never denies', (t) => {
  fc.assert(
    fc.property(
      fc.array(said, { maxLength: 6 }),
      said,
      request,
      anyAction,
      (rules, more, asked, otherwise) => {
        const before = evaluate(compileRules(rules), asked, otherwise).action;
        const after = evaluate(compileRules([...rules, more]), asked, otherwise).action;
        return after === before || after === more.action;
      },
    ),
    { numRuns: 500 },
  );
  t.pass();
});

test('an allowed request is allowed for every server, whatever it decodes', (t) => {
  const read = (text: string): string => {
    let decoded = text;
    for (let round = 0; round < 3; round += 1) decoded = decodeURIComponent(decoded);
    return new URL(`http://x${decoded.replace(/;[^/]*/g, '').replace(/\/{2,}/g, '/')}`).pathname;
  };
  const rules = compileRules([{ hostPattern: '*', pathPrefix: '/v1', action: 'allow', priority: 0 }]);
  let allowed = 0;
  fc.assert(
    fc.property(request, (asked) => {
      const seen = new URL(`http://x${asked.path}`).pathname;
      if (evaluate(rules, { ...asked, path: seen }, 'deny').action === 'deny') return true;
      allowed += 1;
      return /^\/v1(\/|$)/.test(read(seen)) && /^\/v1(\/|$)/.test(seen);
    }),
    { numRuns: 3000 },
  );
  t.true(allowed > 50);
});
