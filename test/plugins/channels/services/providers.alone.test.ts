import { registerHooks } from 'node:module';
import test from 'ava';
import { createProviders } from '../../../../plugins/channels/services/providers/providers.ts';
import { messengerOf } from '../channel-kit.ts';

test('a login is possible again after what it needs could not be loaded once', async (t) => {
  const messenger = await messengerOf(t, 'feishu');
  const providers = createProviders({ feishu: messenger.url });
  t.teardown(providers.close);
  const { appKey, secret } = messenger;
  const identify = async () => {
    const page = providers.authorizeUrl('feishu', {
      appKey,
      redirectUri: 'https://gateway.example/back',
      state: 'a'.repeat(64),
    });
    const { headers } = await fetch(page, { redirect: 'manual' });
    const code = new URL(headers.get('location') ?? '').searchParams.get('code') ?? '';
    return providers.identify('feishu', { appKey, secret, code }, new AbortController().signal);
  };
  // As in a process that has no file descriptor left.
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (specifier === 'undici') throw new Error('Cannot read package config: too many open files');
      return next(specifier, context);
    },
  });
  await t.throwsAsync(identify, { code: 'channel.provider-failed' });
  hooks.deregister();
  t.truthy(await identify());
});
