import { together } from '../support/together.ts';

await together(
  'test/foundation/base',
  'test/foundation/code',
  'test/foundation/config',
  'test/foundation/egress',
  'test/foundation/http',
  'test/foundation/limits',
  'test/foundation/objects',
  'test/foundation/observability',
  'test/foundation/protection',
  'test/foundation/protobuf',
  'test/foundation/replicas',
  'test/foundation/resources',
  'test/foundation/schedules',
  'test/foundation/secrets',
);
