import test from 'ava';
import fc from 'fast-check';
import type { JsonObject } from '../../../../../plugins/workflow/contract/graph.ts';
import { StepFailure } from '../../../../../plugins/workflow/contract/node-types.ts';
import { serviceRequest } from '../../../../../plugins/workflow/services/nodes/service-request.ts';
import { anyCodePoint } from '../../../../support/code-points.ts';

const URL_ = 'https://api.example.com/';
const codeOf = (input: JsonObject) => {
  try {
    serviceRequest(input, 'key');
  } catch (error) {
    if (error instanceof StepFailure && !error.isRetryable) return error.code;
    throw error;
  }
  return 'sent';
};

for (const [url, code] of [
  ['https://api.example.com/a', 'sent'],
  ['http://[::1]:8080/', 'sent'],
  ['', 'bad_url'],
  ['/relative', 'bad_url'],
  ['api.example.com', 'bad_url'],
  ['ftp://api.example.com', 'bad_url'],
  ['file:///etc/passwd', 'bad_url'],
  ['javascript:alert(1)', 'bad_url'],
  ['https://user:password@api.example.com', 'bad_url'],
  ['https://user@api.example.com', 'bad_url'],
  ['http://', 'bad_url'],
  [`https://api.example.com/${'x'.repeat(8_192)}`, 'bad_url'],
  [null, 'bad_url'],
  [7, 'bad_url'],
  [{ href: URL_ }, 'bad_url'],
] as const) {
  test(`URL ${JSON.stringify(url).slice(0, 50)}: ${code}`, (t) => {
    t.is(codeOf({ url }), code);
  });
}

for (const [method, body, code] of [
  ['delete', undefined, 'sent'],
  ['', undefined, 'sent'],
  [null, undefined, 'sent'],
  ['PATCH', {}, 'sent'],
  ['DELETE', {}, 'sent'],
  ['GET', {}, 'bad_method'],
  ['head', 'x', 'bad_method'],
  ['CONNECT', undefined, 'bad_method'],
  ['TRACE', undefined, 'bad_method'],
  ['GET /\r\nX: 1', undefined, 'bad_method'],
  [['GET'], undefined, 'bad_method'],
  [1, undefined, 'bad_method'],
] as const) {
  test(`method ${JSON.stringify(method)} ${body === undefined ? 'without' : 'with'} a body: ${code}`, (t) => {
    t.is(codeOf({ url: URL_, method, ...(body !== undefined && { body }) }), code);
  });
}

for (const [title, headers, code] of [
  ['numbers and booleans are text', { a: 1, b: true }, 'sent'],
  ['null leaves a header out', { a: null }, 'sent'],
  ['a line feed', { a: 'x\nHost: evil' }, 'bad_header'],
  ['a carriage return', { a: 'x\r' }, 'bad_header'],
  ['a zero byte', { a: 'x\0' }, 'bad_header'],
  ['letters outside of ISO 8859-1', { a: '語' }, 'bad_header'],
  ['a line feed in a name', { 'a\nb': 'x' }, 'bad_header'],
  ['an empty name', { '': 'x' }, 'bad_header'],
  ['a list', { a: ['x'] }, 'bad_header'],
  ['an object', { a: { b: 1 } }, 'bad_header'],
  ['host', { Host: 'evil' }, 'bad_header'],
  ['content-length', { 'Content-Length': '5' }, 'bad_header'],
  ['transfer-encoding', { 'TRANSFER-Encoding': 'chunked' }, 'bad_header'],
  ['connection', { connection: 'close' }, 'bad_header'],
  ['upgrade', { upgrade: 'h2c' }, 'bad_header'],
  ['too many characters', { a: 'x'.repeat(30_001) }, 'bad_header'],
] as const) {
  test(`headers, ${title}: ${code}`, (t) => {
    t.is(codeOf({ url: URL_, headers }), code);
  });
}

test('a refused header is named, and its value is not', (t) => {
  const error = t.throws(() => serviceRequest({ url: URL_, headers: { 'X-A': 'secret\nvalue' } }, 'key'));
  t.regex(error.message, /x-a/);
  t.false(error.message.includes('secret'));
});

test('headers that are not there change nothing', (t) => {
  for (const headers of [undefined, null, '']) {
    const request = serviceRequest({ url: URL_, ...(headers !== undefined && { headers }) }, 'key');
    t.deepEqual(Object.keys(request.headers).sort(), ['accept', 'idempotency-key']);
  }
  t.is(codeOf({ url: URL_, headers: 'x: y' }), 'bad_header');
});

test('null is a body, and so is false', (t) => {
  t.is(serviceRequest({ url: URL_, body: null }, 'key').body, 'null');
  t.is(serviceRequest({ url: URL_, body: false }, 'key').body, 'false');
  t.is(serviceRequest({ url: URL_, body: 'text' }, 'key').body, '"text"');
});

test('whatever the data hold, a request either fails for good or has headers that end where they should', (t) => {
  const anything = fc.oneof(
    fc.string({ unit: anyCodePoint }),
    fc.string(),
    fc.jsonValue(),
  ) as fc.Arbitrary<never>;
  const property = fc.property(
    fc.dictionary(fc.string({ maxLength: 20 }), anything, { maxKeys: 5 }),
    anything,
    (headers, method) => {
      try {
        const request = serviceRequest({ url: URL_, headers, method }, 'key');
        for (const [name, value] of Object.entries(request.headers)) {
          // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
          t.notRegex(`${name}${value}`, /[\u0000-\u0008\u000a-\u001f\u007f]/);
          t.not(name, 'host');
        }
        t.is(request.headers['idempotency-key'], 'key');
      } catch (error) {
        if (!(error instanceof StepFailure) || error.isRetryable) throw error;
      }
    },
  );
  fc.assert(property, { numRuns: 300 });
});
