import test from 'ava';
import {
  endpointOf,
  providerKind,
} from '../../../../../plugins/agent-engine/services/models/connect-model.ts';

const ANTHROPIC = {
  client: 'ai-sdk',
  name: 'anthropic',
  package: '@ai-sdk/anthropic',
  url: 'https://api.anthropic.com/v1',
  needsKey: true,
};

for (const [provider, expected] of [
  ['demo', { client: 'demo', name: 'demo' }],
  ['openai', { client: 'openai', name: 'openai', url: 'https://api.openai.com/v1' }],
  ['anthropic', ANTHROPIC],
  ['@ai-sdk/anthropic', ANTHROPIC],
  ['npm:@ai-sdk/anthropic', ANTHROPIC],
  ['@ai-sdk/mistral', { client: 'ai-sdk', name: 'mistral', package: '@ai-sdk/mistral', needsKey: false }],
  ['npm:@acme/models', { client: 'ai-sdk', name: '@acme/models', package: '@acme/models', needsKey: false }],
] as const) {
  test(`provider ${provider}`, (t) => {
    t.like(providerKind({ provider }), expected);
    const given = providerKind({ provider, base_url: 'http://here/v1' });
    if (given.client !== 'demo') t.is(given.url, 'http://here/v1');
  });
}

test('an endpoint is shown as provider and host, without path and query', (t) => {
  t.is(endpointOf('openai', 'https://api.example.com:8443/v1?key=1'), 'openai api.example.com:8443');
  t.is(endpointOf('mistral', undefined), 'mistral');
});
