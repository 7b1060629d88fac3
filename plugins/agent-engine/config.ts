import { field, Type } from 'agent-gateway';
import type { Static } from 'typebox';
import { preambleTokens } from '../records/contract.ts';
import { SandboxConfig } from './services/sandbox/sandbox-config.ts';

/**
 * Settings of the agent engine. `api_url`, `api_key` and `model` are of the model alias `default`; time limits hold for
 * all models.
 */
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
      'Time that the server may be silent before the first byte of a stream, and between the pieces of any answer; one that is not streamed may begin at any time within `LLM_TIMEOUT`',
  }),
  embedding_provider: field.choice(['openai'], {
    env: 'EMBEDDING_PROVIDER',
    offers: true,
    default: 'openai',
    description:
      'What turns texts into vectors: `openai`, a server that speaks OpenAI’s `/embeddings`, or `plugin/<plugin>/<name>`, an embedder of a plugin, which gets the settings below',
  }),
  embedding_model: field.string({
    env: 'EMBEDDING_MODEL',
    unset: 'built-in embeddings, which see words and not meaning',
    max: 255,
    description: 'Model that turns texts into vectors, as its provider calls it',
  }),
  embedding_api_url: field.url({
    env: 'EMBEDDING_API_URL',
    protocols: ['https', 'http'],
    unset: '`LLM_API_URL`; an embedder of a plugin gets none',
    description: 'Base URL of the server for embeddings, to which `/embeddings` is appended',
  }),
  embedding_api_key: field.string({
    env: 'EMBEDDING_API_KEY',
    secret: true,
    unset: '`LLM_API_KEY`, where the URL is the same; an embedder of a plugin gets none',
    description: 'API key for that server',
  }),
  embedding_dimensions: field.integer({
    env: 'EMBEDDING_DIMENSIONS',
    min: 1,
    max: 8192,
    unset: "the model's own",
    description: 'Size of the vectors to ask for, of models that let it be chosen',
  }),
  preamble_tokens: preambleTokens,
  history_tokens: field.integer({
    env: 'SVC_HISTORY_TOKENS',
    default: 32_000,
    min: 0,
    max: 1_000_000,
    description:
      'Tokens, estimated, of stored history that a turn sees; never more than half of a known context length',
  }),
  guard_input: field.choice(['block', 'report'], {
    env: 'SVC_GUARD_INPUT',
    default: 'block',
    description:
      'What an attack in what users send or tools return leads to: `block`, a refusal, or `report`, a line in the log',
  }),
  guard_output: field.choice(['block', 'report'], {
    env: 'SVC_GUARD_OUTPUT',
    default: 'block',
    description: 'What an unsafe answer leads to: `block` or `report`',
  }),
  mcp_stdio_allow: field.list({
    env: 'SVC_MCP_STDIO_ALLOW',
    default: [],
    description: 'Programs that may be started as MCP servers, exactly as McpServer resources name them',
  }),
  sandbox: SandboxConfig,
});

/** The configuration as the plugin reads it. */
export type AgentEngineSettings = Static<typeof AgentEngineConfig>;
