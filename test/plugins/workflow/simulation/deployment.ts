import type { Logger } from 'agent-gateway';
import { DatabaseClock } from '../../../../foundation/data/database-clock.ts';
import type { RunnerMetrics } from '../../../../plugins/workflow/metrics.ts';
import type { RunnerParts } from '../../../../plugins/workflow/services/runner/runner.ts';
import { connect } from './connection.ts';
import { createExecute } from './effects.ts';
import { type SimulatedProcess, startProcess } from './process.ts';
import { createWake } from './queue.ts';
import type { Member, World } from './world.ts';

/** How long a process that is told to end lets its steps end, in milliseconds. */
const DRAIN_MS = 4000;

/** Two sinks want the events of all tenants but the first. */
export function sinksOf(tenantId: string): readonly string[] {
  return tenantId === 't0' ? [] : ['hooks', 'bus'];
}

/** Starts, ends and replaces the processes of a simulation. */
export interface Deployment {
  start(): void;
  /** A process vanishes; another one comes some time later. */
  crash(member: Member): void;
  /** A process ends as it should; another one comes. */
  close(member: Member): void;
  /** All processes end, and none is started any more. */
  end(): void;
}

/** The deployment of a world. */
export function createDeployment(world: World): Deployment {
  const { profile, random, scheduler, store, members, deliveries, tampering } = world;
  let started = 0;
  let isEnding = false;

  function start(): void {
    if (isEnding) return;
    started += 1;
    const name = `p${started}`;
    const own = random.fork(name);
    const drift = (own.next() * 2 - 1) * profile.faults.drift;
    const process = startProcess({
      name,
      drift,
      scheduler,
      random: own,
      spins: () => world.violate(`${name} goes on and on without waiting for anything`),
    });
    const given = parts(process, () => crash(member));
    const runner = world.createRunner(tampering.parts?.(given) ?? given);
    const member: Member = { process, runner, state: 'opening' };
    members.add(member);
    scheduler.note(`${name} starts`);
    process.deliver(0, '', () => {
      const opened = given.clock.renew().then(() => runner.open());
      opened.then(
        () => {
          member.state = 'open';
          scheduler.note(`${name} is open`);
          sweep(member);
          if (isEnding) close(member);
        },
        (error: unknown) => {
          scheduler.note(`${name} could not open: ${error}`);
          crash(member);
        },
      );
    });
  }

  function parts(process: SimulatedProcess, vanish: () => void): RunnerParts & { clock: DatabaseClock } {
    const own = random.fork(`parts of ${process.name}`);
    const { faults, database, versions } = world;
    const inner = store.connect(process.name);
    let ids = 0;
    const heard = new Map<string, number>();
    const connection = connect({
      store: tampering.store?.(inner) ?? inner,
      now: world.storeNow,
      process,
      scheduler,
      random: own,
      database,
      faults,
      crash(why) {
        if (!process.isAlive) return;
        scheduler.note(`${process.name} crashes ${why}`);
        vanish();
      },
    });
    return {
      store: connection,
      clock: new DatabaseClock(clockError(process.name, connection.now), process.timers),
      graphs: { get: async (_tenantId, versionId) => versions.get(versionId)!.compiled },
      execute: createExecute({
        process,
        scheduler,
        random: random.fork('effects'),
        faults,
        began: (execution) => deliveries.began(execution, store).forEach(world.violate),
        ended: deliveries.ended,
      }),
      notifier: createWake({
        from: process,
        listeners: () => [...members].filter((member) => member.state === 'open'),
        scheduler,
        random: own,
        faults,
      }),
      timers: process.timers,
      limits: profile.limits,
      newId: () => {
        ids += 1;
        return `${process.name}-${ids}`;
      },
      log: logOf((line) => process.isAlive && scheduler.note(`${process.name} logs: ${line}`)),
      metrics: metrics(),
      sinksOf,
      committed(state, events) {
        if (!process.isAlive) return;
        for (const { seq } of events) {
          const last = heard.get(state.id) ?? 0;
          if (seq <= last)
            world.violate(`${process.name} told event ${seq} of ${state.id} after event ${last}`);
          heard.set(state.id, seq);
          const isStored = store.run(state.id)?.events.some((event) => event.seq === seq);
          if (!isStored)
            world.violate(`${process.name} told event ${seq} of ${state.id}, which is not stored`);
        }
      },
    };
  }

  /**
   * Notes how far the process's idea of the store's clock may be off: by half of the time that the first answer took,
   * and by what its own clock drifts until the next, which corrects it to within the time that this one took.
   */
  function clockError(name: string, ask: () => Promise<number>): () => Promise<number> {
    const { drift } = profile.faults;
    let last: { readonly at: number; readonly errorMs: number } | undefined;
    let worst = 0;
    const drifted = ({ at, errorMs }: NonNullable<typeof last>) => errorMs + (scheduler.now - at) * drift;
    world.clockErrors.set(name, () => Math.max(worst, last === undefined ? 0 : drifted(last)));
    return async () => {
      const asked = scheduler.now;
      const answer = await ask();
      const tookMs = (scheduler.now - asked) * (1 + drift);
      const errorMs = last === undefined ? tookMs / 2 : drifted(last);
      worst = Math.max(worst, errorMs);
      last = { at: scheduler.now, errorMs: Math.min(errorMs, tookMs) };
      return answer;
    };
  }

  /** What runners count. */
  function metrics(): RunnerMetrics {
    const { count } = world;
    return {
      delivered: (_nodeType, result) => count(`deliveries ${result}`),
      redelivered: () => count('redeliveries'),
      committed: (result) => count(`writes ${result}`),
      late: () => count('late results'),
      abandoned: (change) => {
        if (change > 0) count('abandoned calls');
      },
      found: (what, found) => {
        if (found > 0) count(`sweeps that found ${what}`);
      },
      expired: () => count('leases that expired'),
    };
  }

  /** As the plugin does it: every so often, never two at once. */
  function sweep(member: Member): void {
    const { process, runner } = member;
    process.timers.after(profile.limits.sweepIntervalMs, () => {
      if (member.state !== 'open') return;
      scheduler.note(`${process.name} sweeps`);
      runner.sweep(new AbortController().signal).then(
        () => sweep(member),
        (error: unknown) => {
          scheduler.note(`${process.name} could not sweep: ${error}`);
          sweep(member);
        },
      );
    });
  }

  function crash(member: Member): void {
    if (!member.process.isAlive) return;
    world.count('crashes');
    member.process.crash();
    members.delete(member);
    scheduler.after(world.isTroubled() ? random.longTailed(3000, 20_000) : 1000, '', start);
  }

  function close(member: Member): void {
    const { process, runner } = member;
    if (member.state !== 'open') return;
    member.state = 'closing';
    const end = new AbortController();
    process.deliver(0, 'closes', () => {
      process.timers.after(DRAIN_MS, () => end.abort());
      runner.close(end.signal).then(
        () => {
          scheduler.note(`${process.name} is closed`);
          process.crash();
          members.delete(member);
        },
        (error: unknown) => world.violate(`${process.name} could not close: ${error}`),
      );
      scheduler.after(random.longTailed(1000, 5000), '', start);
    });
  }

  function end(): void {
    isEnding = true;
    for (const member of members) close(member);
  }

  return { start, crash, close, end };
}

/** A log that notes warnings and errors. */
function logOf(note: (line: string) => void): Logger {
  const write = (...[fields, text]: readonly unknown[]) => {
    const error = (fields as { err?: { message?: string } } | null)?.err?.message ?? '';
    note(`${typeof fields === 'string' ? fields : text} ${error}`);
  };
  const nothing = () => {};
  const log = { trace: nothing, debug: nothing, info: nothing, warn: write, error: write, fatal: write };
  return { ...log, child: () => logOf(note) } as unknown as Logger;
}
