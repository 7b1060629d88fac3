import type { Logger } from 'agent-gateway';
import type { EventSink } from '../../contract/event-sinks.ts';

/** Which sinks want what. */
export interface SinkChoice {
  /** True when somebody wants events of the tenant now. Never throws; asked at each commit. */
  isWanted(tenantId: string): boolean;
  /** The sinks that want events of the tenant; undefined while there are no sinks at all, so that nobody can say. */
  wanting(tenantId: string): readonly EventSink[] | undefined;
}

/** Makes it. A sink that throws when it is asked wants the events: better once too often. It is logged once until it answers again. */
export function createSinkChoice({
  sinks,
  log,
}: {
  readonly sinks: () => readonly EventSink[];
  readonly log: Logger;
}): SinkChoice {
  const broken = new WeakSet<EventSink>();

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
    isWanted: (tenantId) => sinks().some((sink) => wants(sink, tenantId)),
    wanting(tenantId) {
      const all = sinks();
      return all.length === 0 ? undefined : all.filter((sink) => wants(sink, tenantId));
    },
  };
}
