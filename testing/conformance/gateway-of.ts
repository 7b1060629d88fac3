import type { Plugin } from '../../kernel/api/plugin.ts';
import type { CompiledRoute } from '../../kernel/http/compiled-route.ts';
import { startTestGateway, type TestGateway } from '../start-test-gateway.ts';
import type { ConformanceOptions } from './conformance-options.ts';

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
