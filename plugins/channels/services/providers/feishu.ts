import { ChannelErrors } from '../errors.ts';
import {
  type Answer,
  type Provider,
  type Refusals,
  requireSuccess,
  textOf,
  urlOf,
  userIdOf,
} from './provider.ts';

const AUTHORIZE = 'https://accounts.feishu.cn';
const API = 'https://open.feishu.cn';

const REFUSALS: Refusals = {
  // Not found, expired, not one for a token (used or old, as its questions and answers say), not of this app, used.
  code: new Set([20003, 20004, 20007, 20024, 20065]),
  // Gone, no right to use the app, resigned, frozen, not registered.
  member: new Set([20008, 20010, 20021, 20022, 20023]),
};

/**
 * Feishu, and Lark with another `origin` (https://open.larksuite.com). The app key is the App ID, the secret the App
 * Secret, the user the `open_id`. Source: https://open.feishu.cn/document, "Get app_access_token (custom app)", "Get
 * user_access_token" (authen/v1/oidc), "Get user information".
 */
export function createFeishu(origin: string | undefined): Provider {
  const api = origin ?? API;
  return {
    api: new URL(api),

    authorizeUrl: ({ appKey, redirectUri, state }) =>
      urlOf(origin ?? AUTHORIZE, '/open-apis/authen/v1/authorize', {
        client_id: appKey,
        // The older name of `client_id`; the page ignores parameters that it does not know.
        app_id: appKey,
        response_type: 'code',
        redirect_uri: redirectUri,
        state,
      }).href,

    async identify({ appKey, secret, code }, ask) {
      const app = await ask({
        url: urlOf(api, '/open-apis/auth/v3/app_access_token/internal'),
        body: { app_id: appKey, app_secret: secret },
      });
      requireCode(app);
      const user = await ask({
        url: urlOf(api, '/open-apis/authen/v1/oidc/access_token'),
        bearer: textOf(app, 'app_access_token'),
        body: { grant_type: 'authorization_code', code },
      });
      requireCode(user);
      const info = await ask({
        url: urlOf(api, '/open-apis/authen/v1/user_info'),
        bearer: textOf(dataOf(user), 'access_token'),
      });
      requireCode(info);
      return userIdOf(dataOf(info), 'open_id');
    },
  };
}

/** Every answer has a `code`, 0 for success. */
function requireCode(answer: Answer): void {
  requireSuccess(answer, 'code', REFUSALS);
  if (answer.code === 0) return;
  throw ChannelErrors.providerFailed(undefined, { cause: new Error('the answer has no code') });
}

function dataOf({ data }: Answer): Answer {
  return typeof data === 'object' && data !== null ? (data as Answer) : {};
}
