import { cyclePlugins } from './plugin-cycles.ts';
import { saveResources } from './saved-resources.ts';
import { print, startSoakGateway } from './soak-gateway.ts';

/*
 * What must stay steady over time: memory, and requests, while plugins and agents come and go.
 * `npm run soak [-- --quick]` takes some minutes, so it is no part of `npm test`.
 */

const isQuick = process.argv.includes('--quick');

// A path that is gone counts as any other request of a caller without a credential.
const gateway = await startSoakGateway({ SVC_ANON_RATE_LIMIT_RPM: '100000000', LOG_LEVEL: 'warn' });
try {
  await saveResources(gateway, isQuick ? 100 : 1000);
  await cyclePlugins(gateway, isQuick ? 50 : 500);
  print('steady');
} finally {
  await gateway.stop();
}
