import test from 'ava';
import { describeProblem } from '../../../foundation/config/configuration-error.ts';
import { parseGatewayFile } from '../../../foundation/config/gateway-file.ts';
import { requireKnown, unknownInFile } from '../../../foundation/config/unknown-plugins.ts';

const KNOWN = ['platform', 'records'];
const known = KNOWN.map((name) => ({ name }));

test('names in SVC_PLUGINS that no plugin has are refused together, with the nearest name', (t) => {
  t.notThrows(() => requireKnown(undefined, known));
  t.notThrows(() => requireKnown(KNOWN, known));
  t.throws(() => requireKnown(['platfrom', 'records', 'shop'], known), {
    name: 'ConfigurationError',
    message:
      'SVC_PLUGINS: there is no plugin platfrom, did you mean platform?\nSVC_PLUGINS: there is no plugin shop',
  });
});

test('entries of gateway.yaml without a plugin are found with their lines, those that say where it lies excepted', (t) => {
  const file = parseGatewayFile(
    'gateway.yaml',
    'plugins:\n  records: {}\n  platfrom: {}\n  shop: {}\n  near: {path: ../near}\n  far: {package: "@acme/far"}\n',
  );
  t.deepEqual(unknownInFile(file, KNOWN).map(describeProblem), [
    'gateway.yaml:3: plugins.platfrom: no folder holds such a plugin, did you mean platform?',
    'gateway.yaml:4: plugins.shop: no folder holds such a plugin',
  ]);
});
