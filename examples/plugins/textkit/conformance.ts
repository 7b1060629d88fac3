import type { ConformanceOptions } from 'agent-gateway/testing';

/** What the conformance suite cannot find out by itself: `{marker}` stands for a word of the tenant's own. */
export default {} satisfies ConformanceOptions;
