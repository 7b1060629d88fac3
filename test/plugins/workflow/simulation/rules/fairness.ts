import type { World } from '../world.ts';

/** Added to the sweep's interval: time until a place comes free, in milliseconds. */
const PLACE_MS = 3000;

/**
 * Says which tenant had to wait behind another's crowd: where nothing goes wrong, a run of a tenant with one run takes
 * no longer than its own work, and one sweep and a free place for each step.
 */
export function checkFairness({ profile, store, deliveries }: World): string[] {
  const crowd = Math.max(...profile.tenants);
  if (crowd < 50 || profile.troubleMs > 0) return [];
  const work = new Map<string, { ms: number; steps: number }>();
  for (const { runId, startedAt, endedAt } of deliveries.executions.values()) {
    const { ms, steps } = work.get(runId) ?? { ms: 0, steps: 0 };
    work.set(runId, { ms: ms + (endedAt ?? startedAt) - startedAt, steps: steps + 1 });
  }
  const wrong: string[] = [];
  for (const { state } of store.runs()) {
    const isAlone = profile.tenants[Number(state.tenantId.slice(1))] === 1;
    if (!isAlone || state.completedAt === null) continue;
    const { ms, steps } = work.get(state.id) ?? { ms: 0, steps: 0 };
    const bound = ms + (steps + 1) * (profile.limits.sweepIntervalMs + PLACE_MS);
    const took = state.completedAt - state.startedAt;
    if (took > bound)
      wrong.push(`the one run of ${state.tenantId} took ${took} ms, ${Math.round(bound)} at most`);
  }
  return wrong;
}
