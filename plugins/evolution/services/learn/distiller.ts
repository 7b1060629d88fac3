import { setTimeout as pause } from 'node:timers/promises';
import { LockMode } from '@mikro-orm/core';
import {
  type Clock,
  type Database,
  type DurableEvents,
  type Ids,
  type Leases,
  type Logger,
  orAborted,
  RETRY_RACES,
  type TenantEntityManager,
  writes,
} from 'agent-gateway';
import { GeneMoved, GenesLearned } from '../../contract.ts';
import { chooseClasses } from '../../rules/choose-classes.ts';
import { dayOf } from '../../rules/day.ts';
import { evidenceOf } from '../../rules/evidence.ts';
import { classesOf, toStored } from '../../store/learners.ts';
import {
  type Arm,
  GeneTable,
  type LearnerRow,
  LearnerTable,
  OutcomeTable,
  TaskTable,
} from '../../store/tables.ts';
import { createAnnounceMoves, statesBefore } from '../exchange/gene-moves.ts';
import { type GeneChanges, geneChanges, outcomeOf, type RecordedTask } from './gene-changes.ts';

/** Last tasks of an agent from which its genes are made. */
const WINDOW = 256;
/** Tasks that one transaction counts. */
const FRESH = 128;
/**
 * Classes are searched again after so many tasks, or after a share of the window if that is more: the search is most of
 * the work.
 */
const FOUND_AFTER = 8;
const FOUND_AFTER_SHARE = 0.05;
/** Agents of a tenant that learn; beyond that, the data of the agent that has been quiet for longest is deleted. */
const MAX_AGENTS = 1_000;
/** Genes of one agent: beyond that, those of classes that no longer occur are deleted. */
const MAX_GENES = 1_000;
/** Days for which the counts of tasks are kept. */
const KEPT_DAYS = 90;
const DAY_MS = 86_400_000;
/** Milliseconds. */
const MAX_REST = 200;
/**
 * Rest relative to work: concurrent chats wait for one part of the work now and then, and not for one part after the
 * other.
 */
const REST = 4;
const LEASE = 'evolution-distiller';

interface DistillerParts {
  readonly database: Pick<Database, 'system' | 'forTenant'>;
  readonly leases: Pick<Leases, 'tryAcquire'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly log: Logger;
  readonly settings: { readonly min_confidence: number; readonly discount: number };
  /** Waits; for tests. */
  readonly pauseFor?: (ms: number) => Promise<unknown>;
  readonly durableEvents: Pick<DurableEvents, 'publish' | 'hasSubscribers'>;
  readonly events: { emit(event: typeof GenesLearned, data: { tenantId: string; agent: string }): void };
}

interface Learner {
  readonly tenantId: string;
  readonly agentName: string;
}

const BEFORE_ALL: Learner = { tenantId: '', agentName: '' };

/** What an agent's new tasks change. */
interface Lesson {
  readonly fresh: readonly RecordedTask[];
  readonly window: readonly RecordedTask[];
  readonly changes: GeneChanges;
  readonly learner: Partial<Pick<LearnerRow, 'classes' | 'tasksSince'>> & Pick<LearnerRow, 'updatedAt'>;
}

/**
 * An administrator decided about a gene, or a replica counted the same tasks, after they were read. Nothing of the
 * agent is written; the next round reads them again.
 */
class Overtaken extends Error {}

/** Makes genes of recorded tasks, on one replica at a time. */
export function createDistiller(parts: DistillerParts) {
  const { database, leases, clock, ids, log, settings, durableEvents, events } = parts;
  const { pauseFor = (ms) => pause(ms) } = parts;
  const announce = createAnnounceMoves(durableEvents);

  /** When the last rest ended. */
  let rested = 0;

  /**
   * Leaves the process to requests: distilling takes a fifth of the time, and so of one processor, at most. Rejects
   * when the run is over: what is not written yet is learned again by the next one.
   */
  async function rest(over: AbortSignal): Promise<void> {
    await orAborted(pauseFor(Math.min(MAX_REST, REST * (clock.monotonic() - rested))), over);
    rested = clock.monotonic();
  }

  /** The next agent, in order, that has uncounted tasks. */
  async function nextAfter({ tenantId, agentName }: Learner): Promise<Learner | undefined> {
    const after = [{ tenantId: { $gt: tenantId } }, { tenantId, agentName: { $gt: agentName } }];
    const orderBy = { tenantId: 'asc', agentName: 'asc' } as const;
    const [task] = await database
      .system()
      .find(
        TaskTable,
        { isCounted: false, $or: after },
        { fields: ['tenantId', 'agentName'], orderBy, limit: 1 },
      );
    return task;
  }

  /** Locks the agent's row, and makes it where there is none: no other replica distils the agent meanwhile. */
  async function lock(entities: TenantEntityManager, agentName: string): Promise<void> {
    const locked = { lockMode: LockMode.PESSIMISTIC_WRITE } as const;
    if ((await entities.findOne(LearnerTable, { agentName }, locked)) !== null) return;
    if ((await entities.count(LearnerTable)) >= MAX_AGENTS) await makeRoom(entities);
    const learner = {
      id: ids.uuid(),
      agentName,
      classes: {},
      tasksSince: 0,
      updatedAt: new Date(clock.now()),
    };
    await entities.upsert(LearnerTable, learner, { conflict: ['agentName'], update: [] });
    await entities.findOneOrFail(LearnerTable, { agentName }, locked);
  }

  async function makeRoom(entities: TenantEntityManager): Promise<void> {
    const [oldest] = await entities.rows(
      LearnerTable,
      {},
      { fields: ['agentName'], orderBy: { updatedAt: 'asc', id: 'asc' }, limit: 1 },
    );
    if (oldest === undefined) return;
    const { agentName } = oldest;
    await entities.erase(TaskTable, { agentName });
    await entities.erase(GeneTable, { agentName });
    await entities.erase(OutcomeTable, { agentName });
    await entities.erase(LearnerTable, { agentName });
  }

  /**
   * Reads the agent's last tasks and its genes, and computes what changes. Undefined where no task is new. This takes
   * long, so it holds no lock, and requests are served between its parts.
   */
  async function learn({ tenantId, agentName }: Learner, over: AbortSignal): Promise<Lesson | undefined> {
    const entities = database.forTenant(tenantId);
    // The tasks first: if another replica counts tasks meanwhile, its transaction has written all that is read after
    // them.
    const uncounted = await entities.rows(
      TaskTable,
      { agentName, isCounted: false },
      { fields: ['id'], orderBy: { id: 'asc' }, limit: FRESH },
    );
    if (uncounted.length === 0) return undefined;
    await rest(over);
    const window = (
      await entities.rows(TaskTable, { agentName }, { orderBy: { id: 'desc' }, limit: WINDOW })
    ).toReversed();
    const fresh = await among(entities, window, new Set(uncounted.map(({ id }) => id)), over);
    const [learner] = await entities.rows(LearnerTable, { agentName }, { limit: 1 });
    await rest(over);
    const before = classesOf(learner?.classes ?? {});
    const tasksSince = (learner?.tasksSince ?? 0) + fresh.length;
    // In a backlog, only the last part triggers the search for classes.
    const isLast = fresh.length < FRESH;
    const isDue =
      before.size === 0 || (isLast && tasksSince >= Math.max(FOUND_AFTER, window.length * FOUND_AFTER_SHARE));
    const outcomes = window.map(outcomeOf);
    const unnamed = outcomes.filter(({ taskClass }) => taskClass === undefined);
    const classes = isDue ? chooseClasses(unnamed, before, settings.discount) : before;
    await rest(over);
    const injected = [...new Set(fresh.flatMap(({ advised }) => advised))];
    const now = new Date(clock.now());
    const changes = geneChanges(
      {
        tenantId,
        agentName,
        classes,
        fresh,
        now,
        minConfidence: settings.min_confidence,
        evidence: evidenceOf(outcomes, classes, settings.discount),
        discount: settings.discount,
        foreign:
          injected.length === 0
            ? []
            : await entities.rows(
                GeneTable,
                { source: 'hub', id: { $in: injected } },
                { limit: injected.length },
              ),
        genes: await entities.rows(
          GeneTable,
          { agentName, source: 'local' },
          { orderBy: { updatedAt: 'desc', id: 'asc' }, limit: MAX_GENES * 2 },
        ),
      },
      ids,
    );
    const learned = isDue ? { classes: toStored(classes), tasksSince: 0 } : { tasksSince };
    return { fresh, window, changes, learner: { ...learned, updatedAt: now } };
  }

  /** The tasks with these ids; most of them are in the window, the others are read. */
  async function among(
    entities: TenantEntityManager,
    window: readonly RecordedTask[],
    ids: ReadonlySet<string>,
    over: AbortSignal,
  ): Promise<readonly RecordedTask[]> {
    const found = window.filter(({ id }) => ids.has(id));
    const others = ids.difference(new Set(found.map(({ id }) => id)));
    if (others.size === 0) return found;
    await rest(over);
    const behind = await entities.rows(
      TaskTable,
      { id: { $in: [...others] } },
      { orderBy: { id: 'asc' }, limit: others.size },
    );
    return [...behind, ...found];
  }

  /** Distils an agent's uncounted tasks, and returns how many were counted. */
  async function distil(agent: Learner, over: AbortSignal): Promise<number> {
    await rest(over);
    const lesson = await learn(agent, over);
    if (lesson === undefined) return 0;
    await rest(over);
    const { fresh, window, changes, learner } = lesson;
    const { tenantId, agentName } = agent;
    await database.forTenant(tenantId).transaction(async (entities) => {
      await lock(entities, agentName);
      const uncounted = { id: { $in: fresh.map(({ id }) => id) }, isCounted: false };
      const marked = await entities.update(TaskTable, uncounted, { isCounted: true });
      if (marked !== fresh.length) throw new Overtaken();
      if (durableEvents.hasSubscribers(GeneMoved))
        await announce(entities, await statesBefore(entities, [...changes.made, ...changes.changed]));
      await writeGenes(entities, changes);
      await countOutcomes(entities, agentName, fresh);
      await prune(entities, agentName, window, changes.made.length);
      await entities.update(LearnerTable, { agentName }, learner);
    }, RETRY_RACES);
    return fresh.length;
  }

  async function writeGenes(entities: TenantEntityManager, { made, changed }: GeneChanges): Promise<void> {
    await entities.insertMany(GeneTable, made);
    if (changed.length === 0) return;
    // A decision about a gene increments its version, so that knowledge that was read before it does not overwrite it.
    const areWritten = await entities.writeTogether(
      changed.map(({ id, tenantId: _tenant, createdAt: _created, ...data }) =>
        writes.update(GeneTable, { id, version: data.version - 1 }, data, { expect: 1 }),
      ),
    );
    if (!areWritten) throw new Overtaken();
  }

  /** Adds tasks to the counts of their day and arm. */
  async function countOutcomes(
    entities: TenantEntityManager,
    agentName: string,
    fresh: readonly RecordedTask[],
  ): Promise<void> {
    const counted = fresh.filter(({ arm, outcome }) => arm !== 'none' && outcome !== null);
    const groups = Map.groupBy(counted, ({ arm, createdAt }) => `${dayOf(createdAt)} ${arm}`);
    for (const [group, tasks] of groups) {
      const [day, arm] = group.split(' ') as [string, Arm];
      const key = { agentName, day, arm };
      await entities.upsert(
        OutcomeTable,
        { id: ids.uuid(), ...key, tasks: 0, successes: 0 },
        { conflict: ['agentName', 'day', 'arm'], update: [] },
      );
      const successes = tasks.filter(({ outcome }) => outcome === true).length;
      await entities.increment(OutcomeTable, key, { tasks: tasks.length, successes });
    }
    const oldest = dayOf(new Date(clock.now() - KEPT_DAYS * DAY_MS));
    if (groups.size > 0) await entities.erase(OutcomeTable, { agentName, day: { $lt: oldest } });
  }

  /**
   * Deletes tasks that are older than the window, and, where there are too many, the genes that have not changed for
   * longest.
   */
  async function prune(
    entities: TenantEntityManager,
    agentName: string,
    window: readonly RecordedTask[],
    made: number,
  ): Promise<void> {
    const [first] = window;
    if (window.length === WINDOW && first !== undefined)
      await entities.erase(TaskTable, { agentName, isCounted: true, id: { $lt: first.id } });
    if (made === 0 || (await entities.count(GeneTable, { agentName, source: 'local' })) <= MAX_GENES) return;
    const surplus = await entities.rows(
      GeneTable,
      { agentName, source: 'local', state: { $ne: 'revoked' } },
      {
        fields: ['id', 'validation'],
        orderBy: { updatedAt: 'desc', id: 'desc' },
        limit: MAX_GENES,
        offset: MAX_GENES / 2,
      },
    );
    // What an administrator has decided about a gene holds, so it stays: learned again it would be a candidate.
    const ids = surplus.flatMap(({ id, validation }) => (validation.decidedBy === 'operator' ? [] : id));
    await entities.erase(GeneTable, { id: { $in: ids } });
  }

  return {
    /**
     * Distils all recorded tasks. Each agent has a transaction of its own, which marks its tasks as counted: no task
     * counts twice, even after a crash.
     */
    async run(signal: AbortSignal): Promise<void> {
      if ((await nextAfter(BEFORE_ALL)) === undefined) return;
      const lease = await leases.tryAcquire(LEASE);
      if (typeof lease === 'string') return;
      await using held = lease;
      const over = AbortSignal.any([signal, held.signal]);
      rested = clock.monotonic();
      let learner = await nextAfter(BEFORE_ALL);
      let hasMore = false;
      while (learner !== undefined && !over.aborted) {
        const counted = await distil(learner, over).catch((err: unknown) => {
          if (!(err instanceof Overtaken) && !over.aborted)
            log.warn({ err, agent: learner?.agentName }, 'what an agent did could not be distilled');
          return 0;
        });
        if (counted > 0) events.emit(GenesLearned, { tenantId: learner.tenantId, agent: learner.agentName });
        // One part of each agent in turn: one that does more than can be distilled must not keep the others waiting.
        hasMore ||= counted === FRESH;
        learner = await nextAfter(learner);
        if (learner === undefined && hasMore) [learner, hasMore] = [await nextAfter(BEFORE_ALL), false];
      }
    },
  };
}
