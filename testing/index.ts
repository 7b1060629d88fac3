/** Tests of plugins start here, as `agent-gateway/testing`: a whole gateway in one call. */

export { type ConformanceCheck, pluginConformance } from './conformance/conformance.ts';
export type {
  ConformanceOptions,
  RouteSample,
  SampleTenant,
} from './conformance/options.ts';
export { bundledPlugins } from './conformance/providers.ts';
export {
  type FakeDurableEvents,
  fakeDurableEvents,
  type PublishedEvent,
} from './fakes/fake-durable-events.ts';
export { type FakeAnswer, type FakeEgress, fakeEgress, type SentRequest } from './fakes/fake-egress.ts';
export { fakeIds } from './fakes/fake-ids.ts';
export { type FakeJobs, fakeJobs, type PublishedJob } from './fakes/fake-jobs.ts';
export {
  type FakeModel,
  type FakeModelAnswer,
  type FakeModelRequest,
  fakeModel,
} from './fakes/fake-model.ts';
export { fakeSecrets } from './fakes/fake-secrets.ts';
export { type FakeServices, fakeServices } from './fakes/fake-services.ts';
export { memoryObjects } from './fakes/memory-objects.ts';
export type {
  GrpcAnswer,
  GrpcCallOptions,
  GrpcClient,
  GrpcClientOptions,
  OpenGrpcCall,
} from './grpc-client.ts';
export { type ManualClock, manualClock } from './manual-clock.ts';
export {
  type ObjectStoreConformanceOptions,
  objectStoreConformance,
} from './object-store/object-store-conformance.ts';
export {
  startTestGateway,
  type TestGateway,
  type TestGatewayOptions,
  type TestTenant,
} from './start-test-gateway.ts';
export { freshDatabase, type TestDatabase, testDatabases } from './test-databases.ts';
export { until } from './until.ts';
