import type { ConformanceOptions } from 'agent-gateway/testing';

/** What the conformance suite cannot find out by itself. `{marker}` stands for a word of the tenant's own. */
export default {
  samples: {
    'PUT /v1/feedback/{message_id}': {
      params: { message_id: '{marker}' },
      body: { verdict: 'up', comment: '{marker}' },
    },
  },
  // Counts do not say whose ratings they are; a test of its own does.
  shared: ['GET /v1/feedback-summary'],
} satisfies ConformanceOptions;
