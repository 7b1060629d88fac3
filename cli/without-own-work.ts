import type { Publication } from '../kernel/host/publication.ts';

/** The same, where plugins begin nothing by themselves: no task, no listener, no worker. What a request would find is there. */
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
