import type { RunPlace } from '../contract/engine.ts';

/** Names a run in a map. Run ids have no slash. */
export function runKey({ tenantId, runId }: RunPlace): string {
  return `${tenantId}/${runId}`;
}
