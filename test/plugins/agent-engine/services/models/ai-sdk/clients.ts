import type { Logger } from 'agent-gateway';
import { systemClock } from '../../../../../../foundation/base/clock.ts';
import { createIds } from '../../../../../../foundation/base/ids.ts';
import {
  type AISDKClientOptions,
  createAISDKClient,
} from '../../../../../../plugins/agent-engine/services/models/ai-sdk/ai-sdk-client.ts';
import { loadProvider } from '../../../../../../plugins/agent-engine/services/models/ai-sdk/load-provider.ts';
import { API_KEY } from '../calls.ts';

/** A log that remembers its warnings. */
export function warningsOf(): { readonly log: Pick<Logger, 'warn'>; readonly warnings: string[] } {
  const warnings: string[] = [];
  const warn = ({ warning }: { warning: string }) => void warnings.push(warning);
  return { log: { warn } as never, warnings };
}

/** A client of an AI SDK provider for a fake server, with retries that do not wait. */
export async function clientOf(
  provider: 'anthropic' | 'google',
  url: string,
  options: Partial<AISDKClientOptions> = {},
): Promise<ReturnType<typeof createAISDKClient>> {
  const createModel = await loadProvider(`@ai-sdk/${provider}`);
  const name = provider === 'anthropic' ? 'claude-sonnet-4-5' : 'gemini-2.5-flash';
  return createAISDKClient({
    provider,
    apiKey: API_KEY,
    log: warningsOf().log,
    clock: systemClock,
    ids: createIds(systemClock),
    createModel: (fetch) => createModel({ apiKey: API_KEY, baseURL: url, fetch }, name),
    ...options,
    retry: { baseMs: 1, ...options.retry },
  });
}
