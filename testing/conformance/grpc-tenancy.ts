import type { TSchema } from 'typebox';
import { markedExampleOf } from '../../foundation/base/schema-example.ts';
import { type CompiledMethod, compiledOf } from '../../kernel/grpc/compiled-service.ts';
import type { GrpcClient } from '../grpc-client.ts';
import type { TestGateway } from '../start-test-gateway.ts';
import type { Caller } from './caller.ts';
import type { ConformanceOptions } from './options.ts';
import { marked, type World } from './sample.ts';
import type { Subject } from './subject.ts';

/** Reads as the owner and as a stranger through every gRPC method that reads and takes one request. */
export async function grpcReadProblems(
  caller: Caller,
  gateway: TestGateway,
  { plugin, options }: Subject,
  world: World,
): Promise<readonly string[]> {
  const problems: string[] = [];
  const services = gateway.gateway.host.slots.find(plugin.name)?.current?.effects.grpc ?? [];
  for (const { declaration, methods } of services.map(compiledOf)) {
    const { proto, includeDirs, service } = declaration;
    const client = gateway.grpc({ proto, service, ...(includeDirs === undefined ? {} : { includeDirs }) });
    for (const method of methods) {
      if (!isReading(method) || options.shared?.includes(method.name)) continue;
      problems.push(...(await problemsOf(caller, client, method, options, world)));
    }
  }
  return problems;
}

function isReading({ requestStream, access, definition }: CompiledMethod): boolean {
  return !requestStream && access.kind !== 'public' && definition.effect === 'read';
}

async function problemsOf(
  caller: Caller,
  client: GrpcClient,
  method: CompiledMethod,
  options: ConformanceOptions,
  { owner, stranger, made }: World,
): Promise<readonly string[]> {
  const { name } = method;
  const request = grpcRequestFor(method, options, owner.marker, made.id);
  const shown = await caller.method(client, method, request, owner.token, 'first');
  if (shown === undefined) return [];
  if (shown.code !== 'OK' || !made.occursIn(shown)) {
    return [
      `${name} shows its own tenant nothing (${shown.code}), so it proves nothing: give "samples" or "seed", or list it as "shared"`,
    ];
  }
  const seen = await caller.method(client, method, request, stranger.token);
  return seen !== undefined && made.occursIn(seen)
    ? [`${name} shows a tenant what belongs to another one`]
    : [];
}

/** The request of a method: its sample, or one that fits its schema, with `id` wherever it asks for one. */
export function grpcRequestFor(
  { name, definition }: CompiledMethod,
  { samples }: ConformanceOptions,
  marker: string,
  id: string | undefined,
): object {
  const given = samples?.[name]?.body;
  return (given === undefined ? made(definition.request, marker, id) : marked(given, marker)) as object;
}

function made(schema: TSchema | undefined, marker: string, id: string | undefined): unknown {
  if (schema === undefined) return {};
  const request = markedExampleOf(schema, marker) as Record<string, unknown>;
  for (const member of Object.keys(request)) {
    if (id !== undefined && (member === 'id' || member.endsWith('_id'))) request[member] = id;
  }
  return request;
}
