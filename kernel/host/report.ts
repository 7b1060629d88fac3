import { type Desired, entryOf } from './desired.ts';
import { type EffectReport, reportEffects } from './effects.ts';
import type { Slot } from './slot.ts';
import type { StatusChange } from './status.ts';

/** A plugin as `GET /admin/v1/plugins` shows it. */
export interface PluginReport {
  readonly name: string;
  readonly summary: string;
  readonly version: string;
  readonly enabled: boolean;
  readonly folder: string;
  /** How often its code was imported before; `null` for a plugin that lies in no folder. */
  readonly generation: number | null;
  readonly state: StatusChange['state'];
  readonly reason: string;
  readonly since: string;
  /** Of the configuration in force, secrets included, so that replicas can be compared. */
  readonly config_hash: string | null;
  readonly started_at: string | null;
  readonly start_ms: number | null;
  readonly in_flight: number;
  readonly needs: readonly string[];
  readonly wants: readonly string[];
  readonly offers: readonly string[];
  readonly effects: EffectReport | null;
  readonly last_error: { readonly message: string; readonly at: string } | null;
  /** What could not be undone at the latest stop. */
  readonly leaks: readonly string[];
  readonly history: readonly { readonly state: string; readonly reason: string; readonly at: string }[];
}

/** Describes a slot. `version` is the gateway's, for plugins that state none of their own. */
export function reportPlugin(slot: Slot, desired: Desired, version: string): PluginReport {
  const { plugin, current, status, lastError } = slot;
  return {
    name: slot.name,
    summary: plugin?.summary ?? '',
    version: plugin?.version ?? version,
    enabled: entryOf(desired, slot.name).enabled,
    folder: slot.folder,
    generation: slot.generation ?? null,
    state: status.state,
    reason: status.current.reason,
    since: status.current.at.toISOString(),
    config_hash: current?.configHash ?? null,
    started_at: slot.startedAt?.toISOString() ?? null,
    start_ms: slot.startMilliseconds === undefined ? null : Math.round(slot.startMilliseconds),
    in_flight: current?.inFlight.size ?? 0,
    needs: refIds(plugin?.needs),
    wants: refIds(plugin?.wants),
    offers: plugin?.offers?.map((ref) => ref.id) ?? [],
    effects: current === undefined ? null : reportEffects(current.effects),
    last_error:
      lastError === undefined ? null : { message: lastError.message, at: lastError.at.toISOString() },
    leaks: slot.leaks,
    history: status.history.map(({ state, reason, at }) => ({ state, reason, at: at.toISOString() })),
  };
}

function refIds(refs: Readonly<Record<string, { id: string }>> | undefined): readonly string[] {
  return Object.values(refs ?? {}).map((ref) => ref.id);
}
