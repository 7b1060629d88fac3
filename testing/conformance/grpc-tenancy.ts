import type { TSchema } from 'typebox';
import { markedExampleOf } from '../../foundation/base/schema-example.ts';
import type { Plugin } from '../../kernel/api/plugin.ts';
import { type CompiledMethod, compiledOf } from '../../kernel/grpc/compiled-service.ts';
import type { GrpcClient } from '../grpc-client.ts';
import type { TestGateway } from '../start-test-gateway.ts';
import type { ConformanceOptions } from './gateway-of.ts';
import { marked, type World } from './sample.ts';

/** Reads as the owner and as a stranger through every gRPC method that reads and takes one request. */
export async function grpcReadProblems(
  gateway: TestGateway,
  plugin: Plugin,
  options: ConformanceOptions,
  world: World,
): Promise<readonly string[]> {
  const problems: string[] = [];
  const services = gateway.gateway.host.slot(plugin.name)?.current?.effects.grpc ?? [];
  for (const { declaration, methods } of services.map(compiledOf)) {
    const { proto, includeDirs, service } = declaration;
    const client = gateway.grpc({ proto, service, ...(includeDirs === undefined ? {} : { includeDirs }) });
    for (const method of methods) {
      if (!isReading(method) || options.shared?.includes(method.name)) continue;
      problems.push(...(await problemsOf(client, method, options, world)));
    }
  }
  return problems;
}

function isReading({ requestStream, access, definition }: CompiledMethod): boolean {
  return !requestStream && access.kind !== 'public' && definition.effect === 'read';
}

async function problemsOf(
  client: GrpcClient,
  { name, definition }: CompiledMethod,
  { samples }: ConformanceOptions,
  { owner, stranger, made }: World,
): Promise<readonly string[]> {
  const given = samples?.[name]?.body;
  const request = (
    given === undefined ? requestFor(definition.request, owner.marker, made.id) : marked(given, owner.marker)
  ) as object;
  const method = name.slice(name.lastIndexOf('/') + 1);
  const shown = await client.call(method, request, { token: owner.token });
  if (shown.code !== 'OK' || !made.occursIn({ body: shown.messages })) {
    return [
      `${name} shows its own tenant nothing (${shown.code}), so it proves nothing: give "samples" or "seed", or list it as "shared"`,
    ];
  }
  const seen = await client.call(method, request, { token: stranger.token });
  return made.occursIn({ body: seen.messages }) ? [`${name} shows a tenant what belongs to another one`] : [];
}

/** A request that fits the schema, with the id of what the owner made wherever it asks for one. */
function requestFor(schema: TSchema | undefined, marker: string, id: string | undefined): unknown {
  if (schema === undefined) return {};
  const request = markedExampleOf(schema, marker) as Record<string, unknown>;
  for (const member of Object.keys(request)) {
    if (id !== undefined && (member === 'id' || member.endsWith('_id'))) request[member] = id;
  }
  return request;
}
