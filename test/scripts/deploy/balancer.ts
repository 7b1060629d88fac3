import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { send } from '../../support/request.ts';

/**
 * What a Service of Kubernetes does: a new connection goes to one of the gateways that were ready at the last look, in
 * turn; a connection that is open stays where it is, whatever becomes of its gateway.
 */
export interface Balancer {
  readonly url: string;
  /** Watches one more gateway; it gets connections once it is ready. */
  add(gateway: string): void;
  /** The gateways that get new connections now. */
  ready(): readonly string[];
}

/** Milliseconds between two looks at a gateway: in this time clients meet one that has left too early. */
const LOOK = 250;

/** Starts one without gateways; it ends with the test. */
export async function startBalancer(t: ExecutionContext): Promise<Balancer> {
  const ready = new Set<string>();
  const sockets = new Set<net.Socket>();
  const ending = new AbortController();
  let turn = 0;

  const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const gateways = [...ready];
    const gateway = gateways[turn++ % gateways.length];
    if (gateway === undefined) return void client.resetAndDestroy();
    const { hostname, port } = new URL(gateway);
    const upstream = net.connect({ host: hostname, port: Number(port), allowHalfOpen: true, noDelay: true });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.once('close', () => sockets.delete(from));
      from.on('error', () => to.resetAndDestroy());
      from.pipe(to);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const watch = async (gateway: string) => {
    while (!ending.signal.aborted) {
      const isReady = await send(`${gateway}/health/ready`, { headers: { connection: 'close' } }).then(
        ({ status }) => status === 200,
        () => false,
      );
      if (isReady) ready.add(gateway);
      else ready.delete(gateway);
      await pause(LOOK);
    }
  };
  const watches: Promise<void>[] = [];
  t.teardown(async () => {
    ending.abort();
    await Promise.all(watches);
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    add: (gateway) => void watches.push(watch(gateway)),
    ready: () => [...ready],
  };
}
