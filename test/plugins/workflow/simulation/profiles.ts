import { type Faults, NO_FAULTS } from './faults.ts';
import type { Random } from './random.ts';

/** What is simulated, beside the seed. Milliseconds. */
export interface Profile {
  readonly name: string;
  readonly processes: number;
  readonly limits: {
    readonly maxSteps: number;
    readonly stepTimeoutMs: number;
    readonly leaseMs: number;
    readonly sweepIntervalMs: number;
    readonly concurrency: number;
  };
  /** Runs of each tenant. Those of the first start at once, the others' later. */
  readonly tenants: readonly number[];
  /** Nodes of a graph at most, beside start and ends. */
  readonly nodes: number;
  /** Share of human tasks. */
  readonly humans: number;
  /** Share of runs that somebody cancels. */
  readonly cancels: number;
  /** How long faults go on. After that everything works but a queue that is dead. */
  readonly troubleMs: number;
  readonly faults: Faults;
}

const USUAL: Profile = {
  name: 'calm',
  processes: 3,
  limits: { maxSteps: 50, stepTimeoutMs: 20_000, leaseMs: 10_000, sweepIntervalMs: 5000, concurrency: 8 },
  tenants: [4, 3, 3],
  nodes: 8,
  humans: 0.25,
  cancels: 0.15,
  troubleMs: 0,
  faults: NO_FAULTS,
};

const EFFECTS: Partial<Faults> = {
  retryableFailure: 0.15,
  finalFailure: 0.04,
  hangingEffect: 0.03,
  stubbornEffect: 0.3,
};

/** The profiles by what goes wrong in them. */
export const PROFILES: readonly Profile[] = [
  USUAL,
  { ...USUAL, name: 'dead-queue', faults: { ...NO_FAULTS, ...EFFECTS, queue: 'dead' } },
  {
    ...USUAL,
    name: 'store-errors',
    troubleMs: 60_000,
    faults: {
      ...NO_FAULTS,
      ...EFFECTS,
      failedWrite: 0.06,
      ambiguousWrite: 0.08,
      lateWrite: 0.03,
      failedRead: 0.04,
      slowCall: 0.02,
    },
  },
  {
    ...USUAL,
    name: 'crashes',
    troubleMs: 90_000,
    faults: { ...NO_FAULTS, ...EFFECTS, crashAtWrite: 0.03, crashEveryMs: 20_000, lostMessage: 0.2 },
  },
  {
    ...USUAL,
    name: 'storm',
    tenants: [3, 2],
    troubleMs: 150_000,
    faults: { ...NO_FAULTS, ...EFFECTS, crashAtWrite: 0.12, crashEveryMs: 3000, hangingEffect: 0.2 },
  },
  {
    ...USUAL,
    name: 'stalls',
    troubleMs: 120_000,
    faults: { ...NO_FAULTS, ...EFFECTS, stallEveryMs: 10_000, drift: 0.08, slowCall: 0.01 },
  },
  {
    ...USUAL,
    name: 'messages',
    troubleMs: 60_000,
    faults: { ...NO_FAULTS, ...EFFECTS, lostMessage: 0.4, repeatedMessage: 0.3, slowMessage: 0.3 },
  },
  {
    ...USUAL,
    name: 'outages',
    troubleMs: 90_000,
    faults: { ...NO_FAULTS, ...EFFECTS, outageEveryMs: 15_000, lostMessage: 0.1 },
  },
  {
    ...USUAL,
    name: 'failures',
    humans: 0.1,
    nodes: 10,
    troubleMs: 60_000,
    faults: { ...NO_FAULTS, ...EFFECTS, finalFailure: 0.25, failedWrite: 0.01, lostMessage: 0.1 },
  },
  {
    ...USUAL,
    name: 'rolling',
    troubleMs: 90_000,
    faults: { ...NO_FAULTS, ...EFFECTS, closeEveryMs: 8000, lostMessage: 0.1, failedWrite: 0.01 },
  },
  {
    ...USUAL,
    name: 'people',
    humans: 0.8,
    cancels: 0.4,
    troubleMs: 60_000,
    faults: { ...NO_FAULTS, ...EFFECTS, ambiguousWrite: 0.03, lostMessage: 0.2, slowCall: 0.02 },
  },
  {
    ...USUAL,
    name: 'crowd',
    processes: 2,
    limits: { ...USUAL.limits, concurrency: 2 },
    tenants: [150, 1, 1],
    nodes: 3,
    humans: 0,
    cancels: 0,
  },
  {
    ...USUAL,
    name: 'chaos',
    limits: { ...USUAL.limits, concurrency: 3 },
    troubleMs: 120_000,
    faults: {
      ...NO_FAULTS,
      ...EFFECTS,
      failedWrite: 0.03,
      ambiguousWrite: 0.04,
      lateWrite: 0.01,
      failedRead: 0.02,
      slowCall: 0.02,
      crashAtWrite: 0.01,
      crashEveryMs: 60_000,
      closeEveryMs: 40_000,
      stallEveryMs: 30_000,
      outageEveryMs: 50_000,
      drift: 0.05,
      lostMessage: 0.2,
      repeatedMessage: 0.1,
      slowMessage: 0.1,
    },
  },
];

/** The profile of a seed: one of them in turn, with rates of its own, and each of its faults left out now and then. */
export function profileOf(seed: number, random: Random): Profile {
  const profile = PROFILES[seed % PROFILES.length]!;
  const faults: Record<string, Faults[keyof Faults]> = { ...profile.faults };
  for (const [name, value] of Object.entries(profile.faults)) {
    if (typeof value !== 'number' || value === 0) continue;
    if (random.isTrue(0.15)) faults[name] = 0;
    else faults[name] = value * (0.4 + random.next() * 1.2);
  }
  if (random.isTrue(0.2)) faults.queue = 'dead';
  const concurrency = random.isTrue(0.25) ? random.integer(1, 2) : profile.limits.concurrency;
  return { ...profile, limits: { ...profile.limits, concurrency }, faults: faults as unknown as Faults };
}
