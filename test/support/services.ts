import net from 'node:net';
import type { ExecutionContext } from 'ava';

/** Servers that some tests need, with the place where a developer machine and CI have them. */
const SERVICES = {
  postgres: { host: '127.0.0.1', port: 5432, title: 'PostgreSQL' },
  mariadb: { host: '127.0.0.1', port: 3306, title: 'MariaDB' },
  redis: { host: '127.0.0.1', port: 6379, title: 'Redis' },
} as const;

export type Service = keyof typeof SERVICES;

/**
 * True when every named service answers. Otherwise logs which one is missing and lets the test pass as skipped, or,
 * with `REQUIRE_SERVICES=1`, fails it.
 *
 * @example
 * if (!(await available(t, 'redis'))) return;
 */
export async function available(t: ExecutionContext, ...services: Service[]): Promise<boolean> {
  for (const service of services) {
    if (await answers(service)) continue;
    const { title, host, port } = SERVICES[service];
    skip(t, `${title} does not answer at ${host}:${port}`);
    return false;
  }
  return true;
}

/** Lets a test pass as skipped, with what is missing, or, with `REQUIRE_SERVICES=1`, fails it. */
export function skip(t: ExecutionContext, missing: string): void {
  if (process.env.REQUIRE_SERVICES === '1') {
    t.fail(missing);
    return;
  }
  t.log(`skipped: ${missing}`);
  t.pass();
}

const known = new Map<Service, Promise<boolean>>();

/** Whether a server answers; looked at once in a process. */
export function answers(service: Service): Promise<boolean> {
  const cached = known.get(service);
  if (cached !== undefined) return cached;
  const { host, port } = SERVICES[service];
  const attempt = new Promise<boolean>((resolve) => {
    const socket = net.connect({ host, port, timeout: 2000 });
    const finish = (up: boolean) => {
      socket.destroy();
      resolve(up);
    };
    socket.once('connect', () => finish(true));
    socket.once('error', () => finish(false));
    socket.once('timeout', () => finish(false));
  });
  known.set(service, attempt);
  return attempt;
}
