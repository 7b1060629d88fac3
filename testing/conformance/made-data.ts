import { markedExampleOf } from '../../foundation/base/schema-example.ts';
import type { Plugin } from '../../kernel/api/plugin.ts';
import type { CompiledRoute } from '../../kernel/http/compiled-route.ts';
import type { TestGateway, TestResponse } from '../start-test-gateway.ts';
import { type ConformanceOptions, nameOf, routesOf, type SampleTenant } from './gateway-of.ts';
import { Made, marked, sampleParams } from './sample.ts';

/** The routes of a plugin that ask who is calling. */
export function tenantRoutes(gateway: TestGateway, plugin: Plugin): readonly CompiledRoute[] {
  return routesOf(gateway, plugin).filter(
    ({ definition, access }) => definition !== undefined && access.kind !== 'public',
  );
}

/** Makes data of a tenant: what `seed` makes, and one record with each POST route. */
export async function makeData(
  gateway: TestGateway,
  plugin: Plugin,
  options: ConformanceOptions,
  owner: SampleTenant,
): Promise<Made> {
  const made = new Made(owner);
  made.know(await options.seed?.(gateway, owner));
  for (const route of tenantRoutes(gateway, plugin).filter(({ methods }) => methods.includes('POST'))) {
    made.learn(route, await send(gateway, route, options, owner, made));
  }
  return made;
}

/** Sends a tenant's request to a route, with samples in its parameters and its body. */
export function send(
  gateway: TestGateway,
  route: CompiledRoute,
  { samples }: ConformanceOptions,
  tenant: SampleTenant,
  known: Made,
): Promise<TestResponse> {
  const sample = samples?.[nameOf(route)];
  const schema = route.definition?.schema?.body;
  const made = schema === undefined ? undefined : markedExampleOf(schema, tenant.marker);
  const body = sample?.body === undefined ? made : marked(sample.body, tenant.marker);
  return gateway.request(
    sampleParams(route, { ...known.paramsOf(route), ...sample?.params }, tenant.marker),
    {
      method: route.methods[0]!,
      token: tenant.token,
      ...(body === undefined ? {} : { body }),
    },
  );
}
