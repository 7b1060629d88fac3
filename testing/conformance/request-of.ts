import { markedExampleOf } from '../../foundation/base/schema-example.ts';
import { BODY_TYPES } from '../../foundation/http/body.ts';
import type { CompiledRoute } from '../../kernel/http/compiled-route.ts';
import { nameOf } from './gateway-of.ts';
import type { ConformanceOptions, RouteSample } from './options.ts';
import { type Made, marked, sampleParams } from './sample.ts';

/** What is sent to a route. */
export interface SampleRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | FormData | undefined;
}

/**
 * The request of a tenant to a route: what its sample says, and for the rest values that its schemas allow, with
 * `marker` in each text.
 */
export function requestOf(
  route: CompiledRoute,
  { samples }: ConformanceOptions,
  marker: string,
  known: Made,
): SampleRequest {
  const sample = marked(samples?.[nameOf(route)] ?? {}, marker) as RouteSample;
  const where = sampleParams(route, { ...known.paramsOf(route), ...sample.params }, marker);
  const query = new URLSearchParams({
    ...neededQuery(route, marker, known),
    ...sample.query,
  }).toString();
  const body = bodyOf(route, sample, marker);
  const type: Record<string, string> = typeof body === 'string' ? { 'content-type': typeOf(route) } : {};
  return {
    method: route.methods[0]!,
    path: query === '' ? where : `${where}?${query}`,
    headers: { ...type, ...sample.headers },
    body,
  };
}

/** The members of the query without which the route refuses a call, and those that "seed" has named. */
function neededQuery(
  { definition }: CompiledRoute,
  marker: string,
  { seeded }: Made,
): Record<string, string> {
  const schema = definition?.schema?.query as { properties?: Record<string, object> } | undefined;
  if (schema === undefined) return {};
  const members = Object.entries(markedExampleOf(schema, marker) ?? {}).filter(
    ([name, value]) => typeof value !== 'object' && !('default' in (schema.properties?.[name] ?? {})),
  );
  const named = Object.entries(seeded).filter(([name]) => name in (schema.properties ?? {}));
  return Object.fromEntries([...members.map(([name, value]) => [name, String(value)]), ...named]);
}

function bodyOf({ definition }: CompiledRoute, sample: RouteSample, marker: string): SampleRequest['body'] {
  const { schema, bodyType } = definition ?? {};
  const value =
    sample.body ?? (schema?.body === undefined ? undefined : markedExampleOf(schema.body, marker));
  if (value === undefined || typeof value === 'string') return value as string | undefined;
  return bodyType === 'form' ? formOf(schema?.body, value as object) : JSON.stringify(value);
}

/** A form, with files for its binary members. */
function formOf(schema: unknown, members: object): FormData {
  const { properties = {} } = (schema ?? {}) as {
    properties?: Record<string, { readonly format?: string }>;
  };
  const form = new FormData();
  for (const [name, value] of Object.entries(members)) {
    if (properties[name]?.format === 'binary') form.set(name, new File([String(value)], `${name}.txt`));
    else form.set(name, String(value));
  }
  return form;
}

function typeOf({ definition }: CompiledRoute): string {
  const { bodyType = 'json' } = definition ?? {};
  return bodyType === 'raw' ? 'application/octet-stream' : BODY_TYPES[bodyType];
}
