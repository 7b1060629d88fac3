import test from 'ava';
import { endToEnd, requestHeaders, withoutCredentials } from '../../../foundation/egress/headers.ts';

test('fields of the connection and of the client are left out, defaults are added', (t) => {
  const sent = requestHeaders({
    Accept: 'application/json',
    'X-Many': ['a', 'b'],
    'X-None': undefined,
    Connection: 'keep-alive, X-Hop',
    'X-Hop': '1',
    'Keep-Alive': 'timeout=5',
    'Proxy-Authorization': 'Basic x',
    'Transfer-Encoding': 'chunked',
    TE: 'trailers',
    Upgrade: 'websocket',
    'Content-Length': '5',
    Expect: '100-continue',
  });
  t.deepEqual(sent, {
    accept: 'application/json',
    'accept-encoding': 'gzip, br',
    'user-agent': 'agent-gateway',
    'x-many': ['a', 'b'],
  });
  t.deepEqual(endToEnd({ connection: 'x-a', 'x-a': '1', 'x-b': '2', trailer: 'x' }), { 'x-b': '2' });
});

test('a field that would become two, or another request, is malformed; its value is not repeated', (t) => {
  const bad: readonly Record<string, string>[] = [
    { 'x-a': 'secret\r\nx-b: 1' },
    { 'x-a': 'secret\n' },
    { 'x-a': 'secret\0' },
    { 'x-a': 'secret\u0100' },
    { 'x-a\r\nx-b': 'secret' },
    { 'x a': 'secret' },
    { 'x:a': 'secret' },
    { '': 'secret' },
    { Host: 'secret.example' },
    { 'x-a': 'x'.repeat(40_000) },
    Object.fromEntries(Array.from({ length: 129 }, (_, index) => [`x-${index}`, 'secret'])),
  ];
  for (const headers of bad) {
    const error = t.throws(
      () => requestHeaders(headers),
      { code: 'egress.malformed' },
      JSON.stringify(headers).slice(0, 60),
    );
    t.false(error?.message.includes('secret'));
  }
  t.throws(() => requestHeaders({ 'x-a': 7 as never }), { code: 'egress.malformed' });
});

test('nothing that is a credential travels to another origin', (t) => {
  const credentials = [
    'authorization',
    'cookie',
    'x-api-key',
    'api-key',
    'x-auth-token',
    'x-amz-security-token',
    'private-token',
  ];
  const more = [
    'x-goog-api-key',
    'ocp-apim-subscription-key',
    'mcp-session-id',
    'x-hub-signature-256',
    'x-secret',
    'password',
  ];
  const kept = {
    accept: '*/*',
    'content-type': 'text/plain',
    'user-agent': 'x',
    traceparent: 'x',
    'accept-language': 'de',
  };
  const fields = Object.fromEntries([...credentials, ...more].map((name) => [name, 'x']));
  t.deepEqual(withoutCredentials({ ...fields, ...kept }), kept);
});
