import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ExecutionContext } from 'ava';
import { Redis } from 'ioredis';
import { freePort } from '../../support/free-port.ts';
import { skip } from '../../support/services.ts';
import { until } from '../../support/until.ts';

/** A Redis server of one test, which may be killed, frozen and started again on the same port. */
export interface OwnRedis {
  readonly port: number;
  /** A client that connects when it is first used; closed with the test. */
  client(): Redis;
  start(): Promise<void>;
  kill(): Promise<void>;
  freeze(): void;
  thaw(): void;
}

/**
 * Starts a Redis server without persistence on a free port; it ends with the test. Where none is installed, the result
 * is `undefined` and the test passes as skipped, or fails with `REQUIRE_SERVICES=1`.
 */
export async function startOwnRedis(
  t: ExecutionContext,
  more: readonly string[] = [],
): Promise<OwnRedis | undefined> {
  if (spawnSync('redis-server', ['--version']).status !== 0) {
    skip(t, 'redis-server is not installed');
    return undefined;
  }
  const folder = await mkdtemp(path.join(tmpdir(), 'own-redis-'));
  const port = await freePort();
  const clients: Redis[] = [];
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    const args = [
      '--port',
      `${port}`,
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--dir',
      folder,
      '--daemonize',
      'no',
      ...more,
    ];
    const started = spawn('redis-server', args, { stdio: 'ignore' });
    // Whatever else took the port would answer in its place.
    const failure = new Promise<never>((_, reject) => {
      started.once('error', reject);
      started.once('exit', (code) => reject(new Error(`redis-server at port ${port} ended with ${code}`)));
    });
    failure.catch(() => {});
    server = started;
    await Promise.race([until(() => answers(port), 10_000), failure]);
  }

  async function kill(): Promise<void> {
    const running = server;
    server = undefined;
    if (running === undefined || running.exitCode !== null) return;
    const exited = new Promise((resolve) => running.once('exit', resolve));
    running.kill('SIGKILL');
    await exited;
  }

  t.teardown(async () => {
    for (const client of clients) client.disconnect();
    await kill();
    await rm(folder, { recursive: true, force: true });
  });
  await start();
  return {
    port,
    client() {
      const client = new Redis({ host: '127.0.0.1', port, lazyConnect: true });
      client.on('error', () => {});
      clients.push(client);
      return client;
    },
    start,
    kill,
    freeze: () => server?.kill('SIGSTOP'),
    thaw: () => server?.kill('SIGCONT'),
  };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect({ host: '127.0.0.1', port });
    socket.once('connect', () => socket.end(() => resolve(true)));
    socket.once('error', () => resolve(false));
  });
}
