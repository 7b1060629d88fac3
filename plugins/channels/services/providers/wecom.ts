import { ChannelErrors } from '../errors.ts';
import { type Provider, type Refusals, requireSuccess, textOf, urlOf, userIdOf } from './provider.ts';

const AUTHORIZE_SITE = 'https://login.work.weixin.qq.com';
const AUTHORIZE_INSIDE = 'https://open.weixin.qq.com';
const API = 'https://qyapi.weixin.qq.com';

/** Wrong, expired, used. */
const REFUSALS: Refusals = { code: new Set([40029]) };

/**
 * WeCom. The app key is `corpid:agentid` for a QR code on a website, or `corpid` for people who open the link inside
 * WeCom; the secret is that of the app, the user the `userid` of a member. Each login asks for the token of the app:
 * within its two hours that is the same one, and logins are as rare as the links that administrators make. Source:
 * https://developer.work.weixin.qq.com/document/path/98152 (login on websites), 91022 (inside), 91039 (gettoken), 98176
 * (who it is).
 */
export function createWecom(origin: string | undefined): Provider {
  const api = origin ?? API;
  return {
    api: new URL(api),

    authorizeUrl({ appKey, redirectUri, state }) {
      const { corpId, agentId } = partsOf(appKey);
      if (agentId === undefined) {
        const scope = { response_type: 'code', scope: 'snsapi_base' };
        const query = { appid: corpId, redirect_uri: redirectUri, ...scope, state };
        const url = urlOf(origin ?? AUTHORIZE_INSIDE, '/connect/oauth2/authorize', query);
        return `${url.href}#wechat_redirect`;
      }
      const query = {
        login_type: 'CorpApp',
        appid: corpId,
        agentid: agentId,
        redirect_uri: redirectUri,
        state,
      };
      return urlOf(origin ?? AUTHORIZE_SITE, '/wwlogin/sso/login', query).href;
    },

    async identify({ appKey, secret, code }, ask) {
      const credentials = { corpid: partsOf(appKey).corpId, corpsecret: secret };
      const token = await ask({ url: urlOf(api, '/cgi-bin/gettoken', credentials) });
      requireSuccess(token, 'errcode', REFUSALS);
      const query = { access_token: textOf(token, 'access_token'), code };
      const user = await ask({ url: urlOf(api, '/cgi-bin/auth/getuserinfo', query) });
      requireSuccess(user, 'errcode', REFUSALS);
      // For a user who is not a member of the corporation, WeCom answers with an `openid` instead.
      if (user.userid === undefined && typeof user.openid === 'string') throw ChannelErrors.notMember();
      return userIdOf(user, 'userid');
    },
  };
}

/** The two parts of an app key. */
function partsOf(appKey: string): { readonly corpId: string; readonly agentId: string | undefined } {
  const [corpId = '', agentId] = appKey.split(':', 2);
  return { corpId, agentId };
}
