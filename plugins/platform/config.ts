import { field, Type } from 'agent-gateway';

/** Settings of the platform plugin. */
export const PlatformConfig = Type.Object({
  tenant_retention: field.duration({
    env: 'SVC_TENANT_RETENTION',
    default: '720h',
    max: '87600h',
    description: 'How long a deleted tenant can be restored before its data may be removed',
  }),
  preamble_tokens: field.integer({
    env: 'SVC_PREAMBLE_TOKENS',
    default: 2000,
    min: 0,
    max: 100_000,
    description: 'Tokens, estimated, of personality, profile, memories and skills in a system prompt',
  }),
  history_tokens: field.integer({
    env: 'SVC_HISTORY_TOKENS',
    default: 32_000,
    min: 0,
    max: 1_000_000,
    description:
      'Tokens, estimated, of stored history that a turn sees; never more than half of a known context length',
  }),
  enable_mock_sessions: field.boolean({
    env: 'SVC_ENABLE_MOCK_SESSIONS',
    default: false,
    description: 'Serves `POST /v1/mock-sessions`, which makes a session with demo messages',
  }),
});
