import type { Logger } from 'agent-gateway';
import type { EventSink } from '../../contract/event-sinks.ts';

const NAME = /^[a-z][a-z0-9-]{0,63}$/;
const NOBODY: readonly string[] = [];

/** Which sinks there are, and which want what. */
export interface SinkChoice {
  /** Names of the sinks that are here now. */
  names(): readonly string[];
  /** The sink of a name; undefined while it is not here. */
  named(name: string): EventSink | undefined;
  /** Names of the sinks that want events of the tenant now. Never throws; asked at each commit. */
  wanting(tenantId: string): readonly string[];
  /** Whether a sink wants events of the tenant now. Never throws. */
  wants(sink: EventSink, tenantId: string): boolean;
}

/**
 * Makes it. A sink that throws when it is asked wants the events: better once too often. One with a name that cannot be, or that another one has, gets
 * nothing. Either is logged once.
 */
export function createSinkChoice({
  sinks,
  log,
}: {
  readonly sinks: () => readonly EventSink[];
  readonly log: Logger;
}): SinkChoice {
  const broken = new WeakSet<EventSink>();
  const refused = new WeakSet<EventSink>();
  let seen: readonly EventSink[] = [];
  let usable: ReadonlyMap<string, EventSink> = new Map();

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
    seen = [...now];
    usable = found;
    return found;
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
    names: () => [...byName().keys()],
    named: (name) => byName().get(name),
    wanting(tenantId) {
      const all = byName();
      if (all.size === 0) return NOBODY;
      return [...all].flatMap(([name, sink]) => (wants(sink, tenantId) ? [name] : []));
    },
    wants,
  };
}
