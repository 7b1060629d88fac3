import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { SoakMessage } from './gateway-process.ts';

/** Megabytes by which the heap may grow between two readings. */
const MAX_GROWTH = 5;
const MIB = 1024 * 1024;

/** The gateway of a soak run, seen from outside. */
export interface SoakGateway {
  readonly url: string;
  readonly grpc: string;
  readonly token: string;
  readonly folder: string;
  /** Heap in use after garbage collection, in MiB. @throws Error when a plugin left something behind. */
  heap(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts it with the given variables. */
export async function startSoakGateway(env: Readonly<Record<string, string>> = {}): Promise<SoakGateway> {
  const child = fork(fileURLToPath(new URL('./gateway-process.ts', import.meta.url)), {
    execArgv: ['--expose-gc'],
    env: { ...process.env, SOAK_ENV: JSON.stringify(env) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  process.once('exit', () => child.kill('SIGKILL'));
  const next = async (): Promise<SoakMessage> => (await once(child, 'message'))[0];
  const ready = await next();
  if (ready.kind !== 'ready') throw new Error('the gateway did not say where it listens');
  return {
    ...ready,
    async heap() {
      child.send('heap');
      const reading = await next();
      if (reading.kind !== 'heap') throw new Error('the gateway did not tell its heap');
      if (reading.leaks.length > 0) throw new Error(`left behind: ${reading.leaks.join('; ')}`);
      return reading.bytes / MIB;
    },
    async stop() {
      child.send('stop');
      await once(child, 'exit');
    },
  };
}

/** @throws Error when the heap grew by more than a soak run allows. */
export function assertSteady(title: string, before: number, after: number): void {
  const growth = after - before;
  print(`${title}: heap ${before.toFixed(1)} → ${after.toFixed(1)} MiB (${growth.toFixed(2)})`);
  if (growth >= MAX_GROWTH) throw new Error(`${title}: the heap grew by ${growth.toFixed(1)} MiB`);
}

/** Writes a line of the report. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
