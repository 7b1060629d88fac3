import { field, sharedSettings, Type } from 'agent-gateway';
import type { Static } from 'typebox';

const HTTP = { protocols: ['https', 'http'] } as const;

const origin = (env: string, provider: string, hosts: string) =>
  field.url({
    ...HTTP,
    env,
    unset: hosts,
    description: `Origin that replaces all hosts of ${provider}: the page on which people log in, and the API`,
  });

/** Settings of channels. */
export const ChannelsConfig = Type.Object({
  hash_secret: field.string({
    env: 'SVC_CHANNEL_HASH_SECRET',
    secret: true,
    min: 32,
    max: 1024,
    unset: 'logging in through a channel is off',
    description:
      'Key by which the ids of channel users are hashed, 32 random characters or more; the same on every replica, and for ever',
  }),
  public_url: sharedSettings.publicUrl,
  cookie_secure: field.boolean({
    env: 'SAAS_COOKIE_SECURE',
    default: true,
    description: 'Whether browsers send the session cookies over https alone',
  }),
  feishu_url: origin('SVC_CHANNEL_FEISHU_URL', 'Feishu', '`accounts.feishu.cn`, `open.feishu.cn`'),
  weixin_url: origin('SVC_CHANNEL_WEIXIN_URL', 'Weixin', '`open.weixin.qq.com`, `api.weixin.qq.com`'),
  wecom_url: origin(
    'SVC_CHANNEL_WECOM_URL',
    'WeCom',
    '`login.work.weixin.qq.com`, `open.weixin.qq.com`, `qyapi.weixin.qq.com`',
  ),
});

export type ChannelsSettings = Static<typeof ChannelsConfig>;
