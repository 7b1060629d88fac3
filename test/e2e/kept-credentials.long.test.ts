import test from 'ava';
import { credentialSamples } from '../foundation/redaction/credential-samples.ts';
import { isWhole, SEED, sample } from '../support/sample.ts';
import { findKept } from './kept-credentials.ts';

const GATEWAYS = 4;
const samples = credentialSamples(SEED);

for (let nth = 0; nth < GATEWAYS; nth += 1)
  test.serial(
    `no credential of quarter ${nth + 1} of all kinds is kept or told, wherever a client puts it`,
    async (t) => {
      t.timeout(isWhole ? 600_000 : 120_000);
      const quarter = samples.filter((_, index) => index % GATEWAYS === nth);
      t.deepEqual(await findKept(t, sample(t, quarter, 5)), []);
    },
  );
