import type { RunStore } from '../ports/run-store.ts';
import { redactEvents } from './records.ts';
import type { Redactor } from './redaction.ts';

/** The store with a gate before it: what the events of a run say holds no credential when it is written. All else goes through as it is. */
export function redactingStore(store: RunStore, redactor: Redactor): RunStore {
  return {
    now: () => store.now(),
    create: (creation) => store.create({ ...creation, events: redactEvents(creation.events, redactor) }),
    read: (place) => store.read(place),
    runOfStep: (tenantId, stepId) => store.runOfStep(tenantId, stepId),
    commit: (commit) => store.commit({ ...commit, events: redactEvents(commit.events, redactor) }),
    due: (limit) => store.due(limit),
    orphans: (limit) => store.orphans(limit),
    owned: (worker) => store.owned(worker),
    join: (worker, leaseMs) => store.join(worker, leaseMs),
    renew: (worker, leaseMs) => store.renew(worker, leaseMs),
    leave: (worker) => store.leave(worker),
  };
}
