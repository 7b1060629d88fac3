import net, { type AddressInfo } from 'node:net';
import tls from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { generate } from 'selfsigned';
import { systemClock } from '../../../../foundation/base/clock.ts';
import { reachDatabase } from '../../../../foundation/data/database.ts';
import { silent } from '../../../support/silent.ts';

const certificateOf = (host: string) =>
  generate([{ name: 'commonName', value: host }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: host }] },
    ],
  });
const own = await certificateOf('localhost');
const foreign = await certificateOf('other.example.com');
const untrusted = await certificateOf('localhost');

test.before(() => {
  // For this process, which runs this file alone.
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), own.cert, foreign.cert]);
});

/** What a MySQL server says first: version 10 of the protocol, and that it can do TLS. */
const GREETING = Buffer.concat([
  Buffer.from('\x0a8.0.0\0\x01\0\0\0saltsalt\0', 'latin1'),
  // LONG_PASSWORD, CONNECT_WITH_DB, PROTOCOL_41, SSL, SECURE_CONNECTION; PLUGIN_AUTH above them.
  Buffer.from([0x09, 0x8a, 0x2d, 0x02, 0x00, 0x08, 0x00, 21]),
  Buffer.from(`${'\0'.repeat(10)}saltsaltsalt\0mysql_native_password\0`, 'latin1'),
]);
/** With its header, before TLS begins. */
const SSL_REQUEST_BYTES = 36;

/** A server that ends each connection at the login, which it keeps. */
async function startServer(t: ExecutionContext, { cert, private: key }: Awaited<typeof own>) {
  const logins: Buffer[] = [];
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    socket.write(Buffer.concat([Buffer.from([GREETING.length, 0, 0, 0]), GREETING]));
    socket.once('data', (bytes) => {
      socket.pause();
      socket.unshift(bytes.subarray(SSL_REQUEST_BYTES));
      const secure = new tls.TLSSocket(socket, { isServer: true, cert, key });
      secure.on('error', () => {});
      secure.once('data', (login) => {
        logins.push(login);
        socket.destroy();
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return { logins, port: (server.address() as AddressInfo).port };
}

const reach = (port: number, mode: string) =>
  reachDatabase({
    driver: 'mysql',
    ...silent,
    clock: systemClock,
    url: `mysql://gateway:secret@localhost:${port}/gateway?ssl-mode=${mode}`,
  });

const REFUSED = [
  ['VERIFY_IDENTITY', 'of another server', foreign, /does not match certificate's altnames/],
  ['VERIFY_IDENTITY', 'that nobody vouches for', untrusted, /self-signed certificate/],
  ['VERIFY_CA', 'that nobody vouches for', untrusted, /self-signed certificate/],
] as const;
for (const [mode, whose, certificate, message] of REFUSED) {
  test(`ssl-mode=${mode} sends no login to a server with a certificate ${whose}`, async (t) => {
    const { logins, port } = await startServer(t, certificate);
    await t.throwsAsync(reach(port, mode), { message });
    t.is(logins.length, 0);
  });
}

const ACCEPTED = [
  ['VERIFY_IDENTITY', 'of this server', own],
  ['VERIFY_CA', 'of another server', foreign],
  ['REQUIRED', 'that nobody vouches for', untrusted],
] as const;
for (const [mode, whose, certificate] of ACCEPTED) {
  test(`ssl-mode=${mode} takes a certificate ${whose}`, async (t) => {
    const { logins, port } = await startServer(t, certificate);
    await t.throwsAsync(reach(port, mode));
    t.true(logins.some((login) => login.includes('gateway')));
  });
}
