import type { Plugin } from '../../kernel/api/plugin.ts';
import type { CompiledRoute } from '../../kernel/http/compiled-route.ts';
import { startTestGateway, type TestGateway } from '../start-test-gateway.ts';

/** Thrown by a check: what the plugin does wrong, and what to do about it. */
export class ConformanceError extends Error {
  override readonly name = 'ConformanceError';
}

/** A gateway with the plugin in it. @throws ConformanceError when the plugin does not start. */
export async function gatewayOf(plugin: Plugin, options: ConformanceOptions): Promise<TestGateway> {
  const gateway = await startTestGateway({
    plugins: [...(options.with ?? []), plugin],
    // The suite tells of them in its own words, beside whatever else is wrong.
    allowLeaks: true,
    ...(options.env === undefined ? {} : { env: options.env }),
    ...(options.yaml === undefined ? {} : { yaml: options.yaml }),
  });
  const { state, current } = gateway.gateway.host.slot(plugin.name)!.status;
  if (state === 'active') return gateway;
  await gateway.stop();
  throw new ConformanceError(`${plugin.name} does not start, it is ${state}: ${current.reason}`);
}

/** The routes that the plugin serves now. */
export function routesOf(gateway: TestGateway, plugin: Plugin): readonly CompiledRoute[] {
  return gateway.gateway.host.slot(plugin.name)?.current?.effects.routes ?? [];
}

/** How a route is named in samples and messages: `GET /v1/notes/{id}`. */
export function nameOf(route: CompiledRoute): string {
  return `${route.methods[0]} ${route.pattern}`;
}

/** Enables or disables the plugin as an operator does. @throws ConformanceError with the gateway's own words. */
export async function turn(gateway: TestGateway, plugin: Plugin, verb: 'enable' | 'disable'): Promise<void> {
  const answer = await gateway.request(`/admin/v1/plugins/${plugin.name}/${verb}`, { method: 'POST' });
  if (answer.status !== 200)
    throw new ConformanceError(`${plugin.name} cannot be ${verb}d: ${answer.body.detail}`);
}

/** @throws ConformanceError with all the problems, when there are any. */
export function assertNone(problems: readonly string[]): void {
  if (problems.length > 0) throw new ConformanceError(problems.join('\n'));
}

/** What the suite cannot find out from the plugin itself; everything has a default. */
export interface ConformanceOptions {
  /** The plugins whose services it needs. */
  readonly with?: readonly Plugin[];
  /** Variables of the gateway and the plugin. */
  readonly env?: Readonly<Record<string, string>>;
  /** The text of gateway.yaml. */
  readonly yaml?: string;
  /** What to send to a route where values made from its schemas do not do: `{ 'POST /v1/notes': { body: { … } } }`. */
  readonly samples?: Readonly<Record<string, RouteSample>>;
  /** Reading routes that show every tenant the same (`GET /v1/models`), or nothing that is stored. */
  readonly shared?: readonly string[];
  /** Makes data of a tenant where no POST route does. What it returns are values of path parameters. */
  seed?(gateway: TestGateway, tenant: SampleTenant): Promise<Readonly<Record<string, string>>>;
}

/** Values for one route; `{marker}` in a text of the body stands for a word of the tenant's own. */
export interface RouteSample {
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A tenant of the suite. */
export interface SampleTenant {
  readonly id: string;
  /** Bearer token of a key that may do everything inside the tenant, and nothing outside. */
  readonly token: string;
  /** A word that occurs in what was made for this tenant, and nowhere else. */
  readonly marker: string;
}
