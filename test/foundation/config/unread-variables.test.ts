import test from 'ava';
import { unreadVariables } from '../../../foundation/config/unread-variables.ts';

const KNOWN = ['SVC_DATABASE_POOL', 'HUB_ADDR', 'LLM_API_KEY', 'LLM_API_URL'];

test('names that look like settings and are none are told, each with what was meant', (t) => {
  const env = { SVC_DATABSE_POOL: '3', SVC_ELSE: 'x', HUB_ADR: ':1', SVC_DATABASE_POOL: '3', HUB_ADDR: ':2' };
  t.deepEqual(unreadVariables(env, KNOWN), [
    'SVC_DATABSE_POOL is read by nothing, did you mean SVC_DATABASE_POOL?',
    'SVC_ELSE is read by nothing',
    'HUB_ADR is read by nothing, did you mean HUB_ADDR?',
  ]);
});

test('names of secrets, of Kubernetes and of tools are nobody’s mistake', (t) => {
  const env = {
    LLM_API_KEY_2: 'x',
    ACME_KEY: 'x',
    SVC_CHAT_SERVICE_HOST: '10.0.0.1',
    SVC_CHAT_PORT_8080_TCP: 'tcp://10.0.0.1:8080',
    hub_adr: 'x',
    PATH: '/bin',
  };
  t.deepEqual(unreadVariables(env, KNOWN), []);
});
