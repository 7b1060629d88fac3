/** The messengers through which people log in (decisions 1.10). */
export const PLATFORMS = ['feishu', 'weixin', 'wecom'] as const;

/** One of them. */
export type Platform = (typeof PLATFORMS)[number];

/** The `auth_method` of who came in through a channel: a person with a browser, who speaks for nobody else. */
export const CHANNEL_SESSION = 'channel_session';
