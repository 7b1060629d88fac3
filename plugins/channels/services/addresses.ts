import { ConfigurationError, type ConfigurationProblem } from 'agent-gateway';
import type { ChannelsSettings } from '../config.ts';
import type { Platform } from '../contract.ts';

/** Where browsers reach the gateway, and where it reaches providers. */
export interface Addresses {
  /** Without a slash at its end; `undefined`: not configured. */
  readonly publicUrl: string | undefined;
  /** Origins that replace all hosts of a provider. */
  readonly origins: Readonly<Partial<Record<Platform, string>>>;
}

/**
 * Reads the addresses of the settings. Throws a ConfigurationError, which stops the start, for one to which no path can
 * be appended.
 */
export function addressesOf(settings: ChannelsSettings): Addresses {
  const problems: ConfigurationProblem[] = [];
  const read = (name: string, text: string | undefined, needsOrigin: boolean) => {
    if (text === undefined) return undefined;
    const { origin, pathname, search, hash, username, password } = new URL(text);
    const path = pathname.replace(/\/+$/, '');
    if (search + hash + username + password === '' && !(needsOrigin && path !== ''))
      return `${origin}${path}`;
    const rest = needsOrigin ? 'a path, a query, a fragment or a user' : 'a query, a fragment or a user';
    problems.push({ name, message: `must not have ${rest}` });
    return undefined;
  };
  const addresses = {
    publicUrl: read('SAAS_PUBLIC_URL', settings.public_url, false),
    origins: {
      feishu: read('SVC_CHANNEL_FEISHU_URL', settings.feishu_url, true),
      weixin: read('SVC_CHANNEL_WEIXIN_URL', settings.weixin_url, true),
      wecom: read('SVC_CHANNEL_WECOM_URL', settings.wecom_url, true),
    },
  };
  if (problems.length > 0) throw new ConfigurationError(problems);
  return addresses;
}
