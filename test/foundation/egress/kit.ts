import { once } from 'node:events';
import http from 'node:http';
import type net from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import pino from 'pino';
import type { AuditEntry } from '../../../foundation/audit/audit-entry.ts';
import { systemClock } from '../../../foundation/base/clock.ts';
import { createIds } from '../../../foundation/base/ids.ts';
import { type Database, openDatabase } from '../../../foundation/data/database.ts';
import type { Egress, EgressResponse } from '../../../foundation/egress/egress.ts';
import { type EgressOptions, openEgress } from '../../../foundation/egress/open-egress.ts';
import { egressRegistration } from '../../../foundation/egress/rule.ts';
import { kernelRegistration } from '../../../foundation/gateway-tables.ts';
import { recordedMetrics } from '../../support/metrics.ts';

export const TENANT = '00000000-0000-0000-0000-000000000001';
export const OTHER = '01900000-0000-7000-8000-000000000002';

const log = pino({ level: 'silent' });

/** An audit trail that keeps its records. */
export class FakeTrail {
  readonly entries: AuditEntry[] = [];
  isFull = false;

  async record(entry: AuditEntry): Promise<void> {
    this.entries.push(entry);
  }

  room(): Promise<void> | undefined {
    return this.isFull ? Promise.reject(new Error('full')) : undefined;
  }

  get details() {
    return this.entries.map(({ detail }) => detail);
  }
}

/** An egress service of one test. */
export interface TestEgress {
  readonly egress: Egress;
  readonly database: Database;
  readonly trail: FakeTrail;
  /** `result` and `denied:reason`, as they were counted. */
  readonly observed: string[];
  /** Names that were resolved, and where. */
  readonly lookups: string[];
}

export interface TestEgressOptions extends Partial<Omit<EgressOptions, 'settings'>> {
  readonly default?: 'allow' | 'deny';
  readonly allowPrivate?: readonly string[];
  /** Addresses of names; every other name is unknown. A function is asked each time. */
  readonly names?: Readonly<Record<string, readonly string[] | (() => readonly string[])>>;
}

/** Opens one over a database in memory; loopback is open unless `allowPrivate` says otherwise. */
export async function openTestEgress(
  t: ExecutionContext,
  options: TestEgressOptions = {},
): Promise<TestEgress> {
  const { names = {}, allowPrivate = ['127.0.0.1'], default: otherwise = 'allow', ...rest } = options;
  const database = await openDatabase({ driver: 'sqlite', log, clock: systemClock, guardTransactions: true });
  await database.register(kernelRegistration);
  await database.register(egressRegistration);
  const trail = new FakeTrail();
  const observed: string[] = [];
  const lookups: string[] = [];
  const egress = openEgress({
    database,
    trail,
    settings: { default: otherwise, allowPrivate },
    clock: systemClock,
    ids: createIds(systemClock),
    log,
    resolve: async (name, where) => {
      lookups.push(`${where} ${name}`);
      const answers = names[name];
      if (answers === undefined) throw new Error(`ENOTFOUND ${name}`);
      return typeof answers === 'function' ? answers() : answers;
    },
    metrics: recordedMetrics((name, [label = '']) => {
      observed.push(name === 'svc_egress_denied_total' ? `denied:${label}` : label);
    }),
    ...rest,
  });
  t.teardown(async () => {
    await egress.close();
    await database.close();
  });
  return { egress, database, trail, observed, lookups };
}

/** A server of one test on the loopback interface. */
export interface TestServer {
  readonly port: number;
  /** Sockets that were ever connected. */
  readonly sockets: net.Socket[];
  readonly requests: http.IncomingMessage[];
}

/** Starts it; it ends with the test. */
export async function startServer(
  t: ExecutionContext,
  handle: http.RequestListener = (_request, response) => response.end('hello'),
): Promise<TestServer> {
  const requests: http.IncomingMessage[] = [];
  const server = http.createServer((request, response) => {
    requests.push(request);
    response.on('error', () => {});
    handle(request, response);
  });
  // What closes connections in these tests is the other side.
  server.keepAliveTimeout = 600_000;
  return { requests, ...(await listen(t, server)) };
}

/** Has any server listen on the loopback interface until the test ends. */
export async function listen(t: ExecutionContext, server: net.Server): Promise<Omit<TestServer, 'requests'>> {
  const sockets: net.Socket[] = [];
  server.on('connection', (socket: net.Socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  });
  return { port: (server.address() as net.AddressInfo).port, sockets };
}

/**
 * The whole body as text. Its connection can serve again: undici leaves a turn of the event loop between two requests.
 */
export async function textOf({ body }: EgressResponse): Promise<string> {
  const text = (await buffer(body)).toString();
  await turn();
  await turn();
  return text;
}
