import Type from 'typebox';
import { access } from '../api/access.ts';
import { type Route, route } from '../api/route.ts';
import { GatewayFileError, PluginChangeError, PluginErrors } from './errors.ts';
import type { GatewayConfiguration } from './gateway-configuration.ts';
import type { PluginHost } from './plugin-host.ts';
import { reportPlugin } from './report.ts';

const READ = access.governance(['ops:read'], { operator: true });
const WRITE = access.governance(['ops:write'], { operator: true });

const Report = Type.Object(
  { name: Type.String(), state: Type.String(), reason: Type.String(), enabled: Type.Boolean() },
  {
    additionalProperties: true,
    description: 'A plugin with its state, effects, configuration hash and latest error',
  },
);
const Name = Type.Object({ name: Type.String({ maxLength: 64 }) });

/** The administration of plugins: what runs, and enable, disable, reload, written through to `gateway.yaml`. */
export function pluginRoutes(
  host: PluginHost,
  configuration: GatewayConfiguration,
  version: string,
): readonly Route[] {
  const report = (name: string) => {
    const slot = host.slot(name);
    if (slot === undefined) throw PluginErrors.notFound(`There is no plugin "${name}"`);
    return reportPlugin(slot, host.desired, version);
  };
  const change = (verb: 'enable' | 'disable' | 'reload', summary: string) =>
    route({
      method: 'POST',
      path: `/admin/v1/plugins/{name}/${verb}`,
      access: WRITE,
      summary,
      tag: 'plugins',
      schema: { params: Name, responses: { 200: Report } },
      handle: async ({ params }) => {
        report(params.name);
        try {
          await configuration[verb](params.name);
        } catch (failure) {
          // Its message names file and line; the file may hold secrets, so no value.
          if (failure instanceof GatewayFileError)
            throw PluginErrors.fileInvalid(failure.message, { cause: failure.cause });
          if (!(failure instanceof PluginChangeError)) throw failure;
          throw PluginErrors.changeFailed(failure.message, { cause: failure.cause });
        }
        return report(params.name);
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
      handle: () => {
        const plugins = host.slots.map((slot) => report(slot.name));
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
      handle: ({ params }) => report(params.name),
    }),
    change('enable', 'Enable a plugin'),
    change('disable', 'Disable a plugin; its calls in flight end first'),
    change('reload', 'Set a plugin up anew'),
  ];
}
