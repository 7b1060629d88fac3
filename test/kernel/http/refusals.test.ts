import { once } from 'node:events';
import net from 'node:net';
import test from 'ava';
import fc from 'fast-check';
import Type from 'typebox';
import { access } from '../../../kernel/api/access.ts';
import { route } from '../../../kernel/api/route.ts';
import { startTestGateway, type TestGateway } from '../../../testing/index.ts';
import { gate, publicRoute, testPlugin } from '../../support/plugins.ts';
import { connect, exchange, statusOf } from '../../support/raw-http.ts';
import { SEED } from '../../support/sample.ts';
import { until } from '../../support/until.ts';

const rest = gate();
const plugin = testPlugin('things', {
  setup: (scope) =>
    scope.route(
      publicRoute('/thing', () => ({ is: 'here' })),
      publicRoute('/slow', async () => {
        await rest.opened;
        return { is: 'late' };
      }),
      ...(['problem', 'openai'] as const).map((errors) =>
        route({
          method: 'POST',
          path: `/${errors}`,
          summary: 'takes a body',
          access: access.public(),
          errors,
          rateLimit: 'none',
          schema: { body: Type.Object({}) },
          handle: () => ({ read: true }),
        }),
      ),
    ),
});
let gateway: TestGateway;

test.before(async () => {
  gateway = await startTestGateway({ plugins: [plugin], env: { SVC_ANON_RATE_LIMIT_RPM: '1000000' } });
});
test.after.always(() => gateway.stop());

/** One answer of a connection. */
interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Takes apart what a connection has answered, byte by byte as HTTP/1.1 says. @throws Error for what is no answer. */
function answersOf(received: string): readonly RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let left = received; left !== ''; ) {
    const end = left.indexOf('\r\n\r\n');
    const [, status, lines] =
      /^HTTP\/1\.1 (\d{3}) [^\r\n]+((?:\r\n[!-9;-~]+: [^\r\n]*)*)$/.exec(left.slice(0, end)) ?? [];
    if (end < 0 || status === undefined) throw new Error(`no answer: ${JSON.stringify(left)}`);
    const headers = new Headers();
    for (const line of lines!.split('\r\n').slice(1)) {
      headers.append(line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2));
    }
    const start = end + 4;
    const length = Number(headers.get('content-length') ?? 0);
    const body = left.slice(start, start + length);
    if (body.length !== length) throw new Error(`an answer of ${body.length} instead of ${length} bytes`);
    left = left.slice(start + length);
    answers.push({ status: Number(status), headers, body });
  }
  return answers;
}

/** Throws unless a refusal is a problem document with its request id. */
function checkRefusal({ status, headers, body }: RawAnswer): string {
  const problem = JSON.parse(body);
  const id = headers.get('x-request-id');
  if (headers.get('content-type') !== 'application/problem+json') throw new Error(`no problem: ${body}`);
  if (problem.status !== status || problem.instance !== id || !id) throw new Error(`odd problem: ${body}`);
  return problem.code;
}

const NOT_HTTP = 'request.not-http';
const X = 'Host: x';
const BIG = 'x'.repeat(20_000);
for (const [what, lines, status, code] of [
  ['no HTTP', ['hello'], 400, NOT_HTTP],
  ['an unknown method', ['BREW /thing HTTP/1.1', X], 400, NOT_HTTP],
  ['an unknown version', ['GET /thing HTTP/9.9', X], 400, NOT_HTTP],
  ['a NUL in the path', ['GET /\0 HTTP/1.1', X], 400, NOT_HTTP],
  ['a path without a slash', ['GET thing HTTP/1.1', X], 400, NOT_HTTP],
  ['a URL of another scheme', ['GET ftp://x/thing HTTP/1.1', X], 400, NOT_HTTP],
  ['an authority', ['GET example.com:443 HTTP/1.1', X], 400, NOT_HTTP],
  ['a proxy', ['CONNECT example.com:443 HTTP/1.1', X], 405, 'path.method-not-allowed'],
  ['a method that no path takes', ['PROPFIND /thing HTTP/1.1', X], 405, 'path.method-not-allowed'],
  ['an asterisk without OPTIONS', ['GET * HTTP/1.1', X], 404, 'path.not-found'],
  ['an empty segment', ['GET // HTTP/1.1', X], 404, 'path.not-found'],
  ['a broken escape', ['GET /%zz HTTP/1.1', X], 400, 'request.invalid'],
  ['an escape that is no UTF-8', ['GET /thing/%ff HTTP/1.1', X], 400, 'request.invalid'],
  ['no Host', ['GET /thing HTTP/1.1'], 400, NOT_HTTP],
  ['two Hosts', ['GET /thing HTTP/1.1', X, 'host: y'], 400, NOT_HTTP],
  ['an unknown expectation', ['GET /thing HTTP/1.1', X, 'Expect: more'], 417, 'request.expectation'],
  ['a header without a name', ['GET /thing HTTP/1.1', X, ': y'], 400, NOT_HTTP],
  ['a NUL in a header', ['GET /thing HTTP/1.1', X, 'A: \0'], 400, NOT_HTTP],
  ['large headers', ['GET /thing HTTP/1.1', X, `A: ${BIG}`], 431, 'request.headers-too-large'],
  ['a large path', [`GET /${BIG} HTTP/1.1`, X], 431, 'request.headers-too-large'],
  ['two lengths', ['GET /thing HTTP/1.1', X, 'Content-Length: 0', 'Content-Length: 1'], 400, NOT_HTTP],
  ['a negative length', ['GET /thing HTTP/1.1', X, 'Content-Length: -1'], 400, NOT_HTTP],
  [
    'two framings',
    ['POST /problem HTTP/1.1', X, 'Content-Length: 5', 'Transfer-Encoding: chunked'],
    400,
    NOT_HTTP,
  ],
] as const) {
  test(`${what} is ${status}, a problem with a request id`, async (t) => {
    const [answer, ...more] = answersOf(
      await exchange(gateway.url, `${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`),
    );
    t.is(answer?.status, status);
    t.is(checkRefusal(answer!), code);
    t.deepEqual(more, []);
  });
}

test('targets that a server has to take are taken', async (t) => {
  const ask = (first: string) => exchange(gateway.url, `${first}\r\nHost: x\r\nConnection: close\r\n\r\n`);
  t.is(statusOf(await ask('GET http://other.example/thing HTTP/1.1')), 200);
  t.is(statusOf(await ask('GET HTTP://other.example?x HTTP/1.1')), 404);
  t.is(statusOf(await ask('OPTIONS * HTTP/1.1')), 204);
  t.is(statusOf(await ask('GET /thing HTTP/1.1\r\nUpgrade: websocket')), 200);
});

const chunked = (path: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nX-Request-ID: mine\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;

test('a body that stops being HTTP is refused in the words of its route, with the id of its request', async (t) => {
  const [problem] = answersOf(await exchange(gateway.url, `${chunked('/problem')}1\r\n{\r\nzz\r\n`));
  t.is(problem?.status, 400);
  t.is(checkRefusal(problem!), NOT_HTTP);
  t.is(problem!.headers.get('x-request-id'), 'mine');
  const [openai] = answersOf(await exchange(gateway.url, `${chunked('/openai')}1\r\n{\r\nzz\r\n`));
  t.is(JSON.parse(openai!.body).error.code, NOT_HTTP);
  const large = answersOf(
    await exchange(gateway.url, `${chunked('/problem')}1;${'x'.repeat(20_000)}\r\n{\r\n`),
  );
  t.is(checkRefusal(large[0]!), 'request.too-large');
});

test('what follows a request that is still being answered is refused behind its answer', async (t) => {
  const connection = await connect(gateway.url);
  connection.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\nNONSENSE\r\n\r\n');
  connection.write('more nonsense');
  await until(async () => /_in_flight 2\n/.test((await gateway.request('/metrics')).body));
  t.is(connection.received(), '');
  rest.open();
  await connection.closed;
  const answers = answersOf(connection.received());
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 400],
  );
  t.is(checkRefusal(answers[1]!), NOT_HTTP);
});

test('a CONNECT behind a request, or whose client breaks off, does no harm', async (t) => {
  const rest = gate();
  const slow = testPlugin('slow', {
    setup: (scope) =>
      scope.route(
        publicRoute('/slow', async () => {
          await rest.opened;
          return {};
        }),
      ),
  });
  await using own = await startTestGateway({ plugins: [slow] });
  const tunnel = 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n';
  const behind = await connect(own.url);
  behind.write(`GET /slow HTTP/1.1\r\nHost: x\r\n\r\n${tunnel}`);
  await behind.closed;
  t.is(behind.received(), '');
  const { hostname, port } = new URL(own.url);
  for (let count = 0; count < 5; count += 1) {
    const broken = net.connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    broken.write(tunnel);
    const [answer] = await once(broken, 'data');
    t.is(statusOf(String(answer)), 405);
    broken.resetAndDestroy();
  }
  rest.open();
  t.is((await own.request('/slow')).status, 200);
});

test('a refusal is counted, and a scanner cannot fill the log', async (t) => {
  await using scanned = await startTestGateway({ plugins: [plugin] });
  for (let count = 0; count < 20; count += 1) await exchange(scanned.url, `scan ${count}\r\n\r\n`);
  const { body } = await scanned.request('/metrics');
  t.regex(body, /svc_http_requests_total\{method="other",path="unmatched",status="400",[^}]*\} 20\n/);
  const lines = scanned.logs().filter((line) => line.includes(NOT_HTTP));
  t.is(lines.length, 1);
  t.like(JSON.parse(lines[0]!), { level: 'info', status: 400, source: '127.0.0.1', count: 1 });
  // It has neither an identity nor a path.
  const { body: audit } = await scanned.request('/v1/audit-logs');
  t.false(JSON.stringify(audit).includes('scan'));
});

/** Requests that are nearly right: pieces that fit or do not, then a few bytes changed, left out or put in. */
const pieces = {
  before: fc.constantFrom('', '', 'GET /thing HTTP/1.1\r\nHost: x\r\n\r\n'),
  method: fc.constantFrom('GET', 'POST', 'PUT', 'OPTIONS', 'CONNECT', 'PRI', 'get', ''),
  target: fc.constantFrom(
    '/thing',
    '/problem',
    '*',
    '//',
    'http://x/thing',
    'x:443',
    '/%zz',
    '/?a=%',
    '/thing#x',
    '',
  ),
  version: fc.constantFrom('HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/1.1 ', 'http/1.1', ''),
  lines: fc.array(
    fc.constantFrom(
      'Host: x',
      'Host:',
      'Connection: close',
      'Connection: upgrade',
      'Upgrade: h2c',
      'Expect: 100-continue',
      'Expect: y',

      'Content-Length: 2',
      'Content-Length: 99',
      'Content-Length: 1e1',
      'Content-Length: 99999999999999999999',

      'Transfer-Encoding: chunked',
      'Transfer-Encoding: gzip',
      'Content-Type: application/json',
      ' folded: x',
      'A : b',
      `X: ${'x'.repeat(17_000)}`,
      'X-Request-ID: a b',
      'Bad\u007f: x',
      'A: \u00ff',
    ),
    { maxLength: 6 },
  ),
  lineEnd: fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', '\r'),
  body: fc.constantFrom(
    '',
    '{}',
    '2\r\n{}\r\n0\r\n\r\n',
    'ffffffffffffffffff\r\n',
    '-1\r\n',
    '2\r\n{}0',
    'GET /thing HTTP/1.1\r\nHost: x\r\n\r\n',
  ),
  changes: fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }), fc.nat(2)), { maxLength: 3 }),
};

const brokenRequest = fc
  .record(pieces)
  .map(({ before, method, target, version, lines, lineEnd, body, changes }) => {
    const text = [`${method} ${target} ${version}`, ...lines, '', body].join(lineEnd);
    const bytes = [...Buffer.from(before + text, 'latin1')];
    for (const [at, byte, kind] of changes) {
      if (kind === 0) bytes[at % bytes.length] = byte;
      else bytes.splice(at % bytes.length, kind === 1 ? 1 : 0, ...(kind === 1 ? [] : [byte]));
    }
    return Buffer.from(bytes);
  });

test('whatever a client sends gets well-formed answers or a closed connection', async (t) => {
  const { hostname, port } = new URL(gateway.url);
  const send = async (bytes: Buffer, breaksOff: boolean) => {
    const socket = net.connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    socket.on('error', () => {});
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text;
    });
    if (breaksOff) socket.write(bytes, () => socket.resetAndDestroy());
    else socket.end(bytes);
    await once(socket, 'close', { signal: AbortSignal.timeout(30_000) });
    return received;
  };
  const property = fc.asyncProperty(brokenRequest, fc.nat(5), async (bytes, how) => {
    const received = await send(bytes, how === 0);
    if (how === 0) return;
    for (const answer of answersOf(received)) {
      if (answer.status >= 400) checkRefusal(answer);
    }
  });
  await fc.assert(property, { seed: SEED, numRuns: 300 });
  t.is((await gateway.request('/thing')).status, 200);
  t.deepEqual(
    gateway.logs().filter((line) => /"level":"(error|fatal)"/.test(line)),
    [],
  );
});
