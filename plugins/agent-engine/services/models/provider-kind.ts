import { AI_SDK_PROVIDERS, type ModelSpec, OPENAI_URL } from '../../kinds/model.ts';

/** How a model's provider is reached: by our own client, by the built-in model, or through a package of the AI SDK. */
export type ProviderKind =
  | { readonly client: 'demo'; readonly name: 'demo' }
  | { readonly client: 'openai'; readonly name: 'openai'; readonly url: string }
  | {
      readonly client: 'ai-sdk';
      /** Short, as it is shown and metered: `anthropic`, `mistral`. */
      readonly name: string;
      readonly package: string;
      /** Undefined where only the package knows. */
      readonly url: string | undefined;
      /** Whether no call can be made without `api_key`: packages would look for a variable of their own then. */
      readonly needsKey: boolean;
    };

/** Reads `provider` and `base_url` of a Model. `@ai-sdk/anthropic` is the same as `anthropic`. Pure. */
export function providerKind({ provider, base_url }: Pick<ModelSpec, 'provider' | 'base_url'>): ProviderKind {
  if (provider === 'demo') return { client: 'demo', name: 'demo' };
  if (provider === 'openai') return { client: 'openai', name: 'openai', url: base_url ?? OPENAI_URL };
  const packageName = AI_SDK_PROVIDERS[provider]?.package ?? provider.replace(/^npm:/, '');
  const known = Object.entries(AI_SDK_PROVIDERS).find(([, entry]) => entry.package === packageName);
  return {
    client: 'ai-sdk',
    name: known?.[0] ?? packageName.replace(/^@ai-sdk\//, ''),
    package: packageName,
    url: base_url ?? known?.[1].url,
    needsKey: known !== undefined,
  };
}

/** What circuit breakers tell endpoints apart by, and logs and metrics show: the provider and its host. */
export function endpointOf(name: string, url: string | undefined): string {
  const host = url === undefined ? undefined : URL.parse(url)?.host;
  return host === undefined ? name : `${name} ${host}`;
}
