import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import net from 'node:net';
import path from 'node:path';
import { ChannelCredentials } from '@grpc/grpc-js';
import type { ExecutionContext } from 'ava';
import { generate } from 'selfsigned';
import { skip } from './services.ts';
import { until } from './until.ts';

/** Not the proxy's own, so that the two can be told apart. */
export const CLIENT_ADDRESS = '127.0.0.2';

/** What a client sends to a proxy. */
export interface ProxiedRequest {
  readonly token?: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** With one it is a POST. */
  readonly body?: string | Buffer;
}

/** A client of a proxy, with a connection for each request. */
export interface ProxyClient {
  /** Sends a request whose answer does not matter. */
  send(where: string, request?: ProxiedRequest): ClientRequest;
  /** Resolves when the headers of the answer are there. */
  open(where: string, request?: ProxiedRequest): Promise<IncomingMessage>;
}

/** Whether the program is there; otherwise the test is skipped, or fails where everything is required. */
export function hasProgram(t: ExecutionContext, program: string): boolean {
  if (existsSync(program)) return true;
  skip(t, `there is no ${program}`);
  return false;
}

/**
 * A certificate of `localhost` in a folder: `gateway.crt`, `gateway.key`, and both of them in `gateway.pem`.
 *
 * @returns the certificate for clients over HTTP, and for those of gRPC
 */
export async function makeCertificate(folder: string) {
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] },
    ],
  });
  await writeFile(path.join(folder, 'gateway.crt'), cert);
  await writeFile(path.join(folder, 'gateway.key'), key);
  await writeFile(path.join(folder, 'gateway.pem'), `${cert}\n${key}`);
  return { ca: cert, credentials: ChannelCredentials.createSsl(Buffer.from(cert)) };
}

/**
 * Runs a proxy until the test ends; it is there when it accepts connections.
 *
 * @throws Error with what it wrote, where it ends instead
 */
export async function runProxy(
  t: ExecutionContext,
  [program, ...args]: readonly [string, ...string[]],
  { folder, port }: { readonly folder: string; readonly port: number },
): Promise<void> {
  const env = { PATH: process.env.PATH, HOME: folder };
  const proxy = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const written: string[] = [];
  for (const output of [proxy.stdout, proxy.stderr])
    output.on('data', (bytes: Buffer) => written.push(bytes.toString()));
  t.teardown(async () => {
    if (proxy.exitCode === null && proxy.kill('SIGTERM')) await once(proxy, 'exit');
  });
  const ended = once(proxy, 'exit').then(() => {
    throw new Error(`${program} has ended: ${written.join('')}`);
  });
  ended.catch(() => {});
  await Promise.race([ended, until(() => accepts(port))]);
}

async function accepts(port: number): Promise<boolean> {
  const socket = net.connect(port, '127.0.0.1');
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isOpen;
}

/** A client at `CLIENT_ADDRESS`, which trusts the certificate of `ca`; without one it speaks plain HTTP. */
export function proxyClient(port: number, ca?: string): ProxyClient {
  const { request } = ca === undefined ? http : https;
  const send: ProxyClient['send'] = (where, { token, type = 'application/json', headers, body } = {}) =>
    request({
      host: '127.0.0.1',
      port,
      localAddress: CLIENT_ADDRESS,
      agent: false,
      ...(ca === undefined ? {} : { servername: 'localhost', ca }),
      method: body === undefined ? 'GET' : 'POST',
      path: where,
      headers: {
        host: 'localhost',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': type }),
        ...headers,
      },
    }).end(body);
  return {
    send,
    async open(where, sent) {
      const [response] = (await once(send(where, sent), 'response')) as [IncomingMessage];
      return response;
    },
  };
}
