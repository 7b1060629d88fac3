import { setTimeout as pause } from 'node:timers/promises';
import { startTestGateway } from '../../testing/index.ts';
import { steady, toggled, words } from './plugins.ts';

/*
 * The gateway of a soak run, in a process of its own so that its heap is its own. Run with --expose-gc. Tells its
 * parent where it listens, and its heap whenever it is asked.
 */

/** What the process tells its parent. */
export type SoakMessage =
  | {
      readonly kind: 'ready';
      readonly url: string;
      readonly grpc: string;
      readonly token: string;
      readonly folder: string;
    }
  | { readonly kind: 'heap'; readonly bytes: number; readonly leaks: readonly string[] };

const collect = globalThis.gc;
if (collect === undefined) throw new Error('run this with --expose-gc');

const env = JSON.parse(process.env.SOAK_ENV ?? '{}') as Record<string, string>;
const gateway = await startTestGateway({ plugins: [steady, toggled, words], env });

process.on('message', (question) => {
  if (question === 'heap') void heap();
  else if (question === 'stop') void gateway.stop().then(() => process.exit(0));
});
const grpc = gateway.gateway.grpcAddress()!;
tell({ kind: 'ready', url: gateway.url, grpc, token: gateway.token, folder: gateway.folder });

async function heap(): Promise<void> {
  // What just ended frees its last parts in later turns.
  for (let round = 0; round < 5; round += 1) {
    collect!();
    await pause(50);
  }
  const leaks = gateway.gateway.host.slots.all.flatMap(({ name, leaks }) =>
    leaks.map((leak) => `${name}: ${leak}`),
  );
  tell({ kind: 'heap', bytes: process.memoryUsage().heapUsed, leaks });
}

function tell(message: SoakMessage): void {
  process.send?.(message);
}
