import type { TSchema } from 'typebox';
import { markedExampleOf } from '../../foundation/base/schema-example.ts';
import { type CompiledMethod, compiledOf } from '../../kernel/grpc/compiled-service.ts';
import type { TestGateway } from '../start-test-gateway.ts';
import type { Caller } from './caller.ts';
import type { ConformanceOptions } from './options.ts';
import { damageProblems, RecordView } from './record-view.ts';
import { marked, type World } from './sample.ts';
import type { Subject } from './subject.ts';

/**
 * Reads as the owner and as a stranger through every gRPC method that reads and takes one request. What the owner saw
 * is added to `views`.
 */
export async function grpcReadProblems(
  caller: Caller,
  gateway: TestGateway,
  subject: Subject,
  { owner, stranger, made }: World,
  views: RecordView[],
): Promise<readonly string[]> {
  const { options } = subject;
  const problems: string[] = [];
  for (const { client, method } of methodsOf(gateway, subject)) {
    const { name } = method;
    if (!isReading(method) || options.shared?.includes(name)) continue;
    const request = grpcRequestFor(method, options, owner.marker, made.id);
    const show = () => caller.method(client, method, request, owner.token, 'first');
    const shown = await show();
    if (shown === undefined) continue;
    if (shown.code !== 'OK' || !made.occursIn(shown)) {
      problems.push(
        `${name} shows its own tenant nothing (${shown.code}), so it proves nothing: give "samples" or "seed", or list it as "shared"`,
      );
      continue;
    }
    views.push(new RecordView(name, shown.body, show));
    const seen = await caller.method(client, method, request, stranger.token);
    if (seen !== undefined && made.occursIn(seen)) problems.push(leakOf(name));
  }
  return problems;
}

/**
 * Calls every other gRPC method that takes one request as a stranger, who names the owner's record: what the owner sees
 * stays. An answer alone says nothing, as a method may take ids that clients choose.
 */
export async function grpcChangeProblems(
  caller: Caller,
  gateway: TestGateway,
  subject: Subject,
  { stranger, made }: World,
  views: readonly RecordView[],
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const { client, method } of methodsOf(gateway, subject)) {
    if (isReading(method)) continue;
    const request = grpcRequestFor(method, subject.options, stranger.marker, made.id);
    made.ask(encodeURIComponent(JSON.stringify(request)));
    for (const view of views) await view.settle();
    const answer = await caller.method(client, method, request, stranger.token);
    if (answer === undefined) continue;
    if (made.isShownIn(answer)) problems.push(leakOf(method.name));
    else problems.push(...(await damageProblems(method.name, views, stranger.marker)));
  }
  return problems;
}

const leakOf = (name: string) => `${name} shows a tenant what belongs to another one`;

/** The plugin's methods that ask who is calling and take one request. */
const methodsOf = (gateway: TestGateway, subject: Subject) =>
  allMethods(gateway, subject).filter(
    ({ method }) => !method.requestStream && method.access.kind !== 'public',
  );

/** All methods of a plugin, each with a client of its service. */
export function* allMethods(gateway: TestGateway, { plugin }: Subject) {
  const services = gateway.gateway.host.slots.find(plugin.name)?.current?.effects.grpc ?? [];
  for (const { declaration, methods } of services.map(compiledOf)) {
    const { proto, includeDirs, service } = declaration;
    const client = gateway.grpc({ proto, service, ...(includeDirs === undefined ? {} : { includeDirs }) });
    for (const method of methods) yield { client, method };
  }
}

function isReading({ definition }: CompiledMethod): boolean {
  return definition.effect === 'read';
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
