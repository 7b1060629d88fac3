import type { RunPlace } from '../../contract/engine.ts';
import type { Timers } from '../ports/timers.ts';
import { runKey } from '../run-key.ts';

/** After so long without a word from a follower, nobody is told any more. Milliseconds. */
const INTEREST_MS = 30_000;
/** A run is told of at most once in this time. Milliseconds. */
const QUIET_MS = 50;
/** Runs that other replicas follow at one time, as far as they are told of them; others are found by asking the table. */
const MAX_INTERESTS = 10_000;

interface Interest {
  until: number;
  /** Number of the last event that is to be told. */
  seq: number;
  /** Until when the run is quiet, since it was just told of. */
  quietUntil: number;
  isScheduled: boolean;
}

/** Which runs other replicas follow: only of these they are told. */
export interface Interests {
  /** Some other replica follows the run, for the next half minute. */
  announce(place: RunPlace): void;
  /** The run has events up to this number. Tells those who follow it, several changes in a short time at once. Costs nothing for other runs. */
  changed(place: RunPlace, seq: number): void;
}

/** Remembers what is followed elsewhere, and calls `tell` for it. `tell` must not throw. */
export function createInterests(timers: Timers, tell: (place: RunPlace, seq: number) => void): Interests {
  const interests = new Map<string, Interest>();

  function flush(place: RunPlace, interest: Interest): void {
    interest.quietUntil = timers.monotonic() + QUIET_MS;
    tell(place, interest.seq);
  }

  return {
    announce(place) {
      const key = runKey(place);
      const now = timers.monotonic();
      const interest = interests.get(key) ?? { until: 0, seq: 0, quietUntil: 0, isScheduled: false };
      interest.until = now + INTEREST_MS;
      // Again at the end: the map is in the order of the announcements, so that what is over stands first.
      interests.delete(key);
      interests.set(key, interest);
      for (const [oldest, { until }] of interests) {
        if (interests.size <= MAX_INTERESTS && until > now) break;
        interests.delete(oldest);
      }
    },
    changed(place, seq) {
      if (interests.size === 0) return;
      const key = runKey(place);
      const interest = interests.get(key);
      if (interest === undefined) return;
      const now = timers.monotonic();
      if (interest.until <= now) {
        interests.delete(key);
        return;
      }
      interest.seq = Math.max(interest.seq, seq);
      if (interest.isScheduled) return;
      if (interest.quietUntil <= now) {
        flush(place, interest);
        return;
      }
      interest.isScheduled = true;
      timers.after(interest.quietUntil - now, () => {
        interest.isScheduled = false;
        flush(place, interest);
      });
    },
  };
}
