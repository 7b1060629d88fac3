import { isJsonObject } from 'agent-gateway';
import type { Guard } from '../../../agent-engine/contract.ts';
import type { Json, JsonObject } from '../../contract/graph.ts';
import type { NewEvent } from '../core/commands.ts';
import { ownMember } from '../graph/json.ts';
import type { RunStore } from '../ports/run-store.ts';

/** What the views need of the guardrails. */
export type Redactor = Pick<Guard, 'redact' | 'redactJsonText'>;

/**
 * The value with every credential in its strings replaced, at any depth; a string is judged together with the name of
 * its member. A value without credentials is returned unchanged.
 */
export function redactJson<T extends Json>(redactor: Redactor, value: T): T {
  if (!holdsText(value)) return value;
  const text = JSON.stringify(value);
  const redacted = redactor.redactJsonText(text);
  return redacted === text ? value : (JSON.parse(redacted) as T);
}

/** True when some string is in it: numbers and flags need no look at their text. */
function holdsText(value: Json): boolean {
  if (typeof value === 'string') return value !== '';
  if (value === null || typeof value !== 'object') return false;
  return (Array.isArray(value) ? value : Object.values(value)).some(holdsText);
}

const MASKED = '[REDACTED:header]';
const MASKED_QUERY = '[REDACTED:query]';
/** A parameter of a query. No part of it can begin in another one, so that long texts take no longer than they are. */
const PARAMETER = /([?&])([^?&=#]*)=([^&#]*)/g;
const WHOLE_TEMPLATE = /^\{\{[^{}]*\}\}$/;

/**
 * A configuration, filled in or as written, with the values of sensitive headers and of sensitive parameters of its URL
 * always masked: a credential for the called service need not look like one here.
 */
export function maskConfig(config: JsonObject): JsonObject {
  return maskUrl(maskHeaders(config));
}

function maskHeaders(config: JsonObject): JsonObject {
  const headers = ownMember(config, 'headers');
  if (!isJsonObject(headers)) return config;
  const entries = Object.entries(headers);
  if (!entries.some(([name]) => isSensitiveName(name))) return config;
  const masked = entries.map(([name, value]) => [name, isSensitiveName(name) ? MASKED : value]);
  return { ...config, headers: Object.fromEntries(masked) };
}

function maskUrl(config: JsonObject): JsonObject {
  const url = ownMember(config, 'url');
  if (typeof url !== 'string') return config;
  const masked = url.replaceAll(PARAMETER, (parameter: string, mark: string, name: string, value: string) =>
    isSensitiveName(name) && value !== '' && !WHOLE_TEMPLATE.test(value)
      ? `${mark}${name}=${MASKED_QUERY}`
      : parameter,
  );
  return masked === url ? config : { ...config, url: masked };
}

const SENSITIVE = /auth|cookie|credential|key|pass|pwd|secret|session|sig|token/i;

/**
 * Whether a header or a parameter of a URL is named like a credential, percent-encoded or not: its value is never
 * shown. It is better to hide one value too many: the graph or the service still has it.
 */
export function isSensitiveName(name: string): boolean {
  return SENSITIVE.test(decoded(name));
}

function decoded(name: string): string {
  if (!name.includes('%')) return name;
  try {
    return decodeURIComponent(name);
  } catch {
    // Broken escapes: each that is whole still counts.
    return name.replaceAll(/%([2-7][0-9a-f])/gi, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
  }
}

/** The store, with credentials taken out of events before they are written. All else goes through as it is. */
export function redactingStore(store: RunStore, redactor: Redactor): RunStore {
  return {
    ...store,
    create: (creation) => store.create({ ...creation, events: redactEvents(creation.events, redactor) }),
    commit: (commit) => store.commit({ ...commit, events: redactEvents(commit.events, redactor) }),
  };
}

/** Events with data that may be stored. Costs next to nothing for events without text. */
export function redactEvents(events: readonly NewEvent[], redactor: Redactor): readonly NewEvent[] {
  return events.map((event) => {
    const data = redactJson(redactor, event.data);
    return data === event.data ? event : { ...event, data };
  });
}
