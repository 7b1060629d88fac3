import { assertOutsideTransaction, isJsonObject, outbound, parsedJson, readAnswer } from 'agent-gateway';
import type { Platform } from '../../contract.ts';
import type { Addresses } from '../addresses.ts';
import { ChannelErrors } from '../errors.ts';
import { createFeishu } from './feishu.ts';
import type { Answer, Arrival, Departure, Provider, ProviderRequest } from './provider.ts';
import { createWecom } from './wecom.ts';
import { createWeixin } from './weixin.ts';

/** Milliseconds for all calls of one login together (decisions 1.10). */
const TIMEOUT_MS = 25_000;
/** Bytes of an answer at most; real ones have a few hundred. */
const MAX_ANSWER = 64 * 1024;
/** Connections to one host. */
const CONNECTIONS = 16;

export type Providers = ReturnType<typeof createProviders>;

/**
 * The providers, over connections of their own; nothing is connected, and undici not loaded, before the first call.
 * `timeout` in milliseconds, default 25,000.
 */
export function createProviders(
  origins: Addresses['origins'],
  { timeout = TIMEOUT_MS }: { readonly timeout?: number } = {},
) {
  const all: Readonly<Record<Platform, Provider>> = {
    feishu: createFeishu(origins.feishu),
    weixin: createWeixin(origins.weixin),
    wecom: createWecom(origins.wecom),
  };
  const agent = outbound({ connections: CONNECTIONS, connectMs: timeout });

  async function ask({ url, body, bearer }: ProviderRequest, signal: AbortSignal): Promise<Answer> {
    const dispatcher = await agent.connect();
    signal.throwIfAborted();
    const response = await dispatcher.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json; charset=utf-8' }),
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal,
    });
    const text = (await readAnswer(response.body, MAX_ANSWER, 'the answer')).toString();
    if (response.statusCode >= 300 && response.statusCode < 400) throw new Error('the provider redirects');
    return parse(text);
  }

  return {
    /** Where the secrets of apps of a platform are sent. */
    apiOf: (platform: Platform) => all[platform].api,
    /** The page on which people log in. */
    authorizeUrl: (platform: Platform, departure: Departure) => all[platform].authorizeUrl(departure),

    /**
     * The id of the user who came back, as from `Provider.identify`, within 25 s. Rejects with the reason of `caller`.
     */
    async identify(platform: Platform, arrival: Arrival, caller: AbortSignal): Promise<string> {
      assertOutsideTransaction(`the login at ${platform}`);
      const deadline = AbortSignal.timeout(timeout);
      const signal = AbortSignal.any([caller, deadline]);
      return all[platform].identify(arrival, async (request) => {
        try {
          return await ask(request, signal);
        } catch (cause) {
          if (caller.aborted) throw caller.reason;
          if (deadline.aborted) throw ChannelErrors.providerTimeout(undefined, { cause });
          throw ChannelErrors.providerFailed(undefined, { cause });
        }
      });
    },

    /** Aborts the calls that are in progress. */
    close: agent.destroy,
  };
}

/** Leaves out the parser's message, which quotes the answer. */
function parse(text: string): Answer {
  const value = parsedJson(text);
  if (value === undefined) throw new Error('the answer is no JSON');
  if (isJsonObject(value)) return value;
  throw new Error('the answer is no JSON object');
}
