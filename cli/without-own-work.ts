import type { Publication } from '../kernel/host/publication.ts';

/** The same publication, where plugins start no background work: no task, no listener, no worker. Everything that requests need is there. */
export function withoutOwnWork(publication: Publication): Publication {
  return {
    ...publication,
    prepare(leaving, arriving) {
      for (const { instance } of arriving.values()) {
        const { tasks, listeners, hints, workers, drains } = instance.effects;
        for (const effects of [tasks, listeners, hints, workers, drains]) effects.length = 0;
      }
      return publication.prepare(leaving, arriving);
    },
  };
}
