import type { ConformanceOptions } from 'agent-gateway/testing';

/** What the conformance suite cannot find out by itself. */
export default {
  shared: ['example.moderation.v1.ModerationService/Check'],
} satisfies ConformanceOptions;
