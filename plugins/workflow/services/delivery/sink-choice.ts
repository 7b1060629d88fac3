import type { Clock, Logger } from 'agent-gateway';
import type { EventSink } from '../../contract/event-sinks.ts';

const NAME = /^[a-z][a-z0-9-]{0,63}$/;
/** Milliseconds for which events are recorded for a sink that has left: three days. */
const REMEMBERED_MS = 3 * 86_400_000;
/** Sinks that have left and are remembered; of more, those that left first are forgotten. */
const MAX_LEFT = 100;

interface LeftSink {
  readonly sink: EventSink;
  /** Monotonic time. */
  readonly leftAt: number;
}

/**
 * Which sinks are registered, and which of them want the events of a tenant. A sink whose `wants` throws gets the
 * events: better once too often. A sink with an invalid name, or with the name of another one, gets nothing. Either is
 * logged once.
 */
export function createSinkChoice({
  sinks,
  clock,
  log,
}: {
  readonly sinks: () => readonly EventSink[];
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Logger;
}) {
  const broken = new WeakSet<EventSink>();
  const refused = new WeakSet<EventSink>();
  let seen: readonly EventSink[] = [];
  let usable: ReadonlyMap<string, EventSink> = new Map();
  /** By name, those first that left first. */
  const left = new Map<string, LeftSink>();

  function isUsable(sink: EventSink, others: ReadonlyMap<string, EventSink>): boolean {
    const fault = NAME.test(sink.name)
      ? others.has(sink.name) && 'another event sink has the name'
      : `the name of an event sink has to match ${NAME}`;
    if (fault === false) return true;
    if (!refused.has(sink)) log.error({ sink: sink.name }, `${fault}: it gets no events`);
    refused.add(sink);
    return false;
  }

  function byName(): ReadonlyMap<string, EventSink> {
    const now = sinks();
    if (now.length === seen.length && now.every((sink, index) => sink === seen[index])) return usable;
    const found = new Map<string, EventSink>();
    for (const sink of now) if (isUsable(sink, found)) found.set(sink.name, sink);
    for (const [name, sink] of usable) if (!found.has(name)) remember(name, sink);
    for (const name of found.keys()) left.delete(name);
    seen = [...now];
    usable = found;
    return found;
  }

  function remember(name: string, sink: EventSink): void {
    left.set(name, { sink, leftAt: clock.monotonic() });
    const [first] = left.keys();
    if (left.size <= MAX_LEFT || first === undefined) return;
    left.delete(first);
    log.error({ sink: first }, 'too many event sinks are away: no events are noted for this one any more');
  }

  function forgetOld(): void {
    const now = clock.monotonic();
    for (const [name, { leftAt }] of left) {
      if (now - leftAt <= REMEMBERED_MS) return;
      left.delete(name);
    }
  }

  function wants(sink: EventSink, tenantId: string): boolean {
    try {
      const answer = sink.wants(tenantId);
      broken.delete(sink);
      return answer;
    } catch (err) {
      if (!broken.has(sink)) log.error({ err, sink: sink.name }, 'an event sink cannot say what it wants');
      broken.add(sink);
      return true;
    }
  }

  return {
    /** Names of the sinks that are here now. */
    names: (): readonly string[] => [...byName().keys()],

    /** The sink of a name; undefined while it is not here. */
    named: (name: string) => byName().get(name),

    /**
     * Names of the sinks that want events of the tenant now, including sinks that left in the last three days and would
     * want them. Never throws; called at each commit.
     */
    wanting(tenantId: string): readonly string[] {
      const here = byName();
      forgetOld();
      const names: string[] = [];
      for (const [name, sink] of here) if (wants(sink, tenantId)) names.push(name);
      for (const [name, { sink }] of left) if (wants(sink, tenantId)) names.push(name);
      return names;
    },
  };
}
