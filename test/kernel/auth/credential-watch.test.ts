import test from 'ava';
import { type Identity, REJECTED } from '../../../kernel/access/identity.ts';
import type { AuthenticationResult } from '../../../kernel/auth/chain.ts';
import { createCredentialWatch } from '../../../kernel/auth/credential-watch.ts';
import type { TenantRecord } from '../../../kernel/tenancy/tenants.ts';
import { until } from '../../support/until.ts';
import { credentials } from './credentials.ts';

const TENANT = { id: 't', deletedAt: null } as TenantRecord;

function identity(id: string): Identity {
  return { id, tenantId: 't', roles: [], scopes: new Set(), method: 'fake' };
}

/**
 * A watch whose chain answers as `answer` does, by bearer token; `asked` has the tokens in the order of the questions.
 */
function watching(answer: (bearer: string) => AuthenticationResult | Promise<AuthenticationResult>) {
  const asked: string[] = [];
  const ended: string[] = [];
  const chain = {
    authenticate({ bearer = '' }: { readonly bearer?: string }) {
      asked.push(bearer);
      return answer(bearer);
    },
  };
  const watch = createCredentialWatch(chain, { get: () => TENANT });
  const open = (stream: string, bearer: string) =>
    watch.watch(
      { identity: identity(bearer), abort: (reason) => ended.push(`${stream}: ${reason.message}`) },
      credentials(bearer),
    );
  return { open, asked, ended };
}

const ENDED = 'The credential does not hold any more';

test('a credential that is not decided does not keep open the streams of one that was revoked', async (t) => {
  const never = new Promise<never>(() => {});
  const { open, ended } = watching((bearer) => (bearer === 'revoked' ? { identity: REJECTED } : never));
  const undo = [open('first', 'hangs'), open('second', 'revoked'), open('third', 'revoked')];
  await until(() => ended.length === 2, 5_000);
  t.deepEqual(ended, [`second: ${ENDED}`, `third: ${ENDED}`]);
  for (const leave of undo) leave();
});

test('streams with one credential are asked about once, and a stream that has ended is left alone', async (t) => {
  let decide = (_: AuthenticationResult) => {};
  const { open, asked, ended } = watching(
    () =>
      new Promise((resolve) => {
        decide = resolve;
      }),
  );
  open('stays', 'key');
  const leave = open('left', 'key');
  await until(() => asked.length > 0, 5_000);
  leave();
  decide({ identity: REJECTED });
  await until(() => ended.length > 0, 5_000);
  t.deepEqual(asked, ['key']);
  t.deepEqual(ended, [`stays: ${ENDED}`]);
});
