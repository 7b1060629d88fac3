import type { RunState, StepState } from '../../../../plugins/workflow/services/core/state.ts';
import type { RunStore } from '../../../../plugins/workflow/services/ports/run-store.ts';
import type { Tampering } from './world.ts';

/** A mistake that somebody could make one day, and the profile in which it shows. */
export interface Mistake {
  /** "finds …" */
  readonly title: string;
  readonly profile: string;
  readonly tampering: Tampering;
  /** What the simulation says of it. */
  readonly told: RegExp;
}

const before = (change: (store: RunStore) => Partial<RunStore>): Tampering => ({
  store: (store) => ({ ...store, ...change(store) }),
});

/** Known mistakes: a simulation that does not find one of them is no good. */
export const MISTAKES: readonly Mistake[] = [
  {
    title: 'a store that forgets to compare the revision',
    profile: 'people',
    told: /computed from what is not stored/,
    tampering: before((store) => ({
      async commit(commit) {
        const { tenantId, id } = commit.before;
        const revision = (await store.read({ tenantId, runId: id }))!.revision;
        const after = { ...commit.after, revision: revision + 1 };
        return store.commit({ ...commit, before: { ...commit.before, revision }, after });
      },
    })),
  },
  {
    title: 'a runner that takes a refused commit for a stored one',
    profile: 'people',
    told: /is not stored|is stored$|nobody claimed it|does nothing for it|is not$/,
    tampering: before((store) => ({ commit: async (commit) => (await store.commit(commit)) || true })),
  },
  {
    title: 'a database that acknowledges commits and loses one in ten',
    profile: 'calm',
    told: /is not stored|is stored$|nobody claimed it|does nothing for it|is not$/,
    tampering: before((store) => {
      let commits = 0;
      return {
        async commit(commit) {
          commits += 1;
          return commits % 10 === 0 ? true : store.commit(commit);
        },
      };
    }),
  },
  {
    title: 'runs that nobody takes over when their worker is gone',
    profile: 'crashes',
    told: /nobody takes it over/,
    tampering: before(() => ({ orphans: async () => [] })),
  },
  {
    title: 'runs that are taken from workers that are alive',
    profile: 'calm',
    told: /which is alive/,
    tampering: before((store) => {
      const owners = new Map<string, { tenantId: string; runId: string; owner: string }>();
      const note = ({ id, tenantId, owner }: RunState) => {
        if (owner === null) owners.delete(id);
        else owners.set(id, { tenantId, runId: id, owner });
      };
      return {
        commit: async (commit) => {
          note(commit.after);
          return store.commit(commit);
        },
        orphans: async () => [...owners.values()],
      };
    }),
  },
  {
    title: 'a delivery that has the fence of the one before it',
    profile: 'crashes',
    told: /a second time|went back|nobody claimed it|not stored/,
    tampering: before((store) => ({
      commit: (commit) => store.commit({ ...commit, after: withSteps(commit.after, oldFence) }),
    })),
  },
  {
    title: 'a retry that nobody is told to look at',
    profile: 'dead-queue',
    told: /wakeAt is null/,
    tampering: before((store) => ({
      commit: (commit) => {
        const isRetry = [...commit.after.steps.values()].some(({ readyAt }) => readyAt !== null);
        return store.commit(isRetry ? { ...commit, after: { ...commit.after, wakeAt: null } } : commit);
      },
    })),
  },
  {
    title: 'due runs that nobody finds when messages are lost',
    profile: 'dead-queue',
    told: /nobody looks|does not come to an end/,
    tampering: before(() => ({ due: async () => [] })),
  },
  {
    title: 'calls that go on when their time is over',
    profile: 'dead-queue',
    told: /nobody waits for it|longer than a step may take|carries out \d+ steps/,
    tampering: {
      parts: (parts) => ({
        ...parts,
        execute: (work) => parts.execute({ ...work, signal: new AbortController().signal }),
      }),
    },
  },
  {
    title: 'an event that is missing',
    profile: 'calm',
    told: /event \d+ was written where|events, seq is/,
    tampering: before((store) => ({
      commit: (commit) =>
        store.commit({ ...commit, events: commit.events.filter(({ seq }) => seq % 7 !== 0) }),
    })),
  },
  {
    title: 'due runs that are served in the order of their age, whosever they are',
    profile: 'crowd',
    told: /the one run of t\d took/,
    tampering: before((store) => ({
      async due(limit) {
        const all = await store.due(1000);
        const byTenant = [...all].sort((one, other) => (one.tenantId < other.tenantId ? -1 : 1));
        return byTenant.slice(0, limit);
      },
    })),
  },
];

function withSteps(state: RunState, change: (step: StepState) => StepState): RunState {
  return { ...state, steps: new Map([...state.steps].map(([nodeId, step]) => [nodeId, change(step)])) };
}

function oldFence(step: StepState): StepState {
  return step.delivery > 1 ? { ...step, delivery: 1 } : step;
}
