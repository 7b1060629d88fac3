import { field } from 'agent-gateway';
import Type, { type Static } from 'typebox';

/** Settings of the agent engine: the model provider of the alias `default`. */
export const AgentEngineConfig = Type.Object({
  api_url: field.url({
    env: 'LLM_API_URL',
    protocols: ['https', 'http'],
    unset: 'the built-in demo model answers',
    description: 'Base URL of an OpenAI-compatible server, to which `/chat/completions` is appended',
  }),
  api_key: field.string({
    env: 'LLM_API_KEY',
    secret: true,
    unset: 'no key is sent',
    description: 'API key for that server',
  }),
  model: field.string({
    env: 'LLM_MODEL',
    unset: 'the model that the client names',
    description: 'Model of the alias `default`, as that server calls it',
  }),
  include_usage: field.boolean({
    env: 'LLM_STREAM_USAGE',
    default: true,
    description: 'Asks for token counts in streams; turn it off for a server that refuses `stream_options`',
  }),
  max_retries: field.integer({
    env: 'LLM_MAX_RETRIES',
    default: 2,
    min: 0,
    max: 10,
    description: 'Further attempts after a failure of the server, before anything was answered',
  }),
  timeout: field.duration({
    env: 'LLM_TIMEOUT',
    default: '10m',
    min: '1s',
    max: '24h',
    description: 'Time that one model call may take, retries and streaming included',
  }),
  idle_timeout: field.duration({
    env: 'LLM_IDLE_TIMEOUT',
    default: '2m',
    min: '1s',
    max: '1h',
    description:
      'Time that the server may be silent before its first byte, and between the chunks of a stream',
  }),
});

/** The configuration as the plugin reads it. */
export type AgentEngineSettings = Static<typeof AgentEngineConfig>;
