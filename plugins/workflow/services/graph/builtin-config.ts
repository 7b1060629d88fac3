import Type from 'typebox';
import { MAX_ITERATIONS } from '../../../agent-engine/contract.ts';
import type { JsonObject } from '../../contract/graph.ts';
import type { NodeType } from '../../contract/node-types.ts';
import type { TemplateModes } from './fill-config.ts';
import { graphCode } from './graph-rules.ts';
import { GATEWAY_HEADERS, isHeaderName, isHeaderValue } from './header-rules.ts';
import { isObject, ownMember } from './json-object.ts';
import { pointerTo } from './json-pointer.ts';
import { isLiteral, parseTemplate } from './template.ts';
import { urlFault } from './url-template.ts';

/** What a node type's `check` tells. */
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

export type ServiceMethod = (typeof SERVICE_METHODS)[number];

/** Configuration of `service_task` (specification 2, Node): all of it may hold templates. */
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
  },
  { additionalProperties: false },
);

/** All members are templates; in the URL insertions are encoded. */
export const serviceTaskTemplates: TemplateModes = { url: 'url' };

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
  return [...url, ...checkMethod(config), ...checkHeaders(config)];
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
  if (!isObject(headers)) return [];
  return Object.entries(headers).flatMap(([name, value]) => {
    const message = headerFault(name, value as string);
    return message === undefined ? [] : [{ pointer: pointerTo('headers', name), message }];
  });
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
