import type { Authenticator } from '../auth/authenticator.ts';
import type { CompiledRoute } from '../http/compiled-route.ts';

/** A task that runs again and again while its plugin is active. */
export interface PeriodicTask {
  readonly name: string;
  readonly milliseconds: number;
  readonly task: (signal: AbortSignal) => Promise<void>;
}

/** A check that joins readiness. */
export interface Probe {
  readonly name: string;
  readonly check: (signal: AbortSignal) => Promise<void>;
}

/** A value added to somebody's extension point. */
export interface Contribution {
  readonly pointId: string;
  readonly value: unknown;
}

/** All that one set-up registered. Nothing of it is visible before the whole is published. */
export class Effects {
  readonly routes: CompiledRoute[] = [];
  readonly authenticators: Authenticator[] = [];
  readonly provided = new Map<string, unknown>();
  readonly contributions: Contribution[] = [];
  readonly tasks: PeriodicTask[] = [];
  readonly probes: Probe[] = [];
  /** Run in reverse order at stop. */
  readonly undo: (() => void | Promise<void>)[] = [];
}

/** The live effects of a plugin, for the operator's report. */
export interface EffectReport {
  readonly routes: readonly string[];
  readonly services: readonly string[];
  readonly contributions: readonly string[];
  readonly authenticators: readonly string[];
  readonly tasks: readonly string[];
  readonly probes: readonly string[];
}

/** Names what is there. */
export function reportEffects(effects: Effects): EffectReport {
  return {
    routes: effects.routes.map((r) =>
      r.kind === 'router' ? `* ${r.pattern}` : `${r.methods[0]} ${r.pattern}`,
    ),
    services: [...effects.provided.keys()],
    contributions: effects.contributions.map((c) => c.pointId),
    authenticators: effects.authenticators.map((a) => a.name),
    tasks: effects.tasks.map((t) => t.name),
    probes: effects.probes.map((p) => p.name),
  };
}
