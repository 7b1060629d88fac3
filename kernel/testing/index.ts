/** Tests of plugins start here, as `agent-gateway/testing`: a whole gateway in one call. */

export { type ManualClock, manualClock } from './manual-clock.ts';
export { startTestGateway, type TestGateway, type TestGatewayOptions } from './start-test-gateway.ts';
