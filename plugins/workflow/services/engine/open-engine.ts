import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, type Database, KernelErrors, lazy, type Scope } from 'agent-gateway';
import type { WorkflowSettings } from '../../config.ts';
import type { WorkflowLimits } from '../../contract/engines.ts';
import type { NodeTypes } from '../ports/execution.ts';
import type { Timers } from '../ports/runtime.ts';
import { replicaMessages, toPlace } from '../replica-messages.ts';
import { type AssembledEngine, assembleEngine, type EngineSetup } from './assemble-engine.ts';

/** Runs that one process polls at one time because of messages. */
const POLLS_AT_ONCE = 32;

/** Milliseconds between two searches for events whose sink is gone. */
const FORGET_EVERY_MS = 3_600_000;

/**
 * Milliseconds in which the events of the last steps may reach their sinks, whose plugins end with the engine; else
 * they go out after the next start.
 */
const LAST_DELIVERIES_MS = 2_000;

/** Where an engine keeps its runs, and which node types it has. */
interface EngineGround {
  /** Where the tables are, which are registered already. */
  readonly database: Database;
  readonly types: NodeTypes;
}

/**
 * Binds the life of an engine to a plugin's, during its set-up: the engine's workers, listeners and tasks begin when
 * the plugin is published and the engine is open, and what it carries out is handed over when the plugin stops. Until
 * the engine is open, nothing else of it exists.
 *
 * @param prepare finds where it is opened
 * @returns opens it, unless it is open. A call that fails is tried again by the next. Throws `draining` when the plugin
 * stops
 */
export function bindEngine(
  scope: Scope,
  setup: EngineSetup,
  prepare: () => Promise<EngineGround>,
): () => Promise<AssembledEngine> {
  const { tables, limits } = setup;
  const messages = replicaMessages(tables.name);
  const timers = processTimers(scope.services.clock);
  let opened: AssembledEngine | undefined;
  let isStopping = false;

  async function openNow(): Promise<AssembledEngine> {
    const assembled = assembleEngine(scope, { ...setup, ...(await prepare()), messages, timers });
    try {
      await assembled.runner.open();
    } catch (error) {
      await assembled.runner.close(AbortSignal.abort());
      throw error;
    }
    opened = assembled;
    return assembled;
  }

  const opening = lazy(openNow);

  scope.onHint(
    messages.look,
    async (message) => {
      await opened?.runner.poll(toPlace(message));
    },
    { concurrency: POLLS_AT_ONCE },
  );
  scope.on(messages.touched, (message) => opened?.runner.changed(toPlace(message)));
  scope.on(messages.follow, (message, meta) => opened?.followers.onFollow(message, meta));
  scope.on(messages.changed, (message) => opened?.followers.onChanged(message));
  // Immediately: work that another process handed over, or left behind, waits for the next process.
  scope.every(
    `${tables.name}-sweep`,
    limits.sweepIntervalMs,
    async (signal) => {
      await opened?.runner.sweep(signal);
    },
    { immediately: true },
  );
  scope.every(`${tables.name}-outbox`, limits.sweepIntervalMs, async () => {
    await opened?.relay.relayNow(scope.signal);
  });
  scope.every(`${tables.name}-outbox-expiry`, FORGET_EVERY_MS, async () => {
    await opened?.relay.forget();
  });
  scope.drain(`${tables.name} runs`, async (signal) => {
    isStopping = true;
    const last = await opening.begun?.catch(() => undefined);
    if (last === undefined) return;
    await last.runner.handOver(signal);
    await last.relay.relayNow(signal);
    await Promise.race([last.relay.idle(), pause(LAST_DELIVERIES_MS, undefined, { ref: false })]);
  });
  // Followers of waiting runs would delay the stop for the whole drain time; their clients continue on another replica,
  // from the last event.
  scope.drain(`${tables.name} followers`, async () => opened?.followers.close());
  scope.defer(() => opened?.relay.idle());
  // After the calls in flight, which start and change runs until then. A set-up that fails is never drained.
  scope.defer(() => opened?.runner.close(AbortSignal.abort()));

  return async () => {
    if (isStopping && opened === undefined) throw KernelErrors.draining();
    return opening.get();
  };
}

/** The limits that the plugin's configuration sets for every engine. */
export function limitsOf(settings: WorkflowSettings): WorkflowLimits {
  return {
    maxSteps: settings.max_steps,
    stepTimeoutMs: settings.step_timeout,
    leaseMs: settings.lease,
    sweepIntervalMs: settings.sweep_interval,
    concurrency: settings.concurrency,
  };
}

/** The longest time of one timer of Node; a longer one fires at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** The timers of this process. */
function processTimers(clock: Pick<Clock, 'monotonic'>): Timers {
  return {
    after(ms, call) {
      const timer = setTimeout(call, Math.min(Math.max(ms, 0), LONGEST_MS)).unref();
      return () => clearTimeout(timer);
    },
    monotonic: () => clock.monotonic(),
  };
}
