import { bundledPlugins, startTestGateway } from 'agent-gateway/testing';
import plugin from './plugin.ts';

/** A gateway in a process of its own, for the test that kills it. It prints where it is. */
const { DATABASE_URL = '', SVC_AGENTS_DIR = '', TEAMS_SECRET = '' } = process.env;
const gateway = await startTestGateway({
  plugins: [...(await bundledPlugins()), plugin],
  env: { DATABASE_URL, SVC_AGENTS_DIR, TEAMS_SECRET, SVC_EGRESS_ALLOW_PRIVATE: '127.0.0.1' },
});
process.stdout.write(`${gateway.url}\n`);
