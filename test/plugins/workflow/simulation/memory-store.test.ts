import test from 'ava';
import { runStoreSuite } from '../store/run-store-suite.ts';
import type { Subject } from '../store/suite/subject.ts';
import { createMemoryStore } from './memory-store.ts';

/** A store whose clock goes on by 10 ms whenever somebody waits for something. */
function memorySubject(): Subject {
  let now = Date.UTC(2026, 0, 1);
  const memory = createMemoryStore({ now: () => now });
  return {
    store: memory.connect('the test'),
    now: async () => now,
    events: async ({ runId }) => memory.run(runId)?.events ?? [],
    async eventually(condition) {
      for (let tries = 0; tries < 1000; tries += 1) {
        if (await condition()) return;
        now += 10;
      }
      throw new Error('not so within 10 s of its clock');
    },
  };
}

runStoreSuite((title, run) =>
  test(`the memory store of simulations: ${title}`, (t) => run(t, memorySubject())),
);
