import type { Static, TSchema } from 'typebox';
import { withExample } from '../../foundation/base/schema-example.ts';
import { Type } from '../../foundation/base/type.ts';
import { Timestamp } from '../../foundation/base/wire.ts';
import { type Desired, entryOf } from '../../foundation/config/desired.ts';
import { access } from '../api/access.ts';
import { type Route, route } from '../api/route.ts';
import { type EffectReport, reportEffects } from './effects.ts';
import { GatewayFileError, PluginChangeError, PluginErrors } from './errors.ts';
import type { GatewayConfiguration } from './gateway-configuration.ts';
import type { PluginHost } from './plugin-host.ts';
import type { PluginState, Slot } from './slot.ts';

const READ = access.governance(['ops:read'], { operator: true });
const WRITE = access.governance(['ops:write'], { operator: true });

const Text = Type.String();
const OrNull = <S extends TSchema>(schema: S, options = {}) => Type.Union([schema, Type.Null()], options);
const Names = Type.Unsafe<readonly string[]>(Type.Array(Text, { examples: [[]] }));
const Change = Type.Object({ state: Text, reason: Text, at: Timestamp });
const Effects = Type.Record(Text, Type.Array(Text), { examples: [{ routes: ['GET /v1/notes'] }] });

/** A plugin as `GET /admin/v1/plugins` shows it. */
const Report = Type.Object({
  name: Type.String({ examples: ['notes'] }),
  version: Type.String({ examples: ['1.0.0'] }),
  enabled: Type.Boolean(),
  state: Type.Unsafe<PluginState>(Type.String({ examples: ['active'] })),
  reason: Type.String({ examples: ['started'] }),
  summary: Type.String({ examples: ['Notes of users'] }),
  folder: Type.String({ examples: ['plugins/notes'] }),
  generation: OrNull(Type.Integer(), {
    description: 'How often its code was imported before; null for a plugin that lies in no folder',
  }),
  since: Timestamp,
  config_hash: OrNull(Text, {
    description: 'Of the configuration in force, secrets included, so that replicas can be compared',
  }),
  started_at: OrNull(Timestamp),
  start_ms: OrNull(Type.Integer()),
  in_flight: Type.Integer({ examples: [0] }),
  needs: Names,
  wants: Names,
  offers: Names,
  effects: Type.Unsafe<EffectReport | null>(OrNull(Effects)),
  last_error: OrNull(Type.Object({ message: Text, at: Timestamp })),
  leaks: Type.Unsafe<readonly string[]>({
    ...Names,
    description: 'What could not be undone at the latest stop',
  }),
  history: Type.Array(Change, { examples: [[]] }),
});
const Disabled = withExample(Report, {
  enabled: false,
  state: 'stopped',
  reason: 'disabled in gateway.yaml',
});
const Name = Type.Object({ name: Type.String({ maxLength: 64 }) });

/** The administration of plugins: what runs, and enable, disable, reload, written through to `gateway.yaml`. */
export function pluginRoutes(
  host: PluginHost,
  configuration: GatewayConfiguration,
  version: string,
): readonly Route[] {
  const slotOf = (name: string) => {
    const slot = host.slots.find(name);
    if (slot === undefined) throw PluginErrors.notFound(`There is no plugin "${name}"`);
    return slot;
  };
  const report = (slot: Slot) => reportPlugin(slot, host.desired, version);
  const change = (verb: 'enable' | 'disable' | 'reload', summary: string, shown = Report) =>
    route({
      method: 'POST',
      path: `/admin/v1/plugins/{name}/${verb}`,
      access: WRITE,
      summary,
      tag: 'plugins',
      schema: { params: Name, responses: { 200: shown } },
      handle: async ({ params }) => {
        slotOf(params.name);
        try {
          await configuration[verb](params.name);
        } catch (failure) {
          // Its message names file and line; the file may hold secrets, so no value.
          if (failure instanceof GatewayFileError)
            throw PluginErrors.fileInvalid(failure.message, { cause: failure.cause });
          if (!(failure instanceof PluginChangeError)) throw failure;
          // As the plugin's report says it: with the file and line of its code, and without credentials.
          const { plugin, cause, message } = failure;
          const told = host.slots.find(plugin)?.lastError?.message ?? message;
          throw PluginErrors.changeFailed(new PluginChangeError(plugin, told).message, { cause });
        }
        return report(slotOf(params.name));
      },
    });
  return [
    route({
      method: 'GET',
      path: '/admin/v1/plugins',
      access: READ,
      summary: 'List the plugins with their state',
      tag: 'plugins',
      schema: { responses: { 200: Type.Object({ plugins: Type.Array(Report), total: Type.Integer() }) } },
      handle: async () => {
        const plugins = await Promise.all(host.slots.all.map(report));
        return { plugins, total: plugins.length };
      },
    }),
    route({
      method: 'GET',
      path: '/admin/v1/plugins/{name}',
      access: READ,
      summary: 'Read the state of a plugin',
      tag: 'plugins',
      schema: { params: Name, responses: { 200: Report } },
      handle: ({ params }) => report(slotOf(params.name)),
    }),
    change('enable', 'Enable a plugin'),
    change('disable', 'Disable a plugin; its calls in flight end first', Disabled),
    change('reload', 'Set a plugin up anew'),
  ];
}

/** Describes a slot in short. `version` is the gateway's, for plugins that state none of their own. */
export function pluginStatus({ name, plugin, status }: Slot, desired: Desired, version: string) {
  return {
    name,
    version: plugin?.version ?? version,
    enabled: entryOf(desired, name).enabled,
    state: status.state,
    reason: status.current.reason,
  };
}

/** Describes a slot. `version` is the gateway's, for plugins that state none of their own. */
async function reportPlugin(slot: Slot, desired: Desired, version: string): Promise<Static<typeof Report>> {
  const { plugin, current, status, lastError } = slot;
  return {
    ...pluginStatus(slot, desired, version),
    summary: plugin?.summary ?? '',
    folder: slot.folder,
    generation: slot.generation ?? null,
    since: status.current.at.toISOString(),
    config_hash: (await current?.configHash) ?? null,
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
    history: status.changes.map(({ state, reason, at }) => ({ state, reason, at: at.toISOString() })),
  };
}

function refIds(refs: Readonly<Record<string, { id: string }>> | undefined): readonly string[] {
  return Object.values(refs ?? {}).map((ref) => ref.id);
}
