import https from 'node:https';
import tls from 'node:tls';
import test from 'ava';
import { generate } from 'selfsigned';
import { listen, openTestEgress, TENANT, textOf } from './kit.ts';

const HOST = 'secure.example.com';

const certificate = generate([{ name: 'commonName', value: HOST }], {
  keyType: 'ec',
  algorithm: 'sha256',
  extensions: [
    { name: 'basicConstraints', cA: true },
    { name: 'subjectAltName', altNames: [{ type: 2, value: HOST }] },
  ],
});

test.before(async () => {
  // For this process alone, which runs this file alone.
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), (await certificate).cert]);
});

async function startSecure(t: Parameters<typeof listen>[0]) {
  const { private: key, cert } = await certificate;
  const names: (string | false | null)[] = [];
  const server = https.createServer({ key, cert }, (request, response) => response.end(request.headers.host));
  server.on('secureConnection', (socket: tls.TLSSocket) => {
    names.push(socket.servername ?? null);
    socket.on('error', () => {});
  });
  server.on('tlsClientError', () => {});
  return { names, ...(await listen(t, server)) };
}

test('the certificate is that of the host which was asked for, and the server hears its name', async (t) => {
  const { port, names } = await startSecure(t);
  const { egress } = await openTestEgress(t, { names: { [HOST]: ['127.0.0.1'] } });
  for (const host of [HOST, `${HOST}.`]) {
    t.is(await textOf(await egress.request(TENANT, { url: `https://${host}:${port}/` })), `${HOST}:${port}`);
  }
  t.deepEqual(names, [HOST], 'both are one origin, with one connection');
});

test('a certificate of another host is refused, although the address is the same', async (t) => {
  const { port } = await startSecure(t);
  const { egress } = await openTestEgress(t, { names: { 'other.example.com': ['127.0.0.1'] } });
  for (const host of ['other.example.com', '127.0.0.1']) {
    await t.throwsAsync(egress.request(TENANT, { url: `https://${host}:${port}/` }), {
      code: 'egress.unreachable',
      message: `${host} has a certificate of another host (ERR_TLS_CERT_ALTNAME_INVALID).`,
    });
  }
});

test('a certificate that nobody vouches for is refused', async (t) => {
  const { private: key, cert } = await generate([{ name: 'commonName', value: HOST }], {
    keyType: 'ec',
    algorithm: 'sha256',
  });
  const server = https.createServer({ key, cert }, (_request, response) => response.end());
  server.on('tlsClientError', () => {});
  const { port } = await listen(t, server);
  const { egress } = await openTestEgress(t, { names: { [HOST]: ['127.0.0.1'] } });
  await t.throwsAsync(egress.request(TENANT, { url: `https://${HOST}:${port}/` }), {
    code: 'egress.unreachable',
    message: /cannot be reached \([A-Z_]*SIGN[A-Z_]*\)/,
  });
});

test('TLS spoken to a plain server, and plain text to a TLS server, is unreachable', async (t) => {
  const { port } = await startSecure(t);
  const { egress } = await openTestEgress(t);
  await t.throwsAsync(egress.request(TENANT, { url: `http://127.0.0.1:${port}/` }), {
    code: 'egress.unreachable',
  });
});
