import { definePlugin, PersonalDataPoint } from 'agent-gateway';
import { ChannelsConfig } from './config.ts';
import { appRoutes, bindingRoutes } from './routes/apps.ts';
import { loginRoutes } from './routes/login.ts';
import { channelAuthenticator } from './services/authenticator.ts';
import { createLoader, EXPIRY_EVERY_MS } from './services/load-channels.ts';
import { createChannelData } from './services/personal-data.ts';
import { SessionsEnded } from './services/sessions-ended.ts';
import { migrations } from './store/migrations.ts';
import { entities } from './store/tables.ts';

export default definePlugin({
  name: 'channels',
  summary: 'Logins through Feishu, Weixin and WeCom by one-time links, and the cookie sessions that follow',
  kernel: '^1.0.0',
  config: ChannelsConfig,
  entities,
  migrations,
  setup(scope) {
    const { config, services } = scope;
    const channels = createLoader(scope);
    scope.authenticate(channelAuthenticator(channels.findSession, services.database.clock));
    scope.on(SessionsEnded, (ended) => channels.loaded?.sessions.forget(ended));
    scope.defer(services.events.onMissed(() => channels.loaded?.sessions.clear()));
    scope.defer(channels.close);
    scope.every('channel-expiry', EXPIRY_EVERY_MS, channels.removeExpired);
    scope.contribute(PersonalDataPoint, createChannelData(services.database));
    scope.route(
      ...appRoutes(channels.load),
      ...bindingRoutes(channels.load),
      ...loginRoutes(channels.load, config),
    );
  },
});
