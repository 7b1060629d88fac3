import type { ExecutionContext } from 'ava';
import type { TestGatewayOptions } from '../../../../testing/index.ts';
import {
  type FakeProvider,
  type ProviderScript,
  plain,
  startFakeProvider,
  startSharedProvider,
  stream,
} from '../../../support/fake-provider.ts';
import { shared } from '../../../support/shared.ts';
import { type PlatformGateway, startPlatform } from '../platform-gateway.ts';

export const COMPLETIONS = '/v1/chat/completions';
export const AGENT = '/v1/agent/chat';
export const USER = { role: 'user', content: 'Hi' };

/** An answer of the gateway. */
export type Answer = Awaited<ReturnType<PlatformGateway['request']>>;

/** A gateway in front of a provider. */
export interface ChatGateway {
  readonly gateway: PlatformGateway;
  readonly provider: FakeProvider;
  /** Posts a chat; the model is `default`, the message `Hi`. */
  chat(
    body?: object,
    more?: { path?: string; headers?: Record<string, string>; token?: string; signal?: AbortSignal },
  ): Promise<Answer>;
}

/** The variables of a gateway whose model `default` is this provider. */
export function providerEnv(provider: Pick<FakeProvider, 'url'>): Record<string, string> {
  return {
    LLM_API_URL: provider.url,
    LLM_API_KEY: 'provider-key',
    LLM_MODEL: 'fake-model',
    LLM_MAX_RETRIES: '0',
  };
}

/** Starts a gateway whose model `default` is a provider with the given scripts. */
export async function startChat(
  t: ExecutionContext,
  scripts: readonly ProviderScript[] = [],
  options: Omit<TestGatewayOptions, 'plugins'> = {},
): Promise<ChatGateway> {
  const provider = await startFakeProvider(...scripts);
  t.teardown(() => provider[Symbol.asyncDispose]());
  // What is provisioned for a tenant in the background would come into some of the prompts.
  const env = { OBJECT_STORE_URL: 'none', ...providerEnv(provider), ...options.env };
  const gateway = await startPlatform(t, { ...options, env });
  return { gateway, provider, chat: chatOf(gateway.request) };
}

/** What a test has of a gateway that it shares: requests are those of its tenant, unless they bring another token. */
export interface SharedChat {
  readonly gateway: Pick<PlatformGateway, 'request' | 'makeTenant' | 'tenant' | 'key'> & {
    /** A key of the tenant that may do everything inside it. */
    readonly token: string;
    /** The operator's token. */
    readonly operator: string;
  };
  /** Has seen the requests of this test alone. */
  readonly provider: Pick<FakeProvider, 'requests'>;
  readonly chat: ChatGateway['chat'];
}

/**
 * The same for a file whose tests share a gateway: each has a tenant and scripts of its own. For scripts that answer:
 * failures of several tests in a row would have the gateway leave the provider alone.
 *
 * @example
 * const startShared = sharedChats();
 * test('…', async () => { const { chat } = await startShared([says()]); });
 */
export function sharedChats(): (scripts?: readonly ProviderScript[]) => Promise<SharedChat> {
  const start = shared(async (file) => {
    const provider = await startSharedProvider();
    file.teardown(() => provider[Symbol.asyncDispose]());
    const env = { OBJECT_STORE_URL: 'none', ...providerEnv(provider) };
    return { provider, site: await startPlatform(file, { env }) };
  });
  let tests = 0;
  return async (scripts = []) => {
    const { provider, site } = await start();
    tests += 1;
    const name = `test-${tests}`;
    const tenant = await site.makeTenant(name);
    let sent = 0;
    const request: PlatformGateway['request'] = (path, { headers, token = tenant.token, ...more } = {}) => {
      sent += 1;
      return site.request(path, {
        ...more,
        token,
        headers: { 'x-request-id': `${name}.${sent}`, ...headers },
      });
    };
    const key = (settings: Record<string, unknown> = {}) => site.key({ tenant_id: tenant.id, ...settings });
    const { makeTenant, tenant: another, token: operator } = site;
    return {
      gateway: { request, makeTenant, tenant: another, key, token: tenant.token, operator },
      provider: provider.answer(name, scripts),
      chat: chatOf(request),
    };
  };
}

function chatOf(request: PlatformGateway['request']): ChatGateway['chat'] {
  return (body = {}, { path = COMPLETIONS, ...more } = {}) =>
    request(path, { method: 'POST', body: { model: 'default', messages: [USER], ...body }, ...more });
}

/** An answer of these words, plain or streamed, as it is asked for. */
export function says(text = 'Hello.'): ProviderScript {
  return (reply) => (reply.request.body?.stream === true ? stream([text]) : plain(text))(reply);
}

/** The events of a stream: the name, where it has one, and the data, parsed where it is JSON. */
export function eventsOf({ body }: Pick<Answer, 'body'>) {
  const blocks = String(body)
    .split('\n\n')
    .filter((block) => block.startsWith('data:') || block.startsWith('event:'));
  return blocks.map((block) => {
    const data = block.slice(block.indexOf('data: ') + 6);
    const event = /^event: (.*)\n/.exec(block)?.[1];
    return { ...(event !== undefined && { event }), data: data === '[DONE]' ? data : JSON.parse(data) };
  });
}

/** The text of a streamed answer. */
export function streamedText(answer: Pick<Answer, 'body'>): string {
  return eventsOf(answer)
    .map(({ data }) => data.choices?.[0]?.delta?.content ?? '')
    .join('');
}
