import { isJsonObject, Type } from 'agent-gateway';
import { MAX_ITERATIONS } from '../../../agent-engine/contract.ts';
import type { JsonObject } from '../../contract/graph.ts';
import type { NodeType } from '../../contract/node-types.ts';
import type { Filled } from './compiled-graph.ts';
import { createFill, type Fill, type TemplateModes } from './fill-config.ts';
import { graphCode } from './graph-schema.ts';
import { ownMember, pointerTo } from './json.ts';
import { readDuration } from './retry-policy.ts';
import { isLiteral, parseTemplate, wholeReference } from './template.ts';

/** What a node type's `check` reports. */
type ConfigProblems = ReturnType<NonNullable<NodeType['check']>>;

/** Configuration of `agent_task` (specification 2, Node). */
export const AgentTaskConfig = Type.Object(
  {
    prompt: Type.String({ minLength: 1, description: 'What the agent is asked. May hold templates' }),
    agent: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 63,
        description:
          'An agent of agents.d; default: the default agent, with every tool that the tenant may use',
      }),
    ),
    model: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'Alias of the model; default: the agent’s own',
      }),
    ),
    max_iterations: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_ITERATIONS,
        description: `Calls of the model at most; default: the agent’s own number, or ${MAX_ITERATIONS}`,
      }),
    ),
  },
  { additionalProperties: false },
);

/** The prompt alone is a template. */
export const agentTaskTemplates: TemplateModes = { agent: 'none', model: 'none' };

/** Methods of a service task. */
export const SERVICE_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const;

type ServiceMethod = (typeof SERVICE_METHODS)[number];

/** Configuration of `service_task` (specification 2, Node): all of it but `secret_headers` may hold templates. */
export const ServiceTaskConfig = Type.Object(
  {
    url: Type.String({
      minLength: 1,
      maxLength: 8_192,
      description:
        'An http or https URL. What templates insert is percent-encoded; a URL that is one template as a whole is taken as it is',
    }),
    method: Type.Optional(
      Type.String({
        description: `${SERVICE_METHODS.join(', ')}, in upper or lower case; default: GET, or POST with a body`,
      }),
    ),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String({ maxLength: 8_192 }), {
        maxProperties: 64,
        description: 'Header fields of the request',
      }),
    ),
    body: Type.Optional(Type.Unknown({ description: 'Any JSON; not with GET and HEAD' })),
    secret_headers: Type.Optional(
      Type.Record(Type.String(), Type.String({ maxLength: 1_100 }), {
        maxProperties: 10,
        description:
          'Headers whose values are secrets of the deployment: `{"Authorization": "Bearer env:ACME_TOKEN"}`, `{"X-API-Key": "file:acme/key"}`, or the secret store of a plugin (`plugin/acme/vault:team/api#key`). The operator lists what may be named in SVC_TENANT_SECRETS. Templates are not filled in here',
      }),
    ),
  },
  { additionalProperties: false },
);

/** In the URL insertions are encoded. */
export const serviceTaskTemplates: TemplateModes = { url: 'url', secret_headers: 'none' };

/** The method that a text means, in upper or lower case; `undefined` for another text. */
export function serviceMethod(written: string): ServiceMethod | undefined {
  const method = written.trim().toUpperCase();
  return SERVICE_METHODS.find((known) => known === method);
}

/** What the schema of `agent_task` cannot say. */
export function checkAgentTask(config: JsonObject): ConfigProblems {
  const blank = textOf(config, 'prompt').trim() === '' ? [{ pointer: '/prompt', message: 'is blank.' }] : [];
  const filled = ['agent', 'model']
    .filter((name) => !isLiteral(parseTemplate(textOf(config, name))))
    .map((name) => ({
      pointer: pointerTo(name),
      code: graphCode('template'),
      message: 'is not filled in with data: write a name without {{ }}.',
    }));
  return [...blank, ...filled];
}

/** What the schema of `service_task` cannot say. */
export function checkServiceTask(config: JsonObject): ConfigProblems {
  const fault = urlFault(textOf(config, 'url'));
  const url = fault === undefined ? [] : [{ pointer: '/url', code: graphCode('url'), message: fault }];
  return [...url, ...checkMethod(config), ...checkHeaders(config), ...checkReceiver(config)];
}

function checkMethod(config: JsonObject): ConfigProblems {
  const written = ownMember(config, 'method');
  if (typeof written !== 'string' || !isLiteral(parseTemplate(written))) return [];
  const method = serviceMethod(written);
  if (method === undefined) {
    const message = `is not known. Methods are ${SERVICE_METHODS.join(', ')}.`;
    return [{ pointer: '/method', code: graphCode('method'), message }];
  }
  if ((method !== 'GET' && method !== 'HEAD') || !Object.hasOwn(config, 'body')) return [];
  return [{ pointer: '/body', message: `cannot be sent with ${method}. Leave it out, or use POST.` }];
}

function checkHeaders(config: JsonObject): ConfigProblems {
  const headers = ownMember(config, 'headers');
  if (!isJsonObject(headers)) return [];
  return Object.entries(headers).flatMap(([name, value]) => {
    const message = headerFault(name, value as string);
    return message === undefined ? [] : [{ pointer: pointerTo('headers', name), message }];
  });
}

/**
 * The data of a run may choose the whole URL. The caller that starts the run, or a model, writes that data, so a secret
 * is never sent along.
 */
function checkReceiver(config: JsonObject): ConfigProblems {
  const secrets = ownMember(config, 'secret_headers');
  if (!isJsonObject(secrets) || Object.keys(secrets).length === 0) return [];
  const url = ownMember(config, 'url');
  if (typeof url !== 'string' || hasLiteralOrigin(url)) return [];
  const message =
    'go to whatever host the data of a run name. Write scheme and host of "url" out (https://api.example.com/{{input.path}}), or leave the secrets out.';
  return [{ pointer: '/secret_headers', code: graphCode('secret-host'), message }];
}

function headerFault(name: string, value: string): string | undefined {
  if (!isHeaderName(name)) return 'is no name of a header: letters, digits and - only, no templates.';
  if (GATEWAY_HEADERS.has(name.toLowerCase())) return 'cannot be set: the gateway makes it. Leave it out.';
  // What templates insert is looked at when the request is made.
  const isSendable = parseTemplate(value).parts.every(
    (part) => typeof part !== 'string' || isHeaderValue(part),
  );
  return isSendable
    ? undefined
    : 'must not hold line breaks, other control characters, or characters outside of ISO 8859-1: it could not be sent.';
}

function textOf(config: JsonObject, name: string): string {
  const value = ownMember(config, name);
  return typeof value === 'string' ? value : '';
}

const WEB = /^https?:\/\//i;
/** Scheme, host and port, and what ends them. */
const ORIGIN = /^https?:\/\/[^/?#\\]+[/?#\\]/i;

/** Whether scheme, host and port are written out, so that nothing that is inserted decides who gets the request. */
function hasLiteralOrigin(written: string): boolean {
  const [first, ...rest] = parseTemplate(written).parts;
  return typeof first === 'string' && (rest.length === 0 ? WEB.test(first) : ORIGIN.test(first));
}

/**
 * What is wrong with the URL of a service task, as far as it is known before its templates are filled in; `undefined`
 * when nothing is.
 */
function urlFault(written: string): string | undefined {
  const template = parseTemplate(written);
  // `checkTemplates` reports what is wrong with its braces.
  if (template.faults.length > 0 || wholeReference(template) !== undefined) return undefined;
  const [first = ''] = template.parts;
  if (typeof first !== 'string') {
    return (
      'begins with a template and goes on: what is inserted is percent-encoded, which spoils a scheme and host. ' +
      'Write them out, or make the whole URL one template.'
    );
  }
  if (!WEB.test(first)) return 'must begin with http:// or https://.';
  const isKnown = template.parts.length === 1 || ORIGIN.test(first);
  if (!isKnown) return undefined;
  if (!URL.canParse(first)) return 'is no URL.';
  const { username, password } = new URL(first);
  return username === '' && password === ''
    ? undefined
    : 'must not hold a user name or password. Send an authorization header.';
}

/**
 * Fields of the connection (RFC 9110, 7.6.1), and those that come from the URL and the body: the gateway makes them.
 * Lower-case.
 */
export const GATEWAY_HEADERS: ReadonlySet<string> = new Set(
  'connection content-length expect host http2-settings keep-alive proxy-authorization proxy-connection te trailer transfer-encoding upgrade'.split(
    ' ',
  ),
);

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;
/** No line feed can end a field early, and no character needs an encoding that the receiver has to guess. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** True for a text that can be the name of a header field (RFC 9110, 5.1). */
export function isHeaderName(text: string): boolean {
  return NAME.test(text);
}

/**
 * True for a text that can be sent as the value of a header field, or as a part of one: ISO 8859-1 without control
 * characters but tabs.
 */
export function isHeaderValue(text: string): boolean {
  return VALUE.test(text);
}

/** Configuration of a human task (specification 2, Node). */
export const HumanTaskConfig = Type.Object(
  {
    assignee: Type.Optional(
      Type.String({
        maxLength: 256,
        description:
          'Who may complete it: a user id, or `role:<name>`; empty: anybody who may execute. May hold templates: where they lead to nothing, only ' +
          'administrators may complete it',
      }),
    ),
    instructions: Type.Optional(Type.String({ description: 'What to do, for people. May hold templates' })),
    timeout: Type.Optional(
      Type.String({
        description:
          'Time from its activation (`72h`) after which it completes with the outcome `timeout`, where an edge has it, or fails. No template',
      }),
    ),
  },
  { additionalProperties: false },
);

/** How long the person has. `undefined`: for ever. Throws for a timeout that `checkGraph` refuses. */
export function readTimeout(config: JsonObject): number | undefined {
  const written = ownMember(config, 'timeout');
  if (written === undefined) return undefined;
  const duration = readDuration(written, MIN_TIMEOUT);
  if ('fault' in duration) throw new Error(`The timeout of a human task ${duration.fault}`);
  return duration.milliseconds;
}

/** Milliseconds of a timeout at least. */
export const MIN_TIMEOUT = 1;

/**
 * Fills a human task in. An assignee is always text. If its templates led to nothing, the task is not open to all
 * users, but only to administrators.
 */
export function createHumanFill(config: JsonObject): Fill {
  const fill = createFill(config, { timeout: 'none' });
  const isAssigned = (ownMember(config, 'assignee') ?? '') !== '';
  return (data) => {
    const filled = fill(data);
    return isAssigned ? { ...filled, input: { ...filled.input, assignee: assigneeOf(filled) } } : filled;
  };
}

const NOBODY_BUT_ADMINISTRATORS = 'role:admin';

function assigneeOf({ input }: Filled): string {
  const assignee = input.assignee ?? '';
  const text = typeof assignee === 'string' ? assignee.trim() : JSON.stringify(assignee);
  return text === '' ? NOBODY_BUT_ADMINISTRATORS : text;
}
