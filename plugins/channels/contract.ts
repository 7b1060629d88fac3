/** The messengers through which people log in (decisions 1.10). */
export const PLATFORMS = ['feishu', 'weixin', 'wecom'] as const;

/** One of them. */
export type Platform = (typeof PLATFORMS)[number];

/**
 * The `auth_method` of a caller who logged in through a channel: a person with a browser, who can act for no other
 * user.
 */
export const CHANNEL_SESSION = 'channel_session';
