import Type, { type Static } from 'typebox';

/** Providers that there is a client for. */
export const PROVIDERS = ['openai', 'demo'] as const;

/** Where provider `openai` is asked when a model names no server. */
export const OPENAI_URL = 'https://api.openai.com/v1';

/** `spec` of the kind Model. */
export const ModelSpec = Type.Object(
  {
    provider: Type.Enum([...PROVIDERS], {
      description:
        '`openai`: any server that speaks OpenAI’s chat completions. `demo`: the built-in model, offline',
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
        description: `Base URL of the server, to which /chat/completions is appended; default ${OPENAI_URL}`,
      }),
    ),
    api_key: Type.Optional(
      Type.String({
        maxLength: 1_000,
        pattern: '^(env:[A-Za-z_][A-Za-z0-9_]*|file:.+)$',
        patternErrorMessage:
          'must be env:NAME or file:PATH, which say where the key is; the key itself does not belong here',
        description:
          'Where the key is: `env:NAME` for a variable, `file:PATH` for a file; without it no key is sent',
      }),
    ),
    context_length: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100_000_000,
        description: 'Tokens that fit into a conversation; information for whoever chooses a model',
      }),
    ),
    capabilities: Type.Optional(
      Type.Array(Type.String({ pattern: '^[a-z][a-z0-9_-]{0,31}$' }), {
        maxItems: 16,
        uniqueItems: true,
        description:
          'What it can do (`tools`, `vision`, `json`, `reasoning`); information for whoever chooses a model',
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
