import type { ConformanceOptions } from 'agent-gateway/testing';

/** What the conformance suite cannot find out by itself: nothing, since it can make all that the routes take. */
export default {} satisfies ConformanceOptions;
