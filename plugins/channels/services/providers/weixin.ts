import { type Provider, type Refusals, requireSuccess, urlOf, userIdOf } from './provider.ts';

const AUTHORIZE = 'https://open.weixin.qq.com';
const API = 'https://api.weixin.qq.com';

/** Wrong, expired, used. */
const REFUSALS: Refusals = { code: new Set([40029, 42003, 40163]) };

/**
 * Weixin, for websites of its Open Platform: a QR code. The app key is the AppID, the secret the AppSecret, the user
 * the `openid`. Source: https://developers.weixin.qq.com/doc/oplatform/Website_App/WeChat_Login/Wechat_Login.html
 */
export function createWeixin(origin: string | undefined): Provider {
  const api = origin ?? API;
  return {
    api: new URL(api),

    authorizeUrl({ appKey, redirectUri, state }) {
      const query = {
        appid: appKey,
        redirect_uri: redirectUri,
        response_type: 'code',
        scope: 'snsapi_login',
        state,
      };
      return `${urlOf(origin ?? AUTHORIZE, '/connect/qrconnect', query).href}#wechat_redirect`;
    },

    async identify({ appKey, secret, code }, ask) {
      const query = { appid: appKey, secret, code, grant_type: 'authorization_code' };
      const answer = await ask({ url: urlOf(api, '/sns/oauth2/access_token', query) });
      // An error is `{errcode, errmsg}` with status 200 and `text/plain`; a success has no `errcode`.
      requireSuccess(answer, 'errcode', REFUSALS);
      return userIdOf(answer, 'openid');
    },
  };
}
