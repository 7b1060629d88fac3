import test from 'ava';
import { createAnnouncements } from '../../../plugins/hub/services/announcements.ts';
import type { HubAnswer } from '../../../plugins/hub/services/hub-calls.ts';
import { gene } from './hub-kit.ts';

const URL = 'https://hub.example.com';

/** Announces a gene to a hub that answers so; tells what was logged, and whether the node registered again. */
async function announceTo(answer: HubAnswer) {
  const told = { warnings: 0, registrations: 0 };
  const unused = (): never => {
    throw new Error('not used here');
  };
  const { announce } = createAnnouncements({
    hubs: [{ url: URL, apiKey: undefined }],
    calls: { signed: async () => answer },
    membership: {
      forget: () => {},
      keep: async () => {
        told.registrations += 1;
      },
    },
    node: unused,
    exchange: { find: unused },
    policies: { of: unused },
    genes: { note: unused, find: unused },
    jobs: { publish: unused },
    log: {
      warn: () => {
        told.warnings += 1;
      },
    },
  });
  const announcement = {
    hub: URL,
    event_id: 'e',
    type: 'gene_promoted',
    gene: { ...gene('gene-1'), source: 'local', contributorId: 'node-a' },
  } as const;
  const context = { signal: new AbortController().signal } as Parameters<typeof announce>[1];
  const error = await announce(announcement, context).then(
    () => undefined,
    (cause: Error) => cause.message,
  );
  return { error, ...told };
}

test('an announcement ends with the answer of the hub, and not with a page in its place', async (t) => {
  t.deepEqual(await announceTo({ status: 202, body: { id: 'e' } }), {
    error: undefined,
    warnings: 0,
    registrations: 0,
  });
  for (const status of [400, 403, 413, 415, 409]) {
    const body = { code: status === 409 ? 'hub.gene-revoked' : 'request.invalid' };
    const refused = await announceTo({ status, body });
    t.deepEqual(refused, { error: undefined, warnings: 1, registrations: 0 }, `${status}`);
  }
  for (const status of [200, 202, 400, 403, 404, 413, 502]) {
    const { error, ...told } = await announceTo({ status, body: undefined });
    t.is(error, `the hub answered ${status}, but not with a JSON object`);
    t.deepEqual(told, { warnings: 0, registrations: 0 });
  }
});

test('a hub that does not know the node gets its registration before the next attempt', async (t) => {
  for (const status of [401, 404]) {
    const { error, registrations } = await announceTo({ status, body: { code: 'hub.unknown' } });
    t.is(error, `the hub answered ${status} hub.unknown`);
    t.is(registrations, 1);
  }
});
