import { REFERENCE_FORMS, REFERENCE_PATTERN, Type } from 'agent-gateway';
import type { Static } from 'typebox';

/** Where provider `openai` is asked when a model names no server. */
export const OPENAI_URL = 'https://api.openai.com/v1';

/**
 * Providers of the AI SDK that come with the gateway: their packages, and where they are asked when a model names no
 * server.
 */
export const AI_SDK_PROVIDERS: Readonly<Record<string, { readonly package: string; readonly url: string }>> =
  {
    anthropic: { package: '@ai-sdk/anthropic', url: 'https://api.anthropic.com/v1' },
    google: { package: '@ai-sdk/google', url: 'https://generativelanguage.googleapis.com/v1beta' },
  };

/** A package's name, with or without a scope; no path, no version. */
const PACKAGE = '(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*';

/** `spec` of the kind Model. */
export const ModelSpec = Type.Object(
  {
    provider: Type.String({
      maxLength: 200,
      pattern: `^(openai|demo|anthropic|google|@ai-sdk/[a-z0-9][a-z0-9._-]*|npm:${PACKAGE}|plugin/[a-z][a-z0-9-]*/[a-z0-9][a-z0-9._-]*)$`,
      patternErrorMessage:
        'must be openai, anthropic, google, demo, the package of another AI SDK provider (@ai-sdk/… or npm:…), or plugin/<plugin>/<name>',
      examples: ['openai', 'anthropic', 'google', 'demo'],
      description:
        '`openai`: any server that speaks OpenAI’s chat completions. `anthropic`, `google`: their own APIs. `demo`: the built-in model, ' +
        'offline. `@ai-sdk/mistral`, `npm:some-provider`: another provider of the AI SDK, whose package has to be installed beside the gateway. `plugin/acme/llm`: a provider that the plugin `acme` brings',
    }),
    model: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'The model’s name, as the provider calls it',
    }),
    base_url: Type.Optional(
      Type.String({
        maxLength: 2_000,
        pattern: '^https?://',
        patternErrorMessage: 'must be an http:// or https:// URL',
        description: `Base URL of the server, version included; default: the provider’s own, for openai ${OPENAI_URL}`,
      }),
    ),
    api_key: Type.Optional(
      Type.String({
        maxLength: 1_000,
        pattern: REFERENCE_PATTERN,
        patternErrorMessage: `must be ${REFERENCE_FORMS}, which say where the key is; the key itself does not belong here`,
        description:
          'Where the key is: `env:NAME` for a variable, `file:PATH` for a file, `plugin/acme/vault:PATH` or `…#KEY` for the secret store of a plugin; without it openai is asked without a key',
      }),
    ),
    context_length: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100_000_000,
        description:
          'Tokens that fit into a conversation: history gets half of them at most, and agents shorten old outputs of tools to fit',
      }),
    ),
    capabilities: Type.Optional(
      Type.Array(Type.String({ pattern: '^[a-z][a-z0-9_-]{0,31}$' }), {
        maxItems: 16,
        uniqueItems: true,
        description:
          'What it can do (`tools`, `vision`, `json`, `reasoning`); information for the choice of a model',
      }),
    ),
    fallbacks: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        maxItems: 4,
        uniqueItems: true,
        description:
          'Other Model resources that are asked, in this order, when this one fails before it answered',
      }),
    ),
  },
  { description: 'A model behind an alias, which is metadata.name' },
);

/** A checked `spec` of the kind Model. */
export type ModelSpec = Static<typeof ModelSpec>;

/** The kind Model, as far as editors need to know it. */
export const ModelKind = {
  kind: 'Model',
  summary: 'A model behind an alias, which is its name',
  spec: ModelSpec,
} as const;
