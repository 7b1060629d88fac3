import type { RunStore } from '../../../../plugins/workflow/services/ports/run-store.ts';
import type { Faults } from './faults.ts';
import type { SimulatedProcess } from './process.ts';
import type { Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';

/** Whether the database can be reached: not at all, or so that calls hang until they give up. */
export interface Database {
  state: 'there' | 'refuses' | 'hangs';
}

/**
 * A process's connection to the store: a call takes time both ways, and fails in all the ways in which calls to a
 * database fail.
 */
export function connect(options: {
  readonly store: RunStore;
  /** What the database's clock shows. */
  readonly now: () => number;
  readonly process: SimulatedProcess;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly database: Database;
  readonly faults: () => Faults;
  /** Lets the process vanish. */
  readonly crash: (why: string) => void;
}): RunStore & { now(): Promise<number> } {
  const { store, now, process, scheduler, random, database, faults, crash } = options;

  const latency = () => {
    if (random.isTrue(faults().slowCall)) return random.longTailed(900, 12_000);
    return random.longTailed(1.5, 30);
  };

  const call = <Value>(label: string, kind: 'read' | 'lease' | 'write', perform: () => Promise<Value>) =>
    new Promise<Value>((resolve, reject) => {
      // Code of a process that is gone may still run to its next wait; the world does not see it.
      if (!process.isAlive) return;
      const isWrite = kind !== 'read';
      const answer = (value: Value) =>
        process.deliver(latency(), `${label} → ${shown(value)}`, () => resolve(value));
      const fail = (ms: number, why: string) =>
        process.deliver(ms, `${label} fails: ${why}`, () => reject(new Error(why)));
      const apply = (then: (value: Value) => void) => {
        perform().then(then, (error: unknown) => {
          process.deliver(latency(), `${label} rejects`, () => reject(error));
        });
      };

      const isLast = kind === 'write' && random.isTrue(faults().crashAtWrite);
      if (isLast && random.isTrue(0.4)) {
        scheduler.after(random.next() * 2, '', () => crash(`before ${label}`));
        return;
      }
      if (isWrite && random.isTrue(faults().lateWrite)) {
        fail(latency(), 'the connection was lost');
        scheduler.after(latency() + random.longTailed(200, 20_000), '', () => {
          if (database.state !== 'there') return;
          scheduler.note(`${process.name} ${label} arrives late`);
          apply(() => {});
        });
        return;
      }
      scheduler.after(latency(), '', () => {
        if (database.state === 'refuses') return void fail(latency(), 'the database is away');
        if (database.state === 'hangs') return void fail(5000, 'the database does not answer');
        // A process that is gone may have sent it before.
        if (!process.isAlive && random.isTrue(0.3)) return;
        if (random.isTrue(isWrite ? faults().failedWrite : faults().failedRead)) {
          fail(latency(), 'the statement failed');
          return;
        }
        scheduler.note(`${process.name} ${label}`);
        apply((value) => {
          if (isLast) crash(`before the answer to ${label}`);
          else if (isWrite && random.isTrue(faults().ambiguousWrite)) fail(latency(), 'the answer was lost');
          else answer(value);
        });
      });
    });

  return {
    now: () => call('now', 'read', async () => now()),
    create: (creation) => call(`create ${creation.state.id}`, 'write', () => store.create(creation)),
    read: (place) => call(`read ${place.runId}`, 'read', () => store.read(place)),
    commit: (commit) =>
      call(`commit ${commit.before.id} at ${commit.before.revision}`, 'write', () => store.commit(commit)),
    due: (limit) => call('due', 'read', () => store.due(limit)),
    orphans: (limit) => call('orphans', 'read', () => store.orphans(limit)),
    owned: (worker) => call('owned', 'read', () => store.owned(worker)),
    join: (worker, leaseMs) => call(`join ${worker}`, 'lease', () => store.join(worker, leaseMs)),
    renew: (worker, leaseMs) => call(`renew ${worker}`, 'lease', () => store.renew(worker, leaseMs)),
    leave: (worker) => call(`leave ${worker}`, 'lease', () => store.leave(worker)),
  };
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return `${value.length} found`;
  if (typeof value === 'object' && value !== null && 'revision' in value) return `revision ${value.revision}`;
  return typeof value === 'object' ? 'known' : String(value);
}
