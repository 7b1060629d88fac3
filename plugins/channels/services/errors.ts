import { defineErrors } from 'agent-gateway';

/** What channels refuse. No text of a provider, and no secret, is in any of them. */
export const ChannelErrors = defineErrors({
  notConfigured: {
    code: 'channel.not-configured',
    kind: 'unavailable',
    title: 'Logging in through a channel is not enabled here',
  },
  platformNotFound: {
    code: 'channel.platform-not-found',
    kind: 'not-found',
    title: 'There is no such channel',
  },
  appNotFound: { code: 'channel.app-not-found', kind: 'not-found', title: 'There is no such channel app' },
  appDisabled: { code: 'channel.app-disabled', kind: 'conflict', title: 'The channel app is disabled' },
  appTaken: {
    code: 'channel.app-taken',
    kind: 'conflict',
    title: 'There is a channel app with this platform and key',
  },
  tooManyApps: {
    code: 'channel.too-many-apps',
    kind: 'conflict',
    title: 'The tenant has too many channel apps',
  },
  foreignTenant: {
    code: 'channel.foreign-tenant',
    kind: 'forbidden',
    title: 'Channel apps of another tenant are made by operators only',
  },
  bindingNotFound: {
    code: 'channel.binding-not-found',
    kind: 'not-found',
    title: 'There is no such channel binding',
  },
  linkInvalid: {
    code: 'channel.link-invalid',
    kind: 'invalid',
    title: 'The link is not known, or was used already, or is too old',
  },
  stateInvalid: {
    code: 'channel.state-invalid',
    kind: 'invalid',
    title: 'The login is not known, has ended already, is too old, or began in another browser',
  },
  loginDenied: { code: 'channel.login-denied', kind: 'invalid', title: 'The login was not confirmed' },
  codeRefused: {
    code: 'channel.code-refused',
    kind: 'invalid',
    title: 'The provider does not take the code: it was used already, or is too old',
  },
  notMember: {
    code: 'channel.not-member',
    kind: 'forbidden',
    title: 'The provider does not know the user as one of this app',
  },
  revoked: {
    code: 'channel.binding-revoked',
    kind: 'forbidden',
    title: 'The access of this user was revoked after the link was made',
  },
  secretUnavailable: {
    code: 'channel.secret-unavailable',
    kind: 'unavailable',
    title: 'The secret of the channel app cannot be read',
  },
  providerFailed: {
    code: 'channel.provider-failed',
    kind: 'upstream',
    title: 'The provider did not say who logged in',
  },
  providerTimeout: {
    code: 'channel.provider-timeout',
    kind: 'timeout',
    title: 'The provider did not answer in time',
  },
  csrf: {
    code: 'channel.csrf',
    kind: 'forbidden',
    title: 'A call with a session cookie that changes something needs the header X-Svc-CSRF',
  },
  foreignUser: {
    code: 'channel.foreign-user',
    kind: 'forbidden',
    title: 'A caller that came in through a channel cannot act for another user',
  },
});
