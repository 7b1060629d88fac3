import { field, Type } from 'agent-gateway';
import type { Static } from 'typebox';
import { DISCOUNT } from './rules/confidence.ts';

/** The id of a deployment that has set none. */
export const DEFAULT_SENDER = 'gateway-local';

/** Settings of evolution. */
export const EvolutionConfig = Type.Object({
  address: field.address({
    env: 'SVC_RUNTIME_ADDR',
    default: '0.0.0.0:8888',
    description:
      'Address of the v2 API; it is served on the gateway’s own address as well, unless `SVC_ONE_PORT=false`',
  }),
  enabled: field.boolean({
    env: 'EVOLUTION_ENABLED',
    default: false,
    description:
      'Whether agents with `spec.evolution.enabled` learn from their runs and are advised; false: nothing is recorded, and no prompt changes',
  }),
  sender_id: field.string({
    env: 'EVOLUTION_SENDER_ID',
    default: DEFAULT_SENDER,
    min: 1,
    max: 128,
    description:
      'Id of this deployment among those that share genes; with `EVOLUTION_HUB_URL` letters, digits and `. _ : @ -`, with a letter or digit first',
  }),
  min_confidence: field.number({
    env: 'EVOLUTION_MIN_CONFIDENCE',
    default: 0.5,
    min: 0,
    max: 1,
    description: 'Confidence from which on a gene is recommended; an agent can name its own',
  }),
  max_suggestions: field.integer({
    env: 'EVOLUTION_MAX_SUGGESTIONS',
    default: 3,
    min: 0,
    max: 20,
    description: 'Suggestions in the advice of one run at most; an agent can name fewer or more',
  }),
  holdout: field.number({
    env: 'EVOLUTION_HOLDOUT',
    default: 0.1,
    min: 0,
    max: 1,
    description: 'Share of sessions that get no advice, so that the statistics can tell what advice brings',
  }),
  discount: field.number({
    env: 'EVOLUTION_DISCOUNT',
    default: DISCOUNT,
    min: 0.5,
    max: 1,
    description: 'What an earlier use counts beside the one after it',
  }),
  distill_interval: field.duration({
    env: 'EVOLUTION_DISTILL_INTERVAL',
    default: '5s',
    min: '100ms',
    max: '1h',
    description: 'Time between two distillations of what was recorded into genes',
  }),
  hub_url: field.list({
    env: 'EVOLUTION_HUB_URL',
    unset: 'genes stay in this deployment',
    description:
      'Addresses of the experience hubs whose genes `/admin/evolution/federated` searches, and in which the plugin `hub` makes this gateway a node; 8 at most',
  }),
  hub_api_key: field.list({
    env: 'EVOLUTION_HUB_API_KEY',
    secret: true,
    unset: 'hubs are asked without a key',
    description: 'Bearer key for the hubs, or one for each in their order',
  }),
});

export type EvolutionSettings = Static<typeof EvolutionConfig>;
