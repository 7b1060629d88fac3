import type { Database, Scope } from 'agent-gateway';
import type { WorkflowLimits } from '../../contract/engines.ts';
import type { EventSink } from '../../contract/event-sinks.ts';
import type { WorkflowMetrics } from '../../metrics.ts';
import { createRunEvents } from '../../store/durable-run-events.ts';
import { createOutbox } from '../../store/outbox.ts';
import { createRunQueries } from '../../store/run-queries.ts';
import { createRunStore } from '../../store/run-store.ts';
import { gatewayTables, type WorkflowTables } from '../../store/tables.ts';
import { createVersions } from '../../store/versions.ts';
import { createRelay } from '../delivery/relay.ts';
import { createFollowers } from '../follow/create-followers.ts';
import { compileGraph } from '../graph/compile-graph.ts';
import { createGraphs } from '../graphs.ts';
import { createExecute } from '../nodes/create-execute.ts';
import type { NodeTypes } from '../ports/execution.ts';
import type { Timers } from '../ports/runtime.ts';
import { createNotifier, type ReplicaMessages } from '../replica-messages.ts';
import { createRunner } from '../runner/create-runner.ts';
import { type Redactor, redactingStore } from '../views/redaction.ts';
import { createEngine } from './create-engine.ts';

/** What an engine is made of, but for its database. */
export interface EngineSetup {
  readonly tables: WorkflowTables;
  readonly limits: WorkflowLimits;
  readonly endsOnFailure?: boolean;
  readonly sinks: () => readonly EventSink[];
  readonly redactor: Redactor;
  readonly metrics: WorkflowMetrics;
}

/** What it is put together from. */
interface AssemblyParts extends EngineSetup {
  readonly messages: ReplicaMessages;
  /** Where the tables are, which are registered already. */
  readonly database: Database;
  readonly types: NodeTypes;
  readonly timers: Timers;
}

/** An engine that is put together, with those of its parts that have a life. */
export type AssembledEngine = ReturnType<typeof assembleEngine>;

/** Puts an engine together. Nothing of it runs yet. */
export function assembleEngine(scope: Pick<Scope, 'services' | 'log' | 'signal'>, parts: AssemblyParts) {
  const { database, tables, types, limits, sinks, redactor, metrics, messages, timers } = parts;
  const { clock, ids, hints: queue, events, durableEvents, tenants } = scope.services;
  const log = scope.log.child({ engine: tables.name });
  const versions = createVersions({ database, tables, clock, ids });
  const queries = createRunQueries({ database, tables });
  const graphs = createGraphs({ versions, compile: (graph) => compileGraph(graph, types), clock });
  // No durable event can commit with runs in another database: for other engines, events are up to their plugins.
  const runEvents = tables === gatewayTables ? createRunEvents(durableEvents) : undefined;
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
    clock: database.clock,
    timers,
    limits,
    endsOnFailure: parts.endsOnFailure ?? false,
    log,
    execute: metrics.counted(createExecute({ types, tenants, redactor, clock, log })),
    notifier: createNotifier({ queue, events, messages, clock, log, count: metrics.notified }),
    newId: ids.uuid,
    sinksOf: relay.sinksOf,
    metrics: metrics.runner,
    committed(state, committed) {
      metrics.committed(committed);
      followers.committed(state, committed);
      const wanting = relay.sinksOf(state.tenantId);
      if (wanting.length > 0) void relay.relayNow(scope.signal, wanting);
    },
  });

  const engine = createEngine({ runner, store, queries, versions, graphs, followers, redactor });
  return { engine, database, versions, runner, followers, relay };
}
