import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ChannelCredentials } from '@grpc/grpc-js';
import test, { type ExecutionContext } from 'ava';
import { generate } from 'selfsigned';
import { systemClock } from '../../../foundation/base/clock.ts';
import { openTls, type TlsFiles } from '../../../foundation/grpc/tls.ts';
import { manualClock, startTestGateway } from '../../../testing/index.ts';
import { testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';
import { OTHER_PROTO, pingService, startGrpc } from './kit.ts';

interface Pair {
  readonly cert: string;
  readonly key: string;
}

async function certificate(name: string, ca?: Pair): Promise<Pair> {
  const made = await generate([{ name: 'commonName', value: name }], {
    keySize: 2048,
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: ca === undefined },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
    ...(ca === undefined ? {} : { ca }),
  } as never);
  return { cert: made.cert, key: made.private };
}

async function filesOf(t: ExecutionContext, pair: Pair, clientCa?: string): Promise<TlsFiles> {
  const folder = await mkdtemp(path.join(tmpdir(), 'grpc-tls-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const files = { cert: path.join(folder, 'tls.crt'), key: path.join(folder, 'tls.key') };
  await writeFile(files.cert, pair.cert);
  await writeFile(files.key, pair.key);
  if (clientCa === undefined) return files;
  await writeFile(path.join(folder, 'ca.crt'), clientCa);
  return { ...files, clientCa: path.join(folder, 'ca.crt') };
}

const trusting = (ca: string, own?: Pair) =>
  ChannelCredentials.createSsl(
    Buffer.from(ca),
    own === undefined ? null : Buffer.from(own.key),
    own === undefined ? null : Buffer.from(own.cert),
  );

/** The name in the certificates; an address cannot be asked for. */
const channel = { 'grpc.ssl_target_name_override': 'localhost' };
const TIMEOUT = { timeout: 5000 };

test('with a certificate connections are encrypted, and others get nowhere', async (t) => {
  const pair = await certificate('server');
  await using grpc = await startGrpc({ server: { tls: await filesOf(t, pair) } });
  t.is((await grpc.client({ channel, credentials: trusting(pair.cert) }).call('GetNote')).code, 'OK');
  t.not((await grpc.client().call('GetNote', {}, { timeout: 1500 })).code, 'OK');
  const stranger = await certificate('stranger');
  t.is(
    (await grpc.client({ channel, credentials: trusting(stranger.cert) }).call('GetNote', {}, TIMEOUT)).code,
    'UNAVAILABLE',
  );
});

test('with an authority only clients that it signed are served, and they need a credential as well', async (t) => {
  const pair = await certificate('server');
  const authority = await certificate('authority');
  const signed = await certificate('client', authority);
  const stranger = await certificate('stranger');
  await using grpc = await startGrpc({ server: { tls: await filesOf(t, pair, authority.cert) } });
  const as = (own?: Pair, token?: null) =>
    grpc.client({ channel, credentials: trusting(pair.cert, own), ...(token === null ? { token } : {}) });
  t.is((await as(signed).call('GetNote', {}, TIMEOUT)).code, 'OK');
  t.is((await as(signed, null).call('GetNote', {}, TIMEOUT)).code, 'UNAUTHENTICATED');
  t.is((await as(stranger).call('GetNote', {}, TIMEOUT)).code, 'UNAVAILABLE');
  t.is((await as().call('GetNote', {}, TIMEOUT)).code, 'UNAVAILABLE');
  const refused = () => grpc.logs().filter((line) => line.includes('the TLS handshake failed'));
  await until(() => refused().length > 0);
  t.regex(refused()[0]!, /"level":"warn".*"reason":"DEPTH_ZERO_SELF_SIGNED_CERT".*"count":1/);
});

test('new files are taken over without a restart; files that do not fit are not', async (t) => {
  const first = await certificate('first');
  const second = await certificate('second');
  const files = await filesOf(t, first);
  const lines: string[] = [];
  const log = {
    info: (_: object, text: string) => lines.push(text),
    warn: (fields: { err: Error }, text: string) => lines.push(`${text}: ${fields.err.message}`),
  } as never;
  const tls = await openTls(files, { log, clock: systemClock }, 20);
  t.teardown(() => tls.close());
  const current = () => String((tls.credentials._getSecureContextOptions() as { cert: Buffer }).cert);
  t.is(current(), first.cert);
  await writeFile(files.key, 'nonsense');
  await until(() => lines.length === 1, 10_000);
  t.regex(lines[0]!, /the last good ones stay: .*are no certificate and its key/);
  t.is(current(), first.cert);
  await writeFile(files.key, second.key);
  await writeFile(files.cert, second.cert);
  await until(() => current() === second.cert, 10_000);
  t.true(lines.includes('the gRPC server has taken over changed TLS files'));
});

test('a certificate whose time is over is named in the log, once', async (t) => {
  const files = await filesOf(t, await certificate('first'));
  const next = await certificate('second');
  const lines: string[] = [];
  const logged = (_: object, text: string) => lines.push(text);
  const clock = manualClock(Date.now());
  const tls = await openTls(files, { log: { info: logged, warn: logged } as never, clock }, 10);
  t.teardown(() => tls.close());
  t.deepEqual(lines, []);
  clock.advance(10 * 366 * 86_400_000);
  await until(() => lines.length > 0);
  await writeFile(files.cert, next.cert);
  await writeFile(files.key, next.key);
  // Between the two the files do not fit together.
  const others = () => lines.filter((line) => !line.includes('cannot be used'));
  await until(() => others().length >= 3);
  t.deepEqual(others(), [
    'the certificate of the gRPC server is not valid now',
    'the gRPC server has taken over changed TLS files',
    'the certificate of the gRPC server is not valid now',
  ]);
});

test('the certificate of a running server changes for new connections, and open ones go on', async (t) => {
  const first = await certificate('first');
  const second = await certificate('second');
  const files = await filesOf(t, first);
  await using grpc = await startGrpc({ server: { tls: files, tlsInterval: 50 } });
  const before = grpc.client({ channel, credentials: trusting(first.cert) });
  const chat = before.open('Chat');
  chat.send({ text: 'a' });
  await chat.messages.next();
  await writeFile(files.key, second.key);
  await writeFile(files.cert, second.cert);
  await until(
    async () =>
      (await grpc.client({ channel, credentials: trusting(second.cert) }).call('GetNote', {}, TIMEOUT))
        .code === 'OK',
    20_000,
  );
  chat.send({ text: 'b' });
  t.is((await chat.messages.next()).value.text, 'echo b');
  t.is(
    (await grpc.client({ channel, credentials: trusting(first.cert) }).call('GetNote', {}, TIMEOUT)).code,
    'UNAVAILABLE',
  );
});

test('files that cannot be read or used stop the start, and they and their variables are named', async (t) => {
  const pair = await certificate('server');
  const files = await filesOf(t, pair);
  await t.throwsAsync(openTls({ ...files, key: '/nowhere/tls.key', clientCa: '/nowhere/ca' }, {} as never), {
    name: 'ConfigurationError',
    message:
      'SVC_GRPC_TLS_KEY: /nowhere/tls.key cannot be read (ENOENT)\nSVC_GRPC_TLS_CLIENT_CA: /nowhere/ca cannot be read (ENOENT)',
  });
  await t.throwsAsync(openTls({ ...files, clientCa: files.key }, {} as never), {
    message: /^SVC_GRPC_TLS_CLIENT_CA: .*tls.key holds no certificate/,
  });
  const clientCa = `${files.key}.ca`;
  await writeFile(clientCa, `${pair.cert}\n${pair.cert.slice(0, -30)}`);
  await t.throwsAsync(openTls({ ...files, clientCa }, {} as never), {
    message: /^SVC_GRPC_TLS_CLIENT_CA: .*tls.key.ca holds no certificate, or one that is broken/,
  });
  await t.throwsAsync(
    startTestGateway({
      plugins: [testPlugin('pings', { setup: (scope) => scope.grpc(pingService('a')) })],
      env: { SVC_GRPC_TLS_CERT: '/nowhere/tls.crt', SVC_GRPC_TLS_KEY: files.key },
    }),
    { message: 'pings: SVC_GRPC_TLS_CERT: /nowhere/tls.crt cannot be read (ENOENT)' },
  );
  const other = await certificate('other');
  await writeFile(files.key, other.key);
  await using grpc = await startGrpc({ open: false, server: { tls: files } });
  await t.throwsAsync(grpc.server.open('notes'), {
    message:
      /^SVC_GRPC_TLS_CERT: .*tls.crt and .*tls.key \(SVC_GRPC_TLS_KEY\) are no certificate and its key/,
  });
});

test('a gateway with a certificate serves lazy services over TLS', async (t) => {
  const pair = await certificate('server');
  const { cert, key } = await filesOf(t, pair);
  const lazy = { ...pingService('a'), lazy: true };
  const gateway = await startTestGateway({
    plugins: [testPlugin('pings', { setup: (scope) => scope.grpc(lazy) })],
    env: { SVC_GRPC_TLS_CERT: cert, SVC_GRPC_TLS_KEY: key },
  });
  t.teardown(gateway.stop);
  const service = { proto: OTHER_PROTO, service: lazy.service, channel };
  const trusted = gateway.grpc({ ...service, credentials: trusting(pair.cert) });
  t.is((await trusted.call('Ping')).message.from, 'a');
  t.is((await gateway.grpc(service).call('Ping', {}, TIMEOUT)).code, 'UNAVAILABLE');
});
