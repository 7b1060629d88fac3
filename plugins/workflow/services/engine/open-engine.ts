import { setTimeout as pause } from 'node:timers/promises';
import type { Clock, Database, Scope } from 'agent-gateway';
import type { WorkflowSettings } from '../../config.ts';
import type { WorkflowEngine, WorkflowEngines, WorkflowLimits } from '../../contract/engine.ts';
import type { EventSink } from '../../contract/event-sinks.ts';
import type { WorkflowMetrics } from '../../metrics.ts';
import { createRunEvents, NO_RUN_EVENTS } from '../../store/durable-run-events.ts';
import { createOutbox } from '../../store/outbox.ts';
import { createRunQueries } from '../../store/run-queries.ts';
import { createRunStore } from '../../store/run-store.ts';
import { type WorkflowTables, workflowTables } from '../../store/tables.ts';
import type { Versions } from '../../store/versions.ts';
import { createVersions } from '../../store/versions.ts';
import { createRelay } from '../delivery/relay.ts';
import { createFollowers } from '../follow/create-followers.ts';
import { compileGraph } from '../graph/compile-graph.ts';
import { createGraphs } from '../graphs.ts';
import { createExecute } from '../nodes/create-execute.ts';
import type { NodeTypesOf } from '../nodes/node-types.ts';
import type { NodeTypes } from '../ports/execution.ts';
import type { Timers } from '../ports/runtime.ts';
import { createNotifier, replicaMessages, toPlace } from '../replica-messages.ts';
import { createRunner } from '../runner/create-runner.ts';
import { type Redactor, redactingStore } from '../views/redaction.ts';
import { createEngine } from './create-engine.ts';

/** Runs that one process polls at one time because of messages. */
const POLLS_AT_ONCE = 32;

/** Milliseconds between two looks for events whose sink has gone. */
const FORGET_EVERY_MS = 3_600_000;

/** Milliseconds in which the events of the last steps may reach their sinks, whose plugins end with the engine; else they go out after the next start. */
const LAST_DELIVERIES_MS = 2_000;

/** What an engine is made of. */
interface OpenEngineParts {
  /** Where the tables are, which are registered already. */
  readonly database: Database;
  readonly tables: WorkflowTables;
  readonly types: NodeTypes;
  readonly limits: WorkflowLimits;
  readonly sinks: () => readonly EventSink[];
  readonly redactor: Redactor;
  readonly metrics: WorkflowMetrics;
}

/** An engine, with the versions that its runs start from. */
interface OpenedEngine {
  readonly engine: WorkflowEngine;
  readonly versions: Versions;
}

/**
 * Puts an engine together and binds its life to a plugin's: its workers, listeners and tasks begin when the plugin is published, and what
 * it carries out is handed over when the plugin stops.
 */
export async function openEngine(scope: Scope, parts: OpenEngineParts): Promise<OpenedEngine> {
  const { database, tables, types, limits, sinks, redactor, metrics } = parts;
  const { clock, ids, hints: queue, events } = scope.services;
  const log = scope.log.child({ engine: tables.name });
  const timers = processTimers(clock);
  const messages = replicaMessages(tables.name);
  const versions = createVersions({ database, tables, clock, ids });
  const queries = createRunQueries({ database, tables });
  const graphs = createGraphs({ versions, compile: (graph) => compileGraph(graph, types), clock });
  const isOfGateway = database === scope.services.database;
  const runEvents = isOfGateway ? createRunEvents(scope.services.durableEvents) : NO_RUN_EVENTS;
  const store = redactingStore(createRunStore({ database, tables, runEvents }), redactor);
  const followers = createFollowers({
    queries,
    events,
    messages,
    redactor,
    timers,
    log,
    isRunningHere: (place) => runner.isRunningHere(place),
  });
  const outbox = createOutbox({ database, tables, ids });
  const relay = createRelay({ outbox, queries, sinks, clock, log, metrics: metrics.relay });
  const runner = createRunner({
    store,
    graphs,
    timers,
    limits,
    log,
    execute: metrics.counted(createExecute({ types, tenants: scope.services.tenants, redactor, clock, log })),
    notifier: createNotifier({ queue, events, messages, clock, log, count: metrics.notified }),
    newId: ids.uuid,
    sinksOf: relay.sinksOf,
    metrics: metrics.runner,
    committed(state, committed) {
      metrics.committed(committed);
      followers.committed(state, committed);
      const wanting = relay.sinksOf(state.tenantId);
      if (wanting.length > 0) void relayNow(scope.signal, wanting);
    },
  });

  async function relayNow(signal: AbortSignal, to?: readonly string[]): Promise<void> {
    await relay
      .relay(signal, to)
      .catch((err: unknown) => log.warn({ err }, 'events of runs wait for their delivery'));
  }

  scope.onHint(
    messages.look,
    async (message) => {
      await runner.poll(toPlace(message));
    },
    { concurrency: POLLS_AT_ONCE },
  );
  scope.on(messages.touched, (message) => runner.changed(toPlace(message)));
  scope.on(messages.follow, followers.onFollow);
  scope.on(messages.changed, followers.onChanged);
  // At once: what another process handed over, or left, waits for the next process.
  scope.every(`${tables.name}-sweep`, limits.sweepIntervalMs, (signal) => runner.sweep(signal), {
    immediately: true,
  });
  scope.every(`${tables.name}-outbox`, limits.sweepIntervalMs, () => relayNow(scope.signal));
  scope.every(`${tables.name}-outbox-expiry`, FORGET_EVERY_MS, () => relay.forget());
  scope.drain(`${tables.name} runs`, async (signal) => {
    await runner.close(signal);
    await relayNow(signal);
    await Promise.race([relay.idle(), pause(LAST_DELIVERIES_MS, undefined, { ref: false })]);
  });
  // Followers of runs that wait would hold up the stop for all of its time; they go on elsewhere, from where they were.
  scope.drain(`${tables.name} followers`, async () => followers.close());
  scope.defer(() => relay.idle());
  // A set-up that fails is never drained; closing again does nothing.
  scope.defer(() => runner.close(AbortSignal.abort()));
  await runner.open();

  const engine = createEngine({ runner, store, queries, versions, graphs, followers, redactor, clock });
  return { engine, versions };
}

/** What engines of other plugins share with the gateway's own. */
interface EnginesParts extends Pick<OpenEngineParts, 'sinks' | 'redactor' | 'metrics'> {
  readonly limits: WorkflowLimits;
  readonly typesOf: NodeTypesOf;
}

/** Makes engines over databases that other plugins have. */
export function createEngines({ sinks, redactor, metrics, limits, typesOf }: EnginesParts): WorkflowEngines {
  return {
    async open(scope, { name, database, nodeTypes = [], limits: own = {}, isDelivered = false }) {
      const tables = workflowTables(name);
      const registered = await database.register({
        owner: `${scope.name}.${name}`,
        entities: tables.entities,
        migrations: tables.migrations,
      });
      scope.defer(() => registered.release());
      const { engine } = await openEngine(scope, {
        database,
        tables,
        redactor,
        metrics,
        types: typesOf(database, nodeTypes),
        limits: { ...limits, ...own },
        sinks: isDelivered ? sinks : () => [],
      });
      return engine;
    },
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
