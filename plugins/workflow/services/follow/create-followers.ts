import { type Events, linkSignals, recentMap, TransientMap } from 'agent-gateway';
import { type RunPlace, WorkflowErrors } from '../../contract/engine.ts';
import type { RunEventRecord } from '../../contract/runs.ts';
import type { RunQueries } from '../../store/run-queries.ts';
import type { NewEvent } from '../core/commands.ts';
import type { RunState } from '../core/state.ts';
import type { Timers } from '../ports/runtime.ts';
import { type ReplicaMessages, type RunMessage, toMessage, toPlace } from '../replica-messages.ts';
import { runKey } from '../run-key.ts';
import { isTerminal, toEventRecord } from '../views/records.ts';
import { type Redactor, redactEvents } from '../views/redaction.ts';
import { createWatch, type Watch, type WatchParts } from './watch.ts';

/** Events that a follower reads at one time. */
const PAGE = 100;
/** How soon after its beginning a follower is announced to other replicas; then repeatedly. Milliseconds. */
const FIRST_ANNOUNCEMENT_MS = 20;
const ANNOUNCEMENT_MS = 10_000;

/** What followers work with. */
export interface FollowersParts extends WatchParts {
  readonly queries: Pick<RunQueries, 'events' | 'position'>;
  readonly events: Pick<Events, 'emit' | 'reach'>;
  readonly messages: Pick<ReplicaMessages, 'follow' | 'changed'>;
  readonly redactor: Redactor;
}

interface Watched {
  readonly watch: Watch;
  followers: number;
  stopAnnouncing: () => void;
}

export type Followers = ReturnType<typeof createFollowers>;

/**
 * Follows runs of one engine as they go on. Events come from the table or, straight after their commit, from this
 * process; messages of other replicas and a poll say when there is more, so that with all messages lost a follower is a
 * second late (five while the run waits).
 */
export function createFollowers(parts: FollowersParts) {
  const { queries, isRunningHere, events, messages, redactor, timers, log } = parts;
  const watched = new TransientMap<string, Watched>();
  let isClosed = false;
  const remote = createRemoteFollowers(timers, (place, seq) =>
    emit(messages.changed, { ...toMessage(place), seq }),
  );

  function emit<T>(event: Parameters<typeof events.emit<T>>[0], payload: NoInfer<T>): void {
    try {
      events.emit(event, payload);
    } catch (error) {
      log.warn({ err: error, event: event.id }, 'an event could not be emitted');
    }
  }

  /** Announces repeatedly to other replicas that the run is followed; not with a single replica. */
  function announce(place: RunPlace, entry: Watched, inMs: number): void {
    if (events.reach === 'process') return;
    entry.stopAnnouncing = timers.after(inMs, () => {
      emit(messages.follow, toMessage(place));
      announce(place, entry, ANNOUNCEMENT_MS);
    });
  }

  function enter(place: RunPlace): Watch & Disposable {
    const key = runKey(place);
    let entry = watched.get(key);
    if (entry === undefined) {
      entry = {
        watch: createWatch(place, { queries, isRunningHere, timers, log }),
        followers: 0,
        stopAnnouncing() {},
      };
      watched.set(key, entry);
      if (isClosed) entry.watch.close();
      else announce(place, entry, FIRST_ANNOUNCEMENT_MS);
    }
    const { watch } = entry;
    entry.followers += 1;
    return { ...watch, [Symbol.dispose]: () => leave(key, entry) };
  }

  function leave(key: string, entry: Watched): void {
    entry.followers -= 1;
    if (entry.followers > 0) return;
    entry.stopAnnouncing();
    entry.watch.close();
    if (watched.get(key) === entry) watched.delete(key);
  }

  /**
   * All events after a number, in order, each once. Throws `workflow.run-not-found` for a run that is not there. Ends
   * after the terminal event, when no further events can come, and when the signal aborts. A slow follower reads from
   * the table.
   */
  async function* follow(place: RunPlace, after: number, signal: AbortSignal): AsyncIterable<RunEventRecord> {
    using watch = enter(place);
    let last = after;
    while (!signal.aborted) {
      const page = await queries.events({ ...place, after: last, limit: PAGE });
      // Every run has events: without any there is no such run.
      if (page.total === 0) throw WorkflowErrors.runNotFound(`There is no workflow run "${place.runId}".`);
      watch.heard(page.total);
      let records: readonly RunEventRecord[] = page.events.map(toEventRecord);
      let wasEmpty = records.length === 0;
      for (;;) {
        for (const record of records) {
          yield record;
          if (isTerminal(record)) return;
          last = record.seq;
        }
        const news = await watch.next(last, wasEmpty, signal);
        if (news === 'ended') return;
        if (news === 'read') break;
        ({ records } = news);
        wasEmpty = false;
      }
    }
  }

  return {
    follow,

    /**
     * Resolves when the run is not `running` any more, with its state where that is at hand; else when the time is over
     * or `signal` aborts.
     */
    async settled(place: RunPlace, timeoutMs: number, signal: AbortSignal): Promise<RunState | undefined> {
      using watch = enter(place);
      using waiting = linkSignals(signal);
      const cancel = timers.after(timeoutMs, () => waiting.abort(undefined));
      try {
        return await watch.settled(waiting.signal);
      } finally {
        cancel();
      }
    },

    /**
     * The runner's hook: these events were committed here. Never throws; costs nothing for a run that is not followed.
     */
    committed(state: RunState, committedEvents: readonly NewEvent[]): void {
      const place = { tenantId: state.tenantId, runId: state.id };
      remote.changed(place, state.seq);
      const entry = watched.size === 0 ? undefined : watched.get(runKey(place));
      if (entry === undefined) return;
      let records: readonly RunEventRecord[] | undefined;
      entry.watch.committed(state, () => {
        // They come from the runner, before the gate of the store.
        records ??= redactEvents(committedEvents, redactor).map(toEventRecord);
        return records;
      });
    },

    /** Another replica reports that it follows a run. */
    onFollow(message: RunMessage, { origin }: { readonly origin: 'local' | 'remote' }): void {
      // Followers in this process are notified of its commits anyway.
      if (origin === 'remote') remote.announce(toPlace(message));
    },

    /** A replica reports that a run has changed. */
    onChanged(message: RunMessage & { readonly seq: number }): void {
      watched.get(runKey(toPlace(message)))?.watch.heard(message.seq);
    },

    /** Ends all followers. */
    close(): void {
      isClosed = true;
      for (const { watch, stopAnnouncing } of watched.values()) {
        stopAnnouncing();
        watch.close();
      }
      watched.clear();
    },
  };
}

/** How long a following replica is notified after its last announcement. Milliseconds. */
const REMEMBERED_MS = 30_000;
/** Replicas are notified of a run at most once in this time. Milliseconds. */
const QUIET_MS = 50;
/** Runs of which other replicas are notified at one time; changes of further runs they find in the table. */
const MAX_REMOTE = 10_000;

interface RemoteFollower {
  until: number;
  /** Number of the last event. */
  seq: number;
  /** No notification before, since there was one just now. */
  quietUntil: number;
  isScheduled: boolean;
}

/** Which runs other replicas follow: they are notified only of these, by `notify`, which must not throw. */
function createRemoteFollowers(timers: Timers, notify: (place: RunPlace, seq: number) => void) {
  const remote = recentMap<RemoteFollower>(MAX_REMOTE);

  function flush(place: RunPlace, follower: RemoteFollower): void {
    follower.quietUntil = timers.monotonic() + QUIET_MS;
    notify(place, follower.seq);
  }

  return {
    /** Another replica follows the run, for the next half minute. */
    announce(place: RunPlace): void {
      const key = runKey(place);
      const follower = remote.get(key) ?? { until: 0, seq: 0, quietUntil: 0, isScheduled: false };
      follower.until = timers.monotonic() + REMEMBERED_MS;
      remote.set(key, follower);
    },

    /**
     * The run has events up to this number. Notifies the replicas that follow it, with one notification for several
     * changes in a short time.
     */
    changed(place: RunPlace, seq: number): void {
      const key = runKey(place);
      const follower = remote.get(key);
      if (follower === undefined) return;
      const now = timers.monotonic();
      if (follower.until <= now) {
        remote.delete(key);
        return;
      }
      follower.seq = Math.max(follower.seq, seq);
      if (follower.isScheduled) return;
      if (follower.quietUntil <= now) {
        flush(place, follower);
        return;
      }
      follower.isScheduled = true;
      timers.after(follower.quietUntil - now, () => {
        follower.isScheduled = false;
        flush(place, follower);
      });
    },
  };
}
