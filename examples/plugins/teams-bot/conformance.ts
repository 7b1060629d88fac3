import type { ConformanceOptions } from 'agent-gateway/testing';

/**
 * What the conformance suite cannot find out by itself: nothing here. Its hooks take no credential that the suite has.
 */
export default {} satisfies ConformanceOptions;
